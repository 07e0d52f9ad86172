//! Tables of contents: the ITOC of FS3, FS4 and FS5 images and the DTOC of device data
//! (images-fs3 3, images-fs4 5 and 6).

use std::borrow::Cow;

use super::ImageError;
use super::crc::image_crc;
use super::layout::{CrcPlace, Section};
use super::section::{self, kind};
use crate::bytes::{ReadError, be32, bits};

/// Bytes of the header, and of each entry.
pub(super) const RECORD: u64 = 0x20;

/// Distance of the two places of an ITOC.
pub(super) const PLACE_STEP: u64 = 0x1000;

/// Entries that fit before the end entry.
const MAX_ENTRIES: usize = 63;

/// Words 1 to 3 of both signatures.
const SIGNATURE_REST: [u32; 3] = [0x0408_1516, 0x2342_cafa, 0xbaca_fe00];

/// One kind of table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Table {
    /// `ITOC` or `DTOC`.
    pub(super) name: &'static str,
    /// Name of its header in verify lines.
    pub(super) header_name: &'static str,
    signature: u32,
    entries: EntryFormat,
}

/// How entries say where a section is and how it is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryFormat {
    /// Relative-address bit, "no CRC" bit, device-data bit.
    Fs3,
    /// CRC place in three bits, addresses of one kind in each table.
    Fs4 { device_data: bool },
}

/// ITOC of FS3: image and device data in one table.
pub(super) const FS3_ITOC: Table = Table {
    name: "ITOC",
    header_name: "ITOC_HEADER",
    signature: 0x4954_4f43,
    entries: EntryFormat::Fs3,
};

/// ITOC of FS4 and FS5.
pub(super) const ITOC: Table = Table {
    entries: EntryFormat::Fs4 { device_data: false },
    ..FS3_ITOC
};

/// DTOC of FS4 and FS5.
pub(super) const DTOC: Table = Table {
    name: "DTOC",
    header_name: "DTOC_HEADER",
    signature: 0x4454_4f43,
    entries: EntryFormat::Fs4 { device_data: true },
};

/// What a blank entry means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    /// The end of the table.
    End,
    /// Device data that was taken out for a package (bundles 2.9), or the end: good entries that
    /// follow belong to the table.
    Skip,
}

/// What is where a header should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// Signature and CRC right.
    Valid {
        /// CRC in the header.
        stored: u16,
    },
    /// Signature right, CRC not.
    WrongCrc {
        /// CRC in the header.
        stored: u16,
    },
    /// Some words of the signature: a header that was damaged.
    Damaged,
    /// Nothing like a header.
    Absent,
}

/// One entry as its table describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: u8,
    pub(super) size: u64,
    /// Contiguous, or physical for device data.
    pub(super) address: u64,
    /// The address is physical.
    pub(super) absolute: bool,
    pub(super) device_data: bool,
    pub(super) crc: CrcPlace,
    pub(super) cache_lines: bool,
    pub(super) encrypted: bool,
}

impl Table {
    /// Looks at the 32 bytes of a header.
    pub(super) fn header(&self, bytes: &[u8]) -> Header {
        let dword = |index: usize| be32(bytes, index * 4);
        let mut right = usize::from(dword(0) == Some(self.signature));
        for (index, word) in SIGNATURE_REST.into_iter().enumerate() {
            right += usize::from(dword(index + 1) == Some(word));
        }
        let (Some(covered), Some(last), 4) = (bytes.get(..0x1c), dword(7), right) else {
            return if right == 0 {
                Header::Absent
            } else {
                Header::Damaged
            };
        };
        let stored = low_half(last);
        if stored == image_crc(covered) {
            Header::Valid { stored }
        } else {
            Header::WrongCrc { stored }
        }
    }

    /// Visits the entries of the table whose header is at `at`, in order. `read` reads from the
    /// space the table is in. Stops at the first error, its own or the visitor's.
    pub(super) fn visit<'a>(
        &self,
        (at, gaps): (u64, Gaps),
        read: impl Fn(u64, u64) -> Result<Cow<'a, [u8]>, ReadError>,
        mut visitor: impl FnMut(Entry, u64) -> Result<(), ImageError>,
    ) -> Result<(), ImageError> {
        let mut gap = false;
        for index in 0..=MAX_ENTRIES {
            let place = at + RECORD * (1 + index as u64);
            let bytes = read(place, RECORD).map_err(|source| {
                ImageError::read(format!("{} entry {index}", self.name), source)
            })?;
            match self.look(&bytes, index) {
                Ok(None) if gaps == Gaps::End => return Ok(()),
                Ok(None) => gap = true,
                Ok(Some(entry)) if index < MAX_ENTRIES => visitor(entry, place)?,
                Err(fault) if !gap => return Err(fault),
                Ok(Some(_)) | Err(_) => break,
            }
        }
        if gap {
            return Ok(());
        }
        Err(ImageError::TooManyEntries {
            toc: self.name,
            limit: MAX_ENTRIES,
        })
    }

    /// One entry, or `None` for a blank one. One with the type of the end entry that is not blank
    /// is a damaged entry: to stop there would hide the sections behind it.
    fn look(&self, bytes: &[u8], index: usize) -> Result<Option<Entry>, ImageError> {
        if bytes.first() != Some(&kind::END) {
            return self.entry(bytes, index).map(Some);
        }
        if bytes.iter().all(|&byte| byte == 0xff) {
            return Ok(None);
        }
        Err(ImageError::DirtyEnd {
            toc: self.name,
            index,
        })
    }

    /// Decodes one entry and checks its CRC.
    fn entry(&self, bytes: &[u8], index: usize) -> Result<Entry, ImageError> {
        let dword = |offset| be32(bytes, offset).unwrap_or(0);
        let stored = low_half(dword(0x1c));
        let calculated = image_crc(bytes.get(..0x1c).unwrap_or_default());
        if stored != calculated {
            return Err(ImageError::EntryCrc {
                toc: self.name,
                index,
                stored,
                calculated,
            });
        }
        let (type_and_size, place, check) = (dword(0), dword(0x14), dword(0x18));
        let (absolute, device_data, crc) = match self.entries {
            EntryFormat::Fs3 => (
                bits(place, 31, 31) == 0,
                bits(check, 17, 17) == 1,
                crc_place(bits(check, 16, 16), check),
            ),
            EntryFormat::Fs4 { device_data } => (
                device_data,
                device_data,
                crc_place(bits(check, 18, 16), check),
            ),
        };
        let [kind, ..] = type_and_size.to_be_bytes();
        let Some(crc) = crc else {
            return Err(ImageError::Section {
                section: section::name(kind),
                address: u64::from(place),
                reason: format!("unknown CRC mode {}", bits(check, 18, 16)),
            });
        };
        let fs4 = matches!(self.entries, EntryFormat::Fs4 { .. });
        Ok(Entry {
            kind,
            size: u64::from(bits(type_and_size, 23, 2) << 2),
            address: u64::from(bits(place, 30, 2) << 2),
            absolute,
            device_data,
            crc,
            cache_lines: fs4 && bits(dword(4), 30, 30) == 1,
            encrypted: fs4 && bits(check, 31, 31) == 1,
        })
    }
}

/// Where the CRC is: 0 in the entry, 1 nowhere, 2 in the section's last dword.
fn crc_place(mode: u32, check: u32) -> Option<CrcPlace> {
    match mode {
        0 => Some(CrcPlace::Entry {
            stored: low_half(check),
        }),
        1 => Some(CrcPlace::None),
        2 => Some(CrcPlace::LastDword),
        _ => None,
    }
}

/// Bits `[15:0]`.
pub(super) const fn low_half(dword: u32) -> u16 {
    let [.., high, low] = dword.to_be_bytes();
    u16::from_be_bytes([high, low])
}

impl Entry {
    /// The section for a layout, at its physical address.
    pub(super) fn section(&self, physical: u64, entry: u64) -> Section {
        Section {
            kind: u32::from(self.kind),
            name: section::name(self.kind),
            address: self.address,
            physical,
            size: self.size,
            absolute: self.absolute,
            device_data: self.device_data,
            crc: self.crc,
            cache_lines: self.cache_lines,
            encrypted: self.encrypted,
            entry,
        }
    }
}
