//! One simulated card: board, firmware in its flash, functions, slot.

use serde::{Deserialize, Serialize};

use super::{
    HostError, LARGEST_FLASH, PciId, PcieLink, SMALLEST_FLASH, as_text, check_name, check_nets,
    model,
};
use crate::identity::{Guid, Mac, Psid};
use crate::lab::build::{Addresses, DeviceData, ImageSpec, Rom, RomKind, Security, Slot};
use crate::lab::chip::{BootRule, ChipSpec, FunctionSpec, LinkSpec, ReadBack, VpdSpec};
use crate::model::{ImageFormat, Model};
use crate::pci::Address;
use crate::version::{Date, FwVersion};

/// JEDEC vendor and type of the flash parts of a lab; the low byte is log2 of the size.
const WINBOND: u32 = 0xef_4000;

/// A card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardSpec {
    /// Folder name inside the lab.
    pub name: String,
    /// Chip, by its long name (`ConnectX-4 Lx`).
    pub model: String,
    /// Chip revision.
    #[serde(default)]
    pub revision: u8,
    /// Address of the first function; the others follow it.
    #[serde(with = "as_text")]
    pub address: Address,
    /// The functions, in order.
    pub functions: Vec<FunctionNames>,
    /// The ports, in order.
    pub ports: Vec<PortType>,
    /// Subsystem vendor and id.
    #[serde(with = "as_text")]
    pub subsystem: PciId,
    /// Part number as the vendor's tools print it (`MCX4121A-ACA_Ax`).
    pub part_number: String,
    /// Part number in VPD where that is another one: boards carry the order number
    /// (`MCX4121A-ACAT`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpd_part_number: Option<String>,
    /// Description.
    pub description: String,
    /// Serial number.
    pub serial: String,
    /// Engineering change level of the board (VPD `EC`).
    pub engineering_change: String,
    /// Board.
    #[serde(with = "as_text")]
    pub psid: Psid,
    /// Board written at the factory, where it differs.
    #[serde(default, with = "as_text::option")]
    pub original_psid: Option<Psid>,
    /// Base MAC; ConnectX-3: that of port 1.
    #[serde(with = "as_text")]
    pub mac: Mac,
    /// Base GUID; ConnectX-3: the node GUID.
    #[serde(with = "as_text")]
    pub guid: Guid,
    /// How many addresses of each kind the card owns.
    pub address_count: u8,
    /// The firmware it was shipped with.
    pub firmware: FirmwareSpec,
    /// Its flash.
    pub flash: FlashSpec,
    /// What the card's side of the link can do.
    pub link: PcieLink,
    /// Its firmware does not start: the card is in flash recovery.
    #[serde(default)]
    pub recovery: bool,
    /// Only signed firmware runs, and the firmware locks the flash.
    #[serde(default)]
    pub secure: bool,
    /// What its firmware hands out of its image although it is secure.
    #[serde(default)]
    pub read_back: ReadBack,
    /// How its boot ROM finds the image to run.
    #[serde(default)]
    pub boot_rule: BootRule,
    /// NUMA node; -1 = unknown.
    #[serde(default)]
    pub numa_node: i32,
    /// Time a config cycle takes, in nanoseconds; 0 = as fast as the machine can. On a real host
    /// it is one or two microseconds.
    #[serde(default)]
    pub cycle_delay_ns: u64,
}

/// Names the kernel gave to a function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionNames {
    /// Network interfaces.
    #[serde(default)]
    pub net: Vec<String>,
    /// RDMA device.
    #[serde(default)]
    pub rdma: Option<String>,
}

/// What a port speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PortType {
    /// Ethernet.
    Ethernet,
    /// InfiniBand.
    Infiniband,
}

impl PortType {
    /// PCI class of a function with such a port.
    const fn class(self) -> u32 {
        match self {
            Self::Ethernet => 0x02_0000,
            Self::Infiniband => 0x02_0700,
        }
    }

    /// As the kernel names it in `link_layer`.
    #[must_use]
    pub const fn link_layer(self) -> &'static str {
        match self {
            Self::Ethernet => "Ethernet",
            Self::Infiniband => "InfiniBand",
        }
    }
}

/// A firmware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirmwareSpec {
    /// Version.
    #[serde(with = "as_text")]
    pub version: FwVersion,
    /// Build date.
    #[serde(with = "as_text")]
    pub date: Date,
    /// Expansion ROMs.
    #[serde(default)]
    pub roms: Vec<RomSpec>,
    /// Signing.
    #[serde(default)]
    pub security: Security,
    /// Bytes of code in the image.
    pub code_size: u64,
}

/// An expansion ROM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RomSpec {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: RomKind,
    /// Its three numbers, written like a firmware version.
    #[serde(with = "as_text")]
    pub version: FwVersion,
}

/// A flash part and what is where in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// Bytes: a power of two.
    pub size: u32,
    /// log2 of the image slot size; `None` = the chip's usual one.
    #[serde(default)]
    pub slot_log2: Option<u8>,
    /// Slot that holds the image.
    #[serde(default)]
    pub slot: Slot,
    /// JEDEC vendor and type of the part (high and low byte); `None` = a Winbond W25Q.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jedec: Option<u16>,
}

impl FunctionNames {
    fn check(&self) -> Result<(), HostError> {
        check_nets(&self.net)?;
        let rdma = self.rdma.as_deref();
        rdma.map_or(Ok(()), |name| check_name("RDMA device", name))
    }
}

impl FirmwareSpec {
    /// Its code could be in a flash of `flash` bytes, so that it can be built in memory.
    pub(super) fn check(&self, what: &str, flash: u32) -> Result<(), HostError> {
        if self.code_size <= u64::from(flash) {
            return Ok(());
        }
        Err(HostError::CodeSize {
            what: what.to_owned(),
            size: self.code_size,
            flash,
        })
    }

    /// An image of this firmware for a board.
    pub(super) fn image_spec(&self, model: &'static Model, psid: Psid) -> ImageSpec {
        let mut spec = ImageSpec::new(model, psid, self.version);
        spec.date = self.date;
        spec.roms = self.roms.iter().map(RomSpec::rom).collect();
        spec.security = self.security;
        spec.code_size = self.code_size;
        spec
    }
}

impl RomSpec {
    /// As the builder takes it.
    #[must_use]
    pub const fn rom(&self) -> Rom {
        let version = self.version;
        Rom {
            kind: self.kind,
            version: [version.major, version.minor, version.subminor],
        }
    }
}

impl CardSpec {
    pub(super) fn check(&self) -> Result<(), HostError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || self.name.len() > 32 || !self.name.chars().all(plain) {
            return Err(HostError::CardName(self.name.clone()));
        }
        self.model()?;
        let count = self.functions.len();
        if count == 0 || count + usize::from(self.address.function) > 8 {
            return Err(HostError::FunctionCount {
                name: self.name.clone(),
                count,
            });
        }
        self.functions.iter().try_for_each(FunctionNames::check)?;
        self.check_sizes()
    }

    fn check_sizes(&self) -> Result<(), HostError> {
        let size = self.flash.size;
        if !size.is_power_of_two() || !(SMALLEST_FLASH..=LARGEST_FLASH).contains(&size) {
            return Err(HostError::FlashSize {
                name: self.name.clone(),
                size,
            });
        }
        self.firmware.check(&format!("card `{}`", self.name), size)
    }

    /// The chip.
    ///
    /// # Errors
    /// [`HostError::UnknownModel`].
    pub fn model(&self) -> Result<&'static Model, HostError> {
        model(&self.model)
    }

    /// Addresses of the functions, in order.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        let first = self.address;
        (first.function..)
            .take(self.functions.len())
            .map(move |function| Address { function, ..first })
    }

    /// The image in the card's flash, with the board's own data.
    ///
    /// # Errors
    /// [`HostError::UnknownModel`].
    pub fn image_spec(&self) -> Result<ImageSpec, HostError> {
        let mut spec = self.firmware.image_spec(self.model()?, self.psid.clone());
        spec.revision = self.revision;
        spec.part_number.clone_from(&self.part_number);
        spec.description.clone_from(&self.description);
        spec.subsystem = (self.subsystem.vendor, self.subsystem.device);
        if let Some(log2) = self.flash.slot_log2 {
            spec.slot_log2 = log2;
        }
        spec.device = DeviceData {
            addresses: Some(Addresses {
                guid: self.guid,
                mac: self.mac,
                count: self.address_count,
            }),
            original_psid: self.original_psid.clone(),
            vsd: String::new(),
            vpd: self.vpd().encode(),
        };
        Ok(spec)
    }

    /// The chip in a slot that can do `slot` (`None`: no limit).
    ///
    /// # Errors
    /// [`HostError::UnknownModel`].
    pub fn chip_spec(&self, slot: Option<PcieLink>) -> Result<ChipSpec, HostError> {
        let model = self.model()?;
        let trained = slot.map_or(self.link, |slot| self.link.trained_with(slot));
        let functions = self
            .addresses()
            .enumerate()
            .map(|(index, address)| FunctionSpec {
                address: address.to_string(),
                device: model.pci_ids.first().copied().unwrap_or(0),
                subsystem_vendor: self.subsystem.vendor,
                subsystem_device: self.subsystem.device,
                class: self.port(index).class(),
            })
            .collect();
        Ok(ChipSpec {
            hw_id: model.hw_id,
            revision: self.revision,
            functions,
            link: LinkSpec {
                generation: trained.speed.generation(),
                width: trained.width,
                max_generation: self.link.speed.generation(),
                max_width: self.link.width,
            },
            vpd: self.vpd(),
            flash_size: self.flash.size,
            jedec_id: self.flash.jedec.map_or(WINBOND, |id| u32::from(id) << 8)
                | self.flash.size.ilog2(),
            secure: self.secure,
            read_back: self.read_back,
            boot_rule: self.boot_rule,
            oldest_version: None,
            icmd_busy_polls: 1,
            cycle_delay_ns: self.cycle_delay_ns,
        })
    }

    /// The vital product data of the board (device-access 5.2).
    #[must_use]
    pub fn vpd(&self) -> VpdSpec {
        let generation = self.link.speed.generation();
        let slot = format!("PCIeGen{generation} x{}", self.link.width);
        let part_number = self.vpd_part_number.as_ref().unwrap_or(&self.part_number);
        VpdSpec {
            identifier: self.description.clone(),
            keywords: [
                ("PN", part_number.as_str()),
                ("EC", &self.engineering_change),
                ("SN", &self.serial),
                ("V0", &slot),
            ]
            .map(|(keyword, text)| (keyword.to_owned(), text.to_owned()))
            .to_vec(),
        }
    }

    /// Driver that binds to the functions while firmware runs.
    pub(in crate::lab) fn driver(model: &Model) -> &'static str {
        if model.format == ImageFormat::Fs2 {
            "mlx4_core"
        } else {
            "mlx5_core"
        }
    }

    /// Type of the port of function `index`; ConnectX-3 has all ports on one function.
    pub(in crate::lab) fn port(&self, index: usize) -> PortType {
        self.ports
            .get(index)
            .or_else(|| self.ports.first())
            .copied()
            .unwrap_or(PortType::Ethernet)
    }

    /// Ports behind function `index`: all of them on a chip with one function, else its own.
    pub(in crate::lab) fn ports_of(&self, index: usize) -> Vec<PortType> {
        if self.functions.len() == 1 {
            self.ports.clone()
        } else {
            vec![self.port(index)]
        }
    }
}
