//! The expansion ROM section: an option ROM with one `mlxsign:` record a ROM (images 4).

use serde::{Deserialize, Serialize};

use super::BuildError;
use super::payload::payload;

/// Size of the ROM section in bytes: a multiple of 512, below 128 KiB (the length byte counts
/// 512-byte units).
const ROM_SIZE: usize = 0x4000;
/// Where the first record lies, and the distance from one to the next.
const RECORDS: usize = 0x40;
/// A reader keeps at most this many records (images 4.2).
const MAX_RECORDS: usize = 5;

/// What a ROM is, by product id (images 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RomKind {
    /// FlexBoot.
    #[serde(rename = "PXE")]
    Pxe,
    /// UEFI driver.
    #[serde(rename = "UEFI")]
    Uefi,
    /// Command-line protocol.
    #[serde(rename = "CLP")]
    Clp,
    /// NVMe boot.
    #[serde(rename = "NVMe")]
    Nvme,
    /// Open Firmware.
    #[serde(rename = "FCODE")]
    Fcode,
}

impl RomKind {
    const fn product_id(self) -> u16 {
        match self {
            Self::Pxe => 0x10,
            Self::Uefi => 0x11,
            Self::Clp => 0x12,
            Self::Nvme => 0x13,
            Self::Fcode => 0x21,
        }
    }

    /// CPU architecture code of released ROMs: PXE is AMD64, UEFI holds AMD64 and AARCH64.
    const fn cpu(self) -> u32 {
        match self {
            Self::Pxe => 1,
            Self::Uefi => 3,
            Self::Clp | Self::Nvme | Self::Fcode => 0,
        }
    }
}

/// One expansion ROM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rom {
    /// What it is.
    pub kind: RomKind,
    /// Three numbers; the record has 8, 8 and 16 bits for them.
    pub version: [u16; 3],
}

/// The ROM section for a chip with this PCI device id.
///
/// # Errors
/// [`BuildError::RomVersion`] for numbers the record has no room for,
/// [`BuildError::TooManyRoms`].
pub(super) fn section(roms: &[Rom], pci_device: u16) -> Result<Vec<u8>, BuildError> {
    if roms.len() > MAX_RECORDS {
        return Err(BuildError::TooManyRoms { count: roms.len() });
    }
    let mut rom = payload("option rom", ROM_SIZE);
    let units = u8::try_from(ROM_SIZE / 512).unwrap_or(u8::MAX);
    rom[..4].copy_from_slice(&[0x55, 0xaa, units, 0xeb]);
    for (index, entry) in roms.iter().enumerate() {
        let record = record(entry, pci_device)?;
        let start = RECORDS * (index + 1);
        rom[start..start + record.len()].copy_from_slice(&record);
    }
    // The byte sum of the whole is 0 mod 256 (images 4.3).
    let last = rom.len() - 1;
    rom[last] = 0;
    let sum = rom.iter().fold(0u8, |sum, &byte| sum.wrapping_add(byte));
    rom[last] = sum.wrapping_neg();
    Ok(rom)
}

/// `mlxsign:` and twelve bytes, little-endian words (images 4.2).
fn record(rom: &Rom, pci_device: u16) -> Result<Vec<u8>, BuildError> {
    const NO_PROTOCOL: u32 = 0xff;
    let [major, minor, sub] = rom.version;
    let refuse = |_| BuildError::RomVersion {
        kind: rom.kind,
        version: rom.version,
    };
    let major = u8::try_from(major).map_err(refuse)?;
    let minor = u8::try_from(minor).map_err(refuse)?;
    let words = [
        (u32::from(rom.kind.product_id()) << 16) | u32::from(major),
        (u32::from(minor) << 16) | u32::from(sub),
        (u32::from(pci_device) << 16) | (rom.kind.cpu() << 8) | NO_PROTOCOL,
    ];
    let mut record = b"mlxsign:".to_vec();
    for word in words {
        record.extend_from_slice(&word.to_le_bytes());
    }
    Ok(record)
}
