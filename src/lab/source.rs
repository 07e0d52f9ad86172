//! Configuration spaces of a lab's functions, by address.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::LabCard;
use crate::pci::{Address, ConfigError, ConfigSource, ConfigSpace};

/// Opens the functions of the cards.
#[derive(Debug)]
pub(super) struct LabSource {
    sysfs: PathBuf,
    cards: Arc<Vec<LabCard>>,
}

impl LabSource {
    pub(super) const fn new(sysfs: PathBuf, cards: Arc<Vec<LabCard>>) -> Self {
        Self { sysfs, cards }
    }
}

impl ConfigSource for LabSource {
    fn open(&self, address: Address) -> Result<Arc<dyn ConfigSpace>, ConfigError> {
        self.cards
            .iter()
            .find_map(|card| {
                let index = card.spec.addresses().position(|own| own == address)?;
                card.chip.function(index)
            })
            .ok_or_else(|| ConfigError::Open {
                path: self
                    .sysfs
                    .join("bus/pci/devices")
                    .join(address.to_string())
                    .join("config"),
                source: io::ErrorKind::NotFound.into(),
            })
    }
}
