//! A host on paper: its cards, the adapters beside them, the bridges above, and the images its
//! bundle offers. A lab is made from one.
//!
//! The file is JSON; ids, addresses and versions are texts as people write them (`15b3:0003`,
//! `0000:03:00.0`, `14.32.1010`, `2021-12-06`, `0c42a1000000`).

mod as_text;
pub mod bus;
pub mod card;

pub use bus::{AdapterSpec, BridgeSpec, PciId, PcieLink, PcieSpeed};
pub use card::{CardSpec, FirmwareSpec, FlashSpec, FunctionNames, PortType, RomSpec};

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::identity::Psid;
use crate::lab::build::{BuildError, ImageSpec};
use crate::model::Model;
use crate::pci::Address;

/// The default host.
const DEFAULT_HOST: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/fixtures/lab/default.json"
));

/// A host description that cannot be made into a lab.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Not JSON, or not of this form.
    #[error("host description: {0}")]
    Syntax(#[from] serde_json::Error),
    /// A chip nobody knows.
    #[error("`{0}` is not the name of a chip (such as ConnectX-4 Lx)")]
    UnknownModel(String),
    /// A card name that cannot name a folder.
    #[error("card name `{0}`: 1 to 32 lower-case letters, digits and `-` are allowed")]
    CardName(String),
    /// Two cards of one name.
    #[error("two cards have the name `{0}`")]
    SameName(String),
    /// Two functions at one address.
    #[error("two functions have the address {0}")]
    SameAddress(Address),
    /// A bus without the bridge that leads to it.
    #[error("{address} is on a bus that no bridge leads to")]
    NoBridge {
        /// The function.
        address: Address,
    },
    /// A card with a number of functions that PCI does not allow.
    #[error("card `{name}` has {count} functions; 1 to 8 are possible")]
    FunctionCount {
        /// Name of the card.
        name: String,
        /// Functions described.
        count: usize,
    },
    /// A part of the description the chip's image has no room for.
    #[error("{what}: {source}")]
    Image {
        /// Card or offer.
        what: String,
        /// What does not fit.
        source: BuildError,
    },
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    /// Cards with a simulated chip.
    pub cards: Vec<CardSpec>,
    /// Adapters of other vendors: only enumerated.
    #[serde(default)]
    pub adapters: Vec<AdapterSpec>,
    /// Bridges: one for every bus but the first.
    pub bridges: Vec<BridgeSpec>,
    /// Images in the lab's bundle.
    #[serde(default)]
    pub offers: Vec<OfferSpec>,
}

/// An image on offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferSpec {
    /// Chip, by its long name (`ConnectX-4 Lx`).
    pub model: String,
    /// Board.
    #[serde(with = "as_text")]
    pub psid: Psid,
    /// Part number.
    pub part_number: String,
    /// Description.
    pub description: String,
    /// The firmware.
    pub firmware: FirmwareSpec,
}

impl HostSpec {
    /// The default host of `cxfw --lab`.
    ///
    /// # Errors
    /// None in a built program: a test reads the file.
    pub fn default_host() -> Result<Self, HostError> {
        Self::from_json(DEFAULT_HOST)
    }

    /// Reads and checks a description.
    ///
    /// # Errors
    /// [`HostError`]: not of this form, or contradicting itself.
    pub fn from_json(text: &str) -> Result<Self, HostError> {
        let host: Self = serde_json::from_str(text)?;
        host.check()?;
        Ok(host)
    }

    /// Everything that would make a lab nobody can enumerate.
    fn check(&self) -> Result<(), HostError> {
        let mut names = HashSet::new();
        let mut addresses = HashSet::new();
        let mut take = |address: Address| {
            if addresses.insert(address) {
                Ok(())
            } else {
                Err(HostError::SameAddress(address))
            }
        };
        for card in &self.cards {
            card.check()?;
            if !names.insert(card.name.as_str()) {
                return Err(HostError::SameName(card.name.clone()));
            }
            for address in card.addresses() {
                take(address)?;
                self.check_bus(address)?;
            }
        }
        for adapter in &self.adapters {
            take(adapter.address)?;
            self.check_bus(adapter.address)?;
        }
        for bridge in &self.bridges {
            take(bridge.address)?;
            self.check_bus(bridge.address)?;
        }
        for offer in &self.offers {
            model(&offer.model)?;
        }
        Ok(())
    }

    /// A chain of bridges leads from bus 0 to the function's bus. Bus numbers grow on the way
    /// down, as a PCI scan gives them out, so the walk ends.
    fn check_bus(&self, address: Address) -> Result<(), HostError> {
        let mut bus = address.bus;
        while bus != 0 {
            let bridge = self
                .bridge_to(address.domain, bus)
                .filter(|bridge| bridge.address.bus < bus)
                .ok_or(HostError::NoBridge { address })?;
            bus = bridge.address.bus;
        }
        Ok(())
    }

    /// The bridge whose lower side is this bus.
    #[must_use]
    pub fn bridge_to(&self, domain: u32, bus: u8) -> Option<&BridgeSpec> {
        self.bridges
            .iter()
            .find(|bridge| bridge.address.domain == domain && bridge.secondary_bus == bus)
    }
}

impl OfferSpec {
    /// The image as the vendor publishes it: without a board's own data.
    ///
    /// # Errors
    /// [`HostError::UnknownModel`].
    pub fn image_spec(&self) -> Result<ImageSpec, HostError> {
        let mut spec = self
            .firmware
            .image_spec(model(&self.model)?, self.psid.clone());
        spec.part_number.clone_from(&self.part_number);
        spec.description.clone_from(&self.description);
        Ok(spec)
    }
}

/// The chip of this long name.
pub(super) fn model(name: &str) -> Result<&'static Model, HostError> {
    crate::model::MODELS
        .iter()
        .find(|model| model.long_name == name)
        .ok_or_else(|| HostError::UnknownModel(name.to_owned()))
}
