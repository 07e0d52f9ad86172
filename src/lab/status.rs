//! What the cards of a lab are doing, what went by on them, and what is broken.

use std::sync::Arc;

use super::chip::faults::Fault;
use super::chip::{Boot, Chip, Counters, RegisterCount, Violations};
use super::{Lab, LabCard, LabError};
use crate::identity::Psid;
use crate::model::Model;
use crate::pci::Address;

/// What a card of a lab is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardStatus {
    /// Name of the card.
    pub name: String,
    /// Address of its first function.
    pub address: Address,
    /// Its chip.
    pub model: &'static Model,
    /// Part number.
    pub part_number: String,
    /// Board it was made as.
    pub psid: Psid,
    /// What booted; `None` when it has no power.
    pub boot: Option<Boot>,
    /// What went by since the counters were reset.
    pub counters: Counters,
    /// Access registers that went by, one by one.
    pub registers: Vec<RegisterCount>,
    /// What went by and never should.
    pub violations: Violations,
    /// What is broken or will be.
    pub faults: Vec<Fault>,
}

impl Lab {
    /// What every card is doing.
    ///
    /// # Errors
    /// [`LabError`]: a chip's state could not be read.
    pub fn status(&self) -> Result<Vec<CardStatus>, LabError> {
        self.cards.iter().map(LabCard::status).collect()
    }

    /// Begins to count anew on every card.
    ///
    /// # Errors
    /// [`LabError`]: a chip is not to be had.
    pub fn reset_counters(&self) -> Result<(), LabError> {
        for card in self.cards.iter() {
            card.chip.reset_counters()?;
        }
        Ok(())
    }

    /// The chip of a card, named as in the lab's description or by the address of one of its
    /// functions.
    ///
    /// # Errors
    /// [`LabError::NoCard`].
    pub fn find_chip(&self, name: &str) -> Result<&Arc<Chip>, LabError> {
        let address: Option<Address> = name.parse().ok();
        self.cards
            .iter()
            .find(|card| {
                card.spec.name == name || card.spec.addresses().any(|own| Some(own) == address)
            })
            .map(|card| &card.chip)
            .ok_or_else(|| LabError::NoCard {
                name: name.to_owned(),
                present: self
                    .cards
                    .iter()
                    .map(|card| card.spec.name.clone())
                    .collect(),
            })
    }
}

impl LabCard {
    fn status(&self) -> Result<CardStatus, LabError> {
        let (spec, chip) = (&self.spec, &self.chip);
        Ok(CardStatus {
            name: spec.name.clone(),
            address: spec.address,
            model: spec.model()?,
            part_number: spec.part_number.clone(),
            psid: spec.psid.clone(),
            boot: chip.status()?,
            counters: chip.counters(),
            registers: chip.register_counts(),
            violations: chip.violations(),
            faults: chip.faults()?,
        })
    }
}
