//! What an image says of itself, the same for every format. A field the image does not carry is
//! `None` or empty, never an invented value.

use super::rom;
use crate::identity::Psid;
use crate::model::{self, ImageFormat, Model};
use crate::version::{Date, FwVersion};

/// A supported hardware id of an image: chip and revision (images 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HwId {
    /// Chip, as [`Model::hw_id`].
    pub id: u16,
    /// Chip revision, bits `[23:16]` of the word.
    pub revision: u8,
}

/// One expansion ROM record (images 4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RomInfo {
    /// Product id of the record (0x10 PXE, 0x11 UEFI, 0xf the CLP with a text version, …).
    pub product_id: u16,
    /// Name as mlxup prints it: `PXE`, `UEFI`, `CLP`, `NVMe`, `UEFI Virtio net`, `FCODE` ….
    pub kind: String,
    /// One, three or four version numbers.
    pub version: Vec<u32>,
    /// CPU architecture code (1 AMD64, 2 AARCH64, 3 both, 4 IA32; 0 unspecified).
    pub cpu: Option<u8>,
    /// Port, where the ROM is for one port.
    pub port: Option<u8>,
    /// Protocol code (0 IB, 1 ETH, 2 VPI), where given.
    pub protocol: Option<u8>,
    /// PCI device id the ROM is for, where it is for one.
    pub device_id: Option<u16>,
}

impl RomInfo {
    /// Whether the product id has a name; of others nothing but the number is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        rom::product_name(self.product_id).is_some()
    }

    /// Version as mlxup prints it: `3.6.0902`; a CLP number stands alone (mft-compat 4.4).
    #[must_use]
    pub fn version_text(&self) -> String {
        match self.version.as_slice() {
            [a, b, c] => format!("{a}.{b}.{c:04}"),
            [a, b, c, d] => format!("{a}.{b}.{c}.{d:04}"),
            other => other
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join("."),
        }
    }
}

/// One base address with the number of addresses derived from it (images-fs3 6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uid {
    /// GUID, or MAC in the low 48 bits; 0 = not set.
    pub value: u64,
    /// How many; 0 = not said.
    pub count: u16,
    /// Step between them.
    pub step: u8,
}

/// Addresses in the layout the image format keeps them in (images 5.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uids {
    /// FS2: node, port 1, port 2, system image GUID, then port 1 and port 2 MAC (absent in old
    /// images with four entries). All ones = blank.
    Fs2 {
        /// The GUID section's entries as stored.
        entries: Vec<u64>,
    },
    /// Connect-IB and Switch-IB: GUID and MAC for each port.
    TwoPorts {
        /// GUID of port 1 and 2.
        guids: [Uid; 2],
        /// MAC of port 1 and 2.
        macs: [Uid; 2],
    },
    /// ConnectX-4 and later: one base GUID, one base MAC.
    Base {
        /// Base GUID.
        guid: Uid,
        /// Base MAC.
        mac: Uid,
    },
}

/// A word of the `Security Attributes` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecurityAttribute {
    /// `secure-fw`
    SecureFw,
    /// `signed-fw`
    SignedFw,
    /// `debug`
    Debug,
    /// `dev`
    Dev,
}

impl std::fmt::Display for SecurityAttribute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::SecureFw => "secure-fw",
            Self::SignedFw => "signed-fw",
            Self::Debug => "debug",
            Self::Dev => "dev",
        })
    }
}

/// Security of an image as `query` decides it (images 5.3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Security {
    /// What the attributes line shows, in order; empty = `N/A`.
    pub attributes: Vec<SecurityAttribute>,
    /// Updatable through the running firmware (the MCC bit survives): `fw_ctrl`, else `Legacy`.
    pub firmware_controlled: bool,
    /// The image's contents are encrypted.
    pub encrypted: bool,
    /// Security version (rollback counter), FS4 and FS5 files.
    pub version: Option<u32>,
}

/// Everything `query full` shows of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageInfo {
    /// Format.
    pub format: ImageFormat,
    /// Address of the image in its source: 0 for a file, the slot for a flash.
    pub start: u64,
    /// log2 of the slot size, where the image says it.
    pub slot_log2: Option<u8>,
    /// Bytes from the start to the end of the last image section (device data not counted).
    pub size: u64,
    /// Firmware version; `None` when all numbers are zero.
    pub version: Option<FwVersion>,
    /// Branch tag of switch images, printed in place of the version.
    pub branch: Option<String>,
    /// Build date.
    pub date: Option<Date>,
    /// Build time hh:mm:ss, BCD decoded, where the format has one.
    pub time: Option<(u8, u8, u8)>,
    /// Board the image is for.
    pub psid: Option<Psid>,
    /// PSID written at the factory (MFG_INFO), shown when it differs.
    pub original_psid: Option<Psid>,
    /// Image VSD text.
    pub vsd: String,
    /// Device VSD text (DEV_INFO).
    pub device_vsd: Option<String>,
    /// VSD vendor id.
    pub vsd_vendor_id: Option<u16>,
    /// Product version text.
    pub product_version: String,
    /// Part number (IMAGE_INFO name).
    pub part_number: String,
    /// Description.
    pub description: String,
    /// PRS name.
    pub prs_name: String,
    /// PRS name written at the factory.
    pub original_prs_name: String,
    /// MIC (generator) version.
    pub mic_version: Option<(u16, u16, u16)>,
    /// Minimal FIT version (FS2).
    pub min_fit: Option<(u16, u16, u16, u16)>,
    /// ISSU (in-service update) version; 0 = none.
    pub issu_version: u16,
    /// Configuration sectors (FS2).
    pub config_sectors: Option<u32>,
    /// Configuration pad (FS2).
    pub config_pad: Option<u32>,
    /// PCI device id the image is for.
    pub device_id: Option<u16>,
    /// Hardware access key: present and set (FS2 tag 13).
    pub hw_access_key: Option<bool>,
    /// Chips the image runs on.
    pub hw_ids: Vec<HwId>,
    /// Expansion ROMs; empty when the image has none.
    pub roms: Vec<RomInfo>,
    /// Warnings or the error about the ROM section.
    pub rom_remark: Option<String>,
    /// Addresses; `None` for a reduced image (no device data).
    pub uids: Option<Uids>,
    /// Addresses written at the factory (MFG_INFO).
    pub original_uids: Option<Uids>,
    /// FS2: GUIDs and MACs were never set.
    pub blank_guids: bool,
    /// The image carries no device data (as shipped inside packages).
    pub reduced: bool,
    /// Security.
    pub security: Security,
    /// Things a careful user should know (two valid DEV_INFO copies, …).
    pub warnings: Vec<String>,
}

impl ImageInfo {
    /// The chip of the first supported hardware id.
    #[must_use]
    pub fn model(&self) -> Option<&'static Model> {
        self.hw_ids.first().and_then(|hw| model::by_hw_id(hw.id))
    }

    /// Whether the image lists this chip.
    #[must_use]
    pub fn supports(&self, hw: HwId) -> bool {
        self.hw_ids.contains(&hw)
    }
}
