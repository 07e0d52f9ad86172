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
use crate::lab::build::ImageSpec;
use crate::model::Model;
use crate::pci::Address;

/// The default host.
const DEFAULT_HOST: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/fixtures/lab/default.json"
));

/// Bytes of the smallest flash part.
pub const SMALLEST_FLASH: u32 = 0x1_0000;
/// Bytes of the largest flash part.
pub const LARGEST_FLASH: u32 = 0x1000_0000;
/// Longest name of an interface or a driver.
const LONGEST_NAME: usize = 64;

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
    /// A name that would become a file's, and cannot.
    #[error("{what} `{name}`: 1 to 64 letters, digits, `.`, `_` and `-` are allowed")]
    Name {
        /// What has the name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A flash part that is not made.
    #[error(
        "card `{name}`: flash of {size:#x} bytes; a power of two from {SMALLEST_FLASH:#x} to {LARGEST_FLASH:#x} is possible"
    )]
    FlashSize {
        /// Name of the card.
        name: String,
        /// Bytes described.
        size: u32,
    },
    /// More code than any flash here could hold.
    #[error("{what}: code_size {size:#x} is more than the flash of {flash:#x} bytes")]
    CodeSize {
        /// The card, or the board the image is for.
        what: String,
        /// Bytes of code.
        size: u64,
        /// Bytes of flash.
        flash: u32,
    },
    /// A card with a number of functions that PCI does not allow.
    #[error("card `{name}` has {count} functions; 1 to 8 are possible")]
    FunctionCount {
        /// Name of the card.
        name: String,
        /// Functions described.
        count: usize,
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
    /// Chip revision it supports.
    #[serde(default)]
    pub revision: u8,
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
        serde_json::from_str::<Self>(text)?.checked()
    }

    /// The description, if it does not contradict itself.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn checked(self) -> Result<Self, HostError> {
        self.check()?;
        Ok(self)
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
            adapter.check()?;
            take(adapter.address)?;
            self.check_bus(adapter.address)?;
        }
        for bridge in &self.bridges {
            check_driver(bridge.driver.as_deref())?;
            take(bridge.address)?;
            self.check_bus(bridge.address)?;
        }
        self.check_offers()
    }

    /// An image may be too large for its board, which is for the tools to find out, but not larger
    /// than all the flash there is.
    fn check_offers(&self) -> Result<(), HostError> {
        let sizes = self.cards.iter().map(|card| card.flash.size);
        let flash = sizes.max().unwrap_or(LARGEST_FLASH);
        for offer in &self.offers {
            model(&offer.model)?;
            offer.firmware.check(offer.psid.as_str(), flash)?;
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

impl HostSpec {
    /// What the slot that leads to this function can do; `None` on bus 0 and below bridges
    /// without a PCIe link.
    #[must_use]
    pub fn slot_of(&self, address: Address) -> Option<PcieLink> {
        self.bridge_to(address.domain, address.bus)?.slot
    }

    /// The highest bus number below a bridge. Numbers grow on the way down (see
    /// [`HostSpec::checked`]), so the walk ends.
    #[must_use]
    pub fn last_bus_below(&self, bridge: &BridgeSpec) -> u8 {
        self.bridges
            .iter()
            .filter(|below| {
                below.address.domain == bridge.address.domain
                    && below.address.bus == bridge.secondary_bus
                    && below.secondary_bus > bridge.secondary_bus
            })
            .map(|below| self.last_bus_below(below))
            .max()
            .unwrap_or(bridge.secondary_bus)
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
        spec.revision = self.revision;
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

/// `name` can be a file's in the sysfs tree, and leads nowhere else.
fn check_name(what: &'static str, name: &str) -> Result<(), HostError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let possible = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(plain);
    if possible && name != "." && name != ".." {
        return Ok(());
    }
    Err(HostError::Name {
        what,
        name: name.to_owned(),
    })
}

fn check_nets(names: &[String]) -> Result<(), HostError> {
    names
        .iter()
        .try_for_each(|name| check_name("network interface", name))
}

fn check_driver(name: Option<&str>) -> Result<(), HostError> {
    name.map_or(Ok(()), |name| check_name("driver", name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(change: impl FnOnce(&mut HostSpec)) -> Result<HostSpec, HostError> {
        let mut host = HostSpec::default_host().unwrap();
        change(&mut host);
        host.checked()
    }

    fn refusal(change: impl FnOnce(&mut HostSpec)) -> String {
        changed(change).unwrap_err().to_string()
    }

    #[test]
    fn the_default_host_is_possible_and_survives_its_own_json() {
        let host = HostSpec::default_host().unwrap();
        let text = serde_json::to_string(&host).unwrap();
        assert_eq!(HostSpec::from_json(&text).unwrap(), host);
    }

    #[test]
    fn every_card_has_an_offer_but_the_other_vendor_s() {
        let host = HostSpec::default_host().unwrap();
        for card in &host.cards {
            let offers = host.offers.iter().filter(|offer| offer.psid == card.psid);
            let expected = usize::from(card.psid.brand().is_none());
            assert_eq!(offers.count(), expected, "{}", card.name);
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_by_name() {
        assert_eq!(
            refusal(|host| host.cards[1].name = "cx3-10g".to_owned()),
            "two cards have the name `cx3-10g`"
        );
        assert_eq!(
            refusal(|host| host.cards[1].address = host.cards[0].address),
            "two functions have the address 0000:01:00.0"
        );
        assert_eq!(
            refusal(|host| host.cards[0].name = "../up".to_owned()),
            "card name `../up`: 1 to 32 lower-case letters, digits and `-` are allowed"
        );
        assert_eq!(
            refusal(|host| host.cards[0].model = "ConnectX-99".to_owned()),
            "`ConnectX-99` is not the name of a chip (such as ConnectX-4 Lx)"
        );
        assert_eq!(
            refusal(|host| host.cards[0].functions.clear()),
            "card `cx3-10g` has 0 functions; 1 to 8 are possible"
        );
        assert_eq!(
            refusal(|host| host.cards[0].address = "0000:77:00.0".parse().unwrap()),
            "0000:77:00.0 is on a bus that no bridge leads to"
        );
    }

    #[test]
    fn a_name_that_leads_out_of_the_lab_is_refused_wherever_it_stands() {
        type Change = fn(&mut HostSpec, String);
        let evil = || "../../../../../tmp/evil".to_owned();
        let changes: [(&str, Change); 5] = [
            ("network interface", |host, name| {
                host.cards[0].functions[0].net = vec![name];
            }),
            ("network interface", |host, name| {
                host.adapters[0].net = vec![name];
            }),
            ("RDMA device", |host, name| {
                host.cards[0].functions[0].rdma = Some(name);
            }),
            ("driver", |host, name| host.adapters[0].driver = Some(name)),
            ("driver", |host, name| host.bridges[0].driver = Some(name)),
        ];
        for (what, change) in changes {
            let long = "n".repeat(65);
            for name in [evil().as_str(), "..", ".", "", "a/b", "a\u{1b}", &long] {
                let refused = refusal(|host| change(host, name.to_owned()));
                assert_eq!(
                    refused,
                    format!(
                        "{what} `{name}`: 1 to 64 letters, digits, `.`, `_` and `-` are allowed"
                    )
                );
            }
            changed(|host| change(host, "enp3s0f0np0.100_x-y".to_owned())).unwrap();
        }
    }

    #[test]
    fn sizes_are_bounded_before_anything_is_made_of_them() {
        for size in [0, 0x8000, 0x123_4567, 0x180_0000, 0x2000_0000] {
            let refused = refusal(|host| host.cards[0].flash.size = size);
            assert!(
                refused.starts_with(&format!("card `cx3-10g`: flash of {size:#x} bytes")),
                "{refused}"
            );
        }
        let refused = refusal(|host| host.cards[0].firmware.code_size = 1 << 40);
        assert!(
            refused.starts_with("card `cx3-10g`: code_size 0x10000000000 is more than"),
            "{refused}"
        );
        let refused = refusal(|host| host.offers[0].firmware.code_size = 1 << 40);
        assert!(refused.contains("code_size 0x10000000000"), "{refused}");
    }

    #[test]
    fn bridges_that_lead_in_a_circle_are_refused() {
        let refused = refusal(|host| {
            host.bridges[0].address = "0000:02:01.0".parse().unwrap();
            host.bridges[1].address = "0000:01:01.0".parse().unwrap();
        });
        assert!(refused.ends_with("is on a bus that no bridge leads to"));
    }

    #[test]
    fn texts_that_are_no_values_are_refused() {
        let host = HostSpec::default_host().unwrap();
        let text = serde_json::to_string(&host).unwrap();
        for (good, bad) in [
            ("\"14.25.1020\"", "\"14.25\""),
            ("\"2019-02-05\"", "\"5.2.2019\""),
            ("\"15b3:0003\"", "\"15b3-0003\""),
            ("\"0c42a1000000\"", "\"0c:42:a1:00:00\""),
            ("\"engineering_change\"", "\"ec\""),
        ] {
            assert!(text.contains(good), "{good}");
            assert!(
                HostSpec::from_json(&text.replace(good, bad)).is_err(),
                "{bad}"
            );
        }
    }
}
