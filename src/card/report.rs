//! The report of one card. A value that could not be read is `None`; nothing is invented.

use super::error::CardError;
use crate::access::Way;
use crate::identity::{Guid, Mac, Psid};
use crate::image::{HwId, RomInfo, SecurityAttribute};
use crate::model::{ImageFormat, Model};
use crate::version::{Date, FwVersion};

/// Firmware versions of a card. Running and stored differ between a burn and its activation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Firmware {
    /// What runs now.
    pub running: Option<FwVersion>,
    /// What the flash holds and boots next.
    pub stored: Option<FwVersion>,
    /// Build date of the stored firmware.
    pub date: Option<Date>,
}

/// How a card can be burned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpdatePath {
    /// The running firmware takes the image (MCC/MCDA).
    Component,
    /// Only through direct flash access (ConnectX-3, recovery).
    Direct,
}

/// What a port of a card speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PortType {
    /// Ethernet.
    Ethernet,
    /// InfiniBand.
    InfiniBand,
}

impl PortType {
    /// The word programs get.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::InfiniBand => "infiniband",
        }
    }
}

/// One card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardReport {
    /// Name: the address of its first function.
    pub device: String,
    /// All its functions' addresses.
    pub functions: Vec<String>,
    /// Network interfaces.
    pub net: Vec<String>,
    /// RDMA devices.
    pub rdma: Vec<String>,
    /// Name MFT would give it (`mt4117_pciconf0`).
    pub mst: Option<String>,
    /// Vendor and device id of the first function.
    pub pci_id: (u16, u16),
    /// Subsystem vendor and device id.
    pub subsystem_id: (u16, u16),
    /// The chip, if its id is known.
    pub model: Option<&'static Model>,
    /// Chip and revision as the chip says.
    pub hw_id: Option<HwId>,
    /// In flash recovery: no firmware runs.
    pub recovery: bool,
    /// Part number: VPD, else the firmware's own name for the board.
    pub part_number: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Serial number (VPD).
    pub serial: Option<String>,
    /// Board.
    pub psid: Option<Psid>,
    /// Board written at the factory, where it differs.
    pub original_psid: Option<Psid>,
    /// Base MAC, as it is in force.
    pub base_mac: Option<Mac>,
    /// Base MAC written at the factory; `None` when it never was.
    pub original_base_mac: Option<Mac>,
    /// Base GUID.
    pub base_guid: Option<Guid>,
    /// MAC of port 1 and 2, on chips that keep one a port.
    pub port_macs: [Option<Mac>; 2],
    /// GUID of port 1 and 2, on chips that keep one a port.
    pub port_guids: [Option<Guid>; 2],
    /// What port 1 and 2 speak; `None`: no such port, or nobody tells.
    pub port_types: [Option<PortType>; 2],
    /// Versions.
    pub firmware: Firmware,
    /// Expansion ROMs of the running firmware, or of the stored one when read from flash.
    pub roms: Vec<RomInfo>,
    /// Security attributes of the running firmware.
    pub security: Vec<SecurityAttribute>,
    /// Image format.
    pub format: Option<ImageFormat>,
    /// How the card was reached.
    pub access: Option<Way>,
    /// How it can be burned; `None` when it could not be opened.
    pub update_path: Option<UpdatePath>,
    /// PCIe link.
    pub link: Option<crate::pci::Link>,
    /// Things a careful user should know that are no errors.
    pub warnings: Vec<String>,
    /// The first thing that could not be read, with its reason.
    pub error: Option<CardError>,
}

impl CardReport {
    /// It tells addresses that are in use.
    #[must_use]
    pub fn says_who_it_is(&self) -> bool {
        let of_ports = self.port_macs.iter().any(Option::is_some)
            || self.port_guids.iter().any(Option::is_some);
        of_ports || self.base_mac.is_some() || self.base_guid.is_some()
    }

    /// Keeps `error` if it is the first one.
    pub(super) fn note(&mut self, error: impl Into<CardError>) {
        let error = error.into().of(&self.device);
        log::debug!("{}: {}: {}", self.device, error.code, error.message);
        self.error.get_or_insert(error);
    }
}
