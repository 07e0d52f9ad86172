//! What is on the buses beside the cards: bridges, and adapters of other vendors.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{HostError, as_text, check_driver, check_nets};
use crate::pci::Address;

/// A pair of PCI ids, `15b3:0003`: vendor and device, or subsystem vendor and subsystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PciId {
    /// Vendor.
    pub vendor: u16,
    /// Device.
    pub device: u16,
}

impl PciId {
    /// From the dword of a configuration header, vendor in the low half.
    #[must_use]
    pub const fn from_dword(dword: u32) -> Self {
        Self {
            vendor: (dword & 0xffff) as u16,
            device: (dword >> 16) as u16,
        }
    }

    /// As a configuration header holds it.
    #[must_use]
    pub const fn dword(self) -> u32 {
        ((self.device as u32) << 16) | self.vendor as u32
    }
}

/// A text that is no pair of ids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a pair of PCI ids (such as 15b3:0003)")]
pub struct NotAPciId(pub String);

impl FromStr for PciId {
    type Err = NotAPciId;

    fn from_str(text: &str) -> Result<Self, NotAPciId> {
        let refuse = || NotAPciId(text.to_owned());
        let hex = |part: &str| {
            (part.len() == 4 && part.bytes().all(|b| b.is_ascii_hexdigit()))
                .then(|| u16::from_str_radix(part, 16).ok())
                .flatten()
                .ok_or_else(refuse)
        };
        let (vendor, device) = text.split_once(':').ok_or_else(refuse)?;
        Ok(Self {
            vendor: hex(vendor)?,
            device: hex(device)?,
        })
    }
}

impl fmt::Display for PciId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:04x}", self.vendor, self.device)
    }
}

/// Speed of a PCIe lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PcieSpeed {
    /// Generation 1.
    #[serde(rename = "2.5 GT/s")]
    Gen1,
    /// Generation 2.
    #[serde(rename = "5.0 GT/s")]
    Gen2,
    /// Generation 3.
    #[serde(rename = "8.0 GT/s")]
    Gen3,
    /// Generation 4.
    #[serde(rename = "16.0 GT/s")]
    Gen4,
    /// Generation 5.
    #[serde(rename = "32.0 GT/s")]
    Gen5,
    /// Generation 6.
    #[serde(rename = "64.0 GT/s")]
    Gen6,
}

impl PcieSpeed {
    /// The generation, which is also the code in the link registers.
    #[must_use]
    pub const fn generation(self) -> u8 {
        match self {
            Self::Gen1 => 1,
            Self::Gen2 => 2,
            Self::Gen3 => 3,
            Self::Gen4 => 4,
            Self::Gen5 => 5,
            Self::Gen6 => 6,
        }
    }
}

impl fmt::Display for PcieSpeed {
    /// As sysfs writes it: `8.0 GT/s PCIe`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gen1 => "2.5 GT/s PCIe",
            Self::Gen2 => "5.0 GT/s PCIe",
            Self::Gen3 => "8.0 GT/s PCIe",
            Self::Gen4 => "16.0 GT/s PCIe",
            Self::Gen5 => "32.0 GT/s PCIe",
            Self::Gen6 => "64.0 GT/s PCIe",
        })
    }
}

/// The most one end of a link can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcieLink {
    /// Speed of a lane.
    pub speed: PcieSpeed,
    /// Lanes: 1, 2, 4, 8, 16 or 32.
    pub width: u8,
}

impl PcieLink {
    /// What two ends agree on.
    #[must_use]
    pub fn trained_with(self, other: Self) -> Self {
        Self {
            speed: self.speed.min(other.speed),
            width: self.width.min(other.width),
        }
    }
}

/// A bridge: a PCIe port with the slot below it, or a bridge to a PCI-X bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgeSpec {
    /// Where it is.
    #[serde(with = "as_text")]
    pub address: Address,
    /// Number of the bus below it.
    pub secondary_bus: u8,
    /// Vendor and device id.
    #[serde(with = "as_text")]
    pub id: PciId,
    /// The slot below, where that is a PCIe link.
    pub slot: Option<PcieLink>,
    /// The PCIe link above it, where the bridge itself sits in a slot.
    #[serde(default)]
    pub link: Option<PcieLink>,
    /// Driver bound to it.
    #[serde(default)]
    pub driver: Option<String>,
}

/// An adapter without a simulated chip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterSpec {
    /// Where it is.
    #[serde(with = "as_text")]
    pub address: Address,
    /// Vendor and device id.
    #[serde(with = "as_text")]
    pub id: PciId,
    /// Subsystem.
    #[serde(with = "as_text")]
    pub subsystem: PciId,
    /// Revision id.
    #[serde(default)]
    pub revision: u8,
    /// PCIe link; `None` for a PCI-X adapter.
    pub link: Option<PcieLink>,
    /// Driver bound to it.
    pub driver: Option<String>,
    /// Network interfaces.
    #[serde(default)]
    pub net: Vec<String>,
}

impl AdapterSpec {
    pub(super) fn check(&self) -> Result<(), HostError> {
        check_driver(self.driver.as_deref())?;
        check_nets(&self.net)
    }
}
