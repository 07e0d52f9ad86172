//! Tables of contents: the ITOC of FS3, the ITOC and DTOC of FS4 (images-fs3 3, images-fs4 5).

use super::BuildError;
use super::canvas::{Canvas, word_of};
use super::sections::Section;
use crate::image::crc::image_crc;

/// Bytes of the table's header and of every entry.
pub(super) const ENTRY_SIZE: usize = 32;
/// Distance from the first to the second place of a table.
pub(super) const PLACE: usize = 0x1000;
/// Sections start at multiples of this.
const SECTION_ALIGNMENT: usize = 0x100;

const SIGNATURE_TAIL: [u8; 12] = [
    0x04, 0x08, 0x15, 0x16, 0x23, 0x42, 0xca, 0xfa, 0xba, 0xca, 0xfe, 0x00,
];
/// Entry address field of FS3: the address is relative to the image start.
const RELATIVE: u32 = 1 << 31;
/// Word 6 of an FS3 entry: no section CRC; device data.
const FS3_NO_CRC: u32 = 1 << 16;
const FS3_DEVICE_DATA: u32 = 1 << 17;
/// Section sizes are 24-bit fields.
const MAX_SECTION: usize = 0x00ff_fffc;

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// Image sections.
    Itoc,
    /// Device data (FS4 and later).
    Dtoc,
}

/// Where the CRC of a section is kept; the number is FS4's code (images-fs4 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CrcPlace {
    /// In the table entry.
    Entry = 0,
    /// Nowhere.
    None = 1,
    /// In the section's last dword (FS4 only).
    Section = 2,
}

/// One entry to write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    /// Section type.
    pub kind: u8,
    /// Section contents as they will lie in the image.
    pub data: &'a [u8],
    /// Byte address; from the image start, or absolute for device data.
    pub address: u32,
    /// Where the section CRC is.
    pub crc: CrcPlace,
}

/// Sections that lie in an image.
#[derive(Debug)]
pub(super) struct Placed {
    /// Their table entries.
    pub entries: Vec<[u8; ENTRY_SIZE]>,
    places: Vec<(u8, u32)>,
}

impl Placed {
    /// Address of the first section of a type; 0 = there is none.
    pub(super) fn address_of(&self, kind: u8) -> u32 {
        self.places
            .iter()
            .find(|(found, _)| *found == kind)
            .map_or(0, |&(_, address)| address)
    }
}

/// Appends the sections to the image; `encode` makes the entries of the format.
pub(super) fn place(
    image: &mut Canvas,
    sections: &[Section],
    encode: fn(&Entry<'_>) -> Result<[u8; ENTRY_SIZE], BuildError>,
) -> Result<Placed, BuildError> {
    let mut entries = Vec::new();
    let mut places = Vec::new();
    for section in sections {
        image.align(SECTION_ALIGNMENT);
        let address = word_of(image.len(), "section")?;
        entries.push(encode(&Entry {
            kind: section.kind,
            data: &section.data,
            address,
            crc: CrcPlace::Entry,
        })?);
        places.push((section.kind, address));
        image.put(image.len(), &section.data);
    }
    Ok(Placed { entries, places })
}

/// Where the last section ends when the first is placed at `start`.
pub(super) fn end_of(start: usize, sections: &[Section]) -> Result<u32, BuildError> {
    let end = sections.iter().fold(start, |end, section| {
        end.next_multiple_of(SECTION_ALIGNMENT) + section.data.len()
    });
    word_of(end, "image")
}

/// The table with its end entry. `layout` is the flash layout version (FS4; 0 in FS3).
pub(super) fn table(which: Table, layout: u8, entries: &[[u8; ENTRY_SIZE]]) -> Vec<u8> {
    let mut bytes = match which {
        Table::Itoc => b"ITOC".to_vec(),
        Table::Dtoc => b"DTOC".to_vec(),
    };
    bytes.extend_from_slice(&SIGNATURE_TAIL);
    bytes.extend_from_slice(&((u32::from(layout) << 24) | 1).to_be_bytes());
    bytes.extend_from_slice(&0u32.to_be_bytes());
    bytes.extend_from_slice(&0u32.to_be_bytes());
    let crc = image_crc(&bytes);
    bytes.extend_from_slice(&u32::from(crc).to_be_bytes());
    for entry in entries {
        bytes.extend_from_slice(entry);
    }
    bytes.extend_from_slice(&[0xff; ENTRY_SIZE]);
    bytes
}

/// An FS3 entry for a section of the image.
pub(super) fn fs3_image_entry(entry: &Entry<'_>) -> Result<[u8; ENTRY_SIZE], BuildError> {
    let crc = u32::from(image_crc(entry.data));
    encode(entry, RELATIVE | entry.address, crc)
}

/// An FS3 entry for device data.
pub(super) fn fs3_device_entry(entry: &Entry<'_>) -> Result<[u8; ENTRY_SIZE], BuildError> {
    let flags = match entry.crc {
        CrcPlace::None => FS3_DEVICE_DATA | FS3_NO_CRC,
        CrcPlace::Entry | CrcPlace::Section => FS3_DEVICE_DATA,
    };
    let crc = u32::from(image_crc(entry.data));
    encode(entry, entry.address, flags | crc)
}

/// An FS4 entry, of either table.
pub(super) fn fs4_entry(entry: &Entry<'_>) -> Result<[u8; ENTRY_SIZE], BuildError> {
    let crc = match entry.crc {
        CrcPlace::Entry => u32::from(image_crc(entry.data)),
        CrcPlace::None | CrcPlace::Section => 0,
    };
    encode(entry, entry.address, ((entry.crc as u32) << 16) | crc)
}

fn encode(entry: &Entry<'_>, address: u32, crc: u32) -> Result<[u8; ENTRY_SIZE], BuildError> {
    let size = u32::try_from(entry.data.len())
        .ok()
        .filter(|_| entry.data.len() <= MAX_SECTION)
        .ok_or(BuildError::DoesNotFit {
            what: "section",
            end: entry.data.len() as u64,
            limit: MAX_SECTION as u64,
        })?;
    let mut bytes = [0; ENTRY_SIZE];
    bytes[0x00..0x04].copy_from_slice(&((u32::from(entry.kind) << 24) | size).to_be_bytes());
    bytes[0x14..0x18].copy_from_slice(&address.to_be_bytes());
    bytes[0x18..0x1c].copy_from_slice(&crc.to_be_bytes());
    let entry_crc = u32::from(image_crc(&bytes[..0x1c]));
    bytes[0x1c..].copy_from_slice(&entry_crc.to_be_bytes());
    Ok(bytes)
}
