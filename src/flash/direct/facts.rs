//! What a direct burn has to know of a card beside its flash.

use crate::access::{Device, RecoveryState, read_register};
use crate::card;
use crate::flash::ending::Boots;
use crate::identity::Psid;
use crate::image::{HwId, SecurityAttribute};
use crate::model::{self, Model};
use crate::registers::Mgir;
use crate::version::FwVersion;

use super::error::Fault;

/// The card, as the chip and its running firmware describe it.
#[derive(Debug, Clone)]
pub struct CardFacts {
    /// Its chip.
    pub model: &'static Model,
    /// Chip and revision.
    pub hw_id: HwId,
    /// The boot ROM found no image: no firmware runs.
    pub recovery: bool,
    /// What runs; `None` where no firmware says (recovery, ConnectX-3).
    pub running: Option<FwVersion>,
    /// Board, as the running firmware says.
    pub psid: Option<Psid>,
    /// Security attributes of the running firmware.
    pub security: Vec<SecurityAttribute>,
}

impl CardFacts {
    /// Asks the card.
    ///
    /// # Errors
    /// [`Fault`]: it cannot be reached, or its chip is unknown.
    pub(super) fn read(device: &Device) -> Result<Self, Fault> {
        let hw_id = device.hw_id()?;
        let model = model::by_hw_id(hw_id.id).ok_or(Fault::UnknownChip(hw_id.id))?;
        let recovery = device.recovery_state()? != RecoveryState::Running;
        let silent = Self {
            model,
            hw_id,
            recovery,
            running: None,
            psid: None,
            security: Vec::new(),
        };
        let Some(registers) = device.registers().filter(|_| !recovery) else {
            return Ok(silent);
        };
        let mgir = read_register(registers, &Mgir::default())?;
        Ok(Self {
            running: mgir.fw_version(),
            psid: mgir.psid(),
            security: card::security_of(&mgir),
            ..silent
        })
    }

    /// What the card boots as long as nothing was written.
    pub(super) const fn boots(&self) -> Boots {
        if self.recovery {
            Boots::Nothing
        } else {
            Boots::Old(self.running)
        }
    }
}
