//! What a direct burn has to know of a card beside its flash.

use crate::access::{Device, RecoveryState, RegisterAccess, RegisterError, read_register};
use crate::card::{self, BootImage};
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
    /// Seconds that it has run, as it says.
    pub uptime: u32,
    /// It took an update that waits for the restart.
    pub staged: bool,
    /// Where the image lies that it runs from, as a note of an earlier direct burn tells.
    pub runs_from: Option<u64>,
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
            uptime: 0,
            staged: false,
            runs_from: None,
            psid: None,
            security: Vec::new(),
        };
        let Some(registers) = device.registers().filter(|_| !recovery) else {
            return Ok(silent);
        };
        let mgir = read_register(registers, &Mgir::default())?;
        Ok(Self {
            running: mgir.fw_version(),
            uptime: mgir.uptime,
            staged: is_staged(registers)?,
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

/// Firmware that keeps no account of updates has none.
fn is_staged(registers: &dyn RegisterAccess) -> Result<bool, RegisterError> {
    match BootImage::find(registers) {
        Ok(boot_image) => Ok(boot_image.is_some_and(BootImage::is_staged)),
        Err(error) if error.status().is_some() => Ok(false),
        Err(error) => Err(error),
    }
}
