//! The IMAGE_INFO section: what an FS3, FS4 or FS5 image is (images-fs3 6).

use super::ImageError;
use super::info::HwId;
use crate::bytes::{be32, bits, text};
use crate::identity::Psid;
use crate::version::{Date, FwVersion, bcd};

/// Bytes of the structure.
pub(super) const SIZE: u64 = 0x400;

/// The section, decoded.
#[derive(Debug, Clone)]
pub(super) struct ImageInfoSection {
    flags: u32,
    pub(super) version: FwVersion,
    pub(super) date: Option<Date>,
    pub(super) time: Option<(u8, u8, u8)>,
    pub(super) mic_version: (u16, u16, u16),
    pci_device_id: u16,
    pub(super) psid: Option<Psid>,
    /// FS5: what kind of part the image is for.
    pub(super) sku: u8,
    pub(super) vsd_vendor_id: u16,
    pub(super) vsd: String,
    /// log2 of the distance between image slots.
    pub(super) log_step: u8,
    /// Where the DTOC is, in fractions of the flash; 0 = at its end.
    pub(super) dtoc_offset: u8,
    pub(super) hw_ids: Vec<HwId>,
    /// Bytes a burn writes; 0 = not said.
    pub(super) burn_size: u32,
    pub(super) product_version: String,
    description: String,
    pub(super) issu_version: u16,
    part_number: String,
    prs_name: String,
}

/// Flag bits of the first dword.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flags {
    /// Only signed images of the same kind may replace it.
    pub(super) secure: bool,
    /// Carries a signature.
    pub(super) signed: bool,
    /// Debug firmware.
    pub(super) debug: bool,
    /// Updatable through the running firmware.
    pub(super) mcc: bool,
    /// Encrypted, before or after signing.
    pub(super) encrypted: bool,
}

impl ImageInfoSection {
    /// Decodes the section's bytes.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ImageError> {
        let Some(bytes) = bytes.get(..0x400) else {
            return Err(ImageError::Section {
                section: "IMAGE_INFO".into(),
                address: 0,
                reason: format!("{:#x} bytes, {SIZE:#x} expected", bytes.len()),
            });
        };
        let dword = |offset| be32(bytes, offset).unwrap_or(0);
        let field = |offset: usize, size: usize| text(&bytes[offset..offset + size]);
        let half = |offset, high| u16_of(bits(dword(offset), high, high - 15));
        let byte = |offset, high| u8_of(bits(dword(offset), high, high - 7));
        let flags = dword(0);
        let major = bits(flags, 31, 24);
        if major != 0 {
            return Err(ImageError::SectionVersion {
                section: "IMAGE_INFO",
                major,
            });
        }
        Ok(Self {
            flags,
            version: FwVersion::new(half(4, 31), half(8, 31), half(8, 15)),
            date: Date::from_bcd(half(0x10, 31), byte(0x10, 15), byte(0x10, 7)),
            time: clock(byte(0xc, 15), byte(0xc, 23), byte(0xc, 31)),
            mic_version: (half(0x14, 31), half(0x18, 31), half(0x18, 15)),
            pci_device_id: half(0x1c, 31),
            psid: Psid::from_field(&bytes[0x24..0x34]),
            sku: byte(0x34, 23),
            vsd_vendor_id: half(0x34, 15),
            vsd: field(0x38, 208),
            log_step: byte(0x108, 7),
            dtoc_offset: byte(0x110, 15),
            hw_ids: (0x118..0x128)
                .step_by(4)
                .map(dword)
                .take_while(|&id| id != 0)
                .map(HwId::from_dword)
                .collect(),
            burn_size: dword(0x12c),
            product_version: field(0x1c0, 16),
            description: field(0x1d0, 256),
            issu_version: u16_of(bits(dword(0x314), 31, 20)),
            part_number: field(0x340, 64),
            prs_name: field(0x380, 96),
        })
    }

    /// Minor version of the structure: which fields it carries.
    const fn minor(&self) -> u32 {
        bits(self.flags, 23, 16)
    }

    pub(super) const fn flags(&self) -> Flags {
        Flags {
            secure: bits(self.flags, 15, 15) == 1,
            signed: bits(self.flags, 14, 14) == 1,
            debug: bits(self.flags, 13, 13) == 1,
            mcc: bits(self.flags, 8, 8) == 1,
            encrypted: bits(self.flags, 4, 3) != 0,
        }
    }

    /// Name, description and PRS name came with minor versions 2 and 3.
    fn described<'s>(&self, text: &'s str) -> &'s str {
        if matches!(self.minor(), 2 | 3) {
            text
        } else {
            ""
        }
    }

    pub(super) fn part_number(&self) -> &str {
        self.described(&self.part_number)
    }

    pub(super) fn description(&self) -> &str {
        self.described(&self.description)
    }

    pub(super) fn prs_name(&self) -> &str {
        self.described(&self.prs_name)
    }

    /// PCI device id, where this minor version has a usable one.
    pub(super) fn pci_device_id(&self) -> Option<u16> {
        (self.minor() >= 3 && self.pci_device_id != 0).then_some(self.pci_device_id)
    }
}

impl HwId {
    /// From the dword images and registers keep it in: `[15:0]` chip, `[23:16]` revision.
    pub(super) const fn from_dword(dword: u32) -> Self {
        let [_, revision, high, low] = dword.to_be_bytes();
        Self {
            id: u16::from_be_bytes([high, low]),
            revision,
        }
    }
}

/// A time of day from BCD bytes; `None` for what no clock shows.
pub(super) fn clock(hour: u8, minute: u8, second: u8) -> Option<(u8, u8, u8)> {
    let digits = |byte| bcd(u32::from(byte)).map(u8_of);
    let (hour, minute, second) = (digits(hour)?, digits(minute)?, digits(second)?);
    (hour < 24 && minute < 60 && second < 61).then_some((hour, minute, second))
}

/// The low 16 bits.
pub(super) const fn u16_of(dword: u32) -> u16 {
    super::toc::low_half(dword)
}

/// The low 8 bits.
pub(super) const fn u8_of(dword: u32) -> u8 {
    let [.., low] = dword.to_be_bytes();
    low
}
