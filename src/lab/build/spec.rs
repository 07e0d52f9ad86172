//! What an image is asked to be.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::BuildError;
use super::rom::Rom;
use crate::identity::{Guid, Mac, Psid};
use crate::model::{ImageFormat, Model};
use crate::pci::MELLANOX;
use crate::version::{Date, FwVersion};

/// Signing of an image, and with it how it can be updated (images 5.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Security {
    /// No signature sections: only flash tools can burn it.
    LegacyOnly,
    /// Signature sections are there, neither signed nor secure: `N/A`, updated by firmware.
    #[default]
    Unsigned,
    /// `signed-fw`
    Signed,
    /// `secure-fw`
    Secure,
}

/// Form of an image file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum FileForm {
    /// With a device data area at its end.
    #[default]
    Full,
    /// Without one (FS4 and FS5).
    Reduced,
}

/// Addresses of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// Base GUID; on ConnectX-3 the node GUID.
    pub guid: Guid,
    /// Base MAC; on ConnectX-3 that of port 1.
    pub mac: Mac,
    /// How many of each the board owns.
    pub count: u8,
}

/// What belongs to the board and not to the firmware.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceData {
    /// Addresses. Published images have none; those for ConnectX-3 have placeholders, since
    /// without addresses they would not verify (images-fs2 5.1).
    pub addresses: Option<Addresses>,
    /// PSID written at the factory, where it differs from the firmware's.
    pub original_psid: Option<Psid>,
    /// Device VSD text.
    pub vsd: String,
    /// VPD image (VPD_R0), see [`crate::lab::chip::VpdSpec::encode`]; empty = none.
    pub vpd: Vec<u8>,
}

/// One image.
#[derive(Debug, Clone)]
pub struct ImageSpec {
    /// Chip; decides the format.
    pub model: &'static Model,
    /// Chip revision the image supports.
    pub revision: u8,
    /// Board.
    pub psid: Psid,
    /// Firmware version.
    pub version: FwVersion,
    /// Build date.
    pub date: Date,
    /// Build time: hour, minute, second.
    pub time: (u8, u8, u8),
    /// Part number, up to 64 characters.
    pub part_number: String,
    /// Description, up to 256 characters.
    pub description: String,
    /// Product version, up to 16 characters; empty = none.
    pub product_version: String,
    /// PRS name, up to 96 characters; empty = none.
    pub prs_name: String,
    /// Image VSD, up to 208 characters; empty = none.
    pub vsd: String,
    /// Expansion ROMs.
    pub roms: Vec<Rom>,
    /// Signing.
    pub security: Security,
    /// Rollback counter (FS4).
    pub security_version: u32,
    /// Subsystem vendor and device id.
    pub subsystem: (u16, u16),
    /// log2 of the slot (FS2: chunk) size in bytes.
    pub slot_log2: u8,
    /// Bytes of main code: what the image's size is made of.
    pub code_size: u64,
    /// Board data in the device data area (FS2: in the GUID section).
    pub device: DeviceData,
    /// Form of the file.
    pub form: FileForm,
}

impl ImageSpec {
    /// A published image with the chip's usual slot size, 64 KiB of code and nothing optional.
    #[must_use]
    pub fn new(model: &'static Model, psid: Psid, version: FwVersion) -> Self {
        Self {
            model,
            revision: 0,
            psid,
            version,
            date: Date {
                year: 2021,
                month: 12,
                day: 6,
            },
            time: (12, 0, 0),
            part_number: String::new(),
            description: String::new(),
            product_version: String::new(),
            prs_name: String::new(),
            vsd: String::new(),
            roms: Vec::new(),
            security: Security::default(),
            security_version: 0,
            subsystem: (MELLANOX, 0),
            slot_log2: usual_slot_log2(model),
            code_size: 0x1_0000,
            device: DeviceData {
                addresses: placeholder(model),
                ..DeviceData::default()
            },
            form: FileForm::default(),
        }
    }

    /// The PCI device id images for this chip carry.
    #[must_use]
    pub fn pci_device(&self) -> u16 {
        self.model.pci_ids.first().copied().unwrap_or(0)
    }

    /// Refuses a slot size outside the codes of the format.
    pub(super) fn check_slot(&self, possible: RangeInclusive<u8>) -> Result<(), BuildError> {
        if possible.contains(&self.slot_log2) {
            return Ok(());
        }
        Err(BuildError::SlotSize {
            format: self.model.format,
            log2: self.slot_log2,
            least: *possible.start(),
            most: *possible.end(),
        })
    }

    /// The supported-hardware-id word (images 7).
    pub(super) const fn hw_word(&self) -> u32 {
        ((self.revision as u32) << 16) | self.model.hw_id as u32
    }

    /// Whether the chip checks signatures at boot: ConnectX-6 Dx and later (images-fs4 10).
    pub(super) const fn has_secure_boot(&self) -> bool {
        matches!(self.model.format, ImageFormat::Fs5)
            || matches!(self.model.hw_id, 0x212 | 0x214 | 0x216 | 0x218 | 0x21c)
    }

    /// Whether images for the chip carry a hashes table (images-fs4 7).
    pub(super) const fn has_hashes_table(&self) -> bool {
        matches!(self.model.hw_id, 0x218 | 0x21c)
    }

    /// Whether the image is signed with 4096-bit keys as well.
    pub(super) const fn long_keys(&self) -> bool {
        matches!(self.security, Security::Secure)
    }
}

/// The addresses of published FS2 images.
const fn placeholder(model: &Model) -> Option<Addresses> {
    match (
        model.format,
        Guid::new(0x0002_c900_0abc_def0),
        Mac::new(0x0002_c9ab_cdf0),
    ) {
        (ImageFormat::Fs2, Some(guid), Some(mac)) => Some(Addresses {
            guid,
            mac,
            count: 1,
        }),
        _ => None,
    }
}

/// Slot sizes seen in released images (images 1.3).
const fn usual_slot_log2(model: &Model) -> u8 {
    match model.format {
        ImageFormat::Fs2 => 19,
        ImageFormat::Fs3 => 23,
        ImageFormat::Fs4 if matches!(model.hw_id, 0x20d | 0x211) => 23,
        ImageFormat::Fs4 => 24,
        ImageFormat::Fs5 => 25,
    }
}
