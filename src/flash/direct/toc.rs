//! Entries of tables of contents, as a burn has to change and make them (images-fs3 3,
//! images-fs4 5). Reading tables is the image room's business.

use crate::bytes::{be32, bits, with_bits};
use crate::image::crc::image_crc;

/// Bytes of a table's header, and of each entry.
pub(super) const RECORD: usize = 0x20;
/// Entries a table has room for before the end.
pub(super) const MOST_ENTRIES: usize = 63;
/// Section type of VPD.
const VPD_R0: u8 = 0xe3;
/// Flag of FS3 entries for device data.
pub(super) const FS3_DEVICE_DATA: u32 = 1 << 17;
/// CRC of a section without bytes.
const EMPTY_CRC: u32 = 0x0955;

const SIGNATURE_TAIL: [u8; 12] = [
    0x04, 0x08, 0x15, 0x16, 0x23, 0x42, 0xca, 0xfa, 0xba, 0xca, 0xfe, 0x00,
];

/// Where an entry says the CRC of its section is; the number is FS4's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CrcMode {
    /// In the entry.
    Entry = 0,
    /// Nowhere.
    None = 1,
    /// In the section's last dword.
    Section = 2,
}

/// One entry, 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record(pub(super) [u8; RECORD]);

impl Record {
    /// An entry for device data at an absolute address. `flags` are the bits of dword 0x18 above
    /// the CRC.
    pub(super) fn device(kind: u8, address: u32, data: &[u8], mode: CrcMode, flags: u32) -> Self {
        let crc = match mode {
            CrcMode::Entry => u32::from(image_crc(data)),
            CrcMode::None | CrcMode::Section => 0,
        };
        // sections have less than 16 MiB
        let size = u32::try_from(data.len()).unwrap_or(0);
        let mut record = Self([0; RECORD]);
        record.put(0x00, with_bits(size, 31, 24, u32::from(kind)));
        record.put(0x14, address);
        record.put(0x18, crc | (mode as u32) << 16 | flags);
        record.seal();
        record
    }

    /// An entry of FS3 that names no bytes: empty VPD, as boards without VPD have it.
    pub(super) fn filler() -> Self {
        Self::device(VPD_R0, 0, &[], CrcMode::Entry, FS3_DEVICE_DATA)
    }

    /// Type of the section.
    pub(super) const fn kind(&self) -> u8 {
        self.0[0]
    }

    fn dword(&self, offset: usize) -> u32 {
        be32(&self.0, offset).unwrap_or(0)
    }

    fn put(&mut self, offset: usize, value: u32) {
        self.0[offset..offset + 4].copy_from_slice(&value.to_be_bytes());
    }

    fn seal(&mut self) {
        let crc = image_crc(&self.0[..0x1c]);
        self.put(0x1c, u32::from(crc));
    }

    /// Nothing was ever written here: the end, or a place left blank.
    pub(super) fn is_blank(&self) -> bool {
        self.0 == [0xff; RECORD]
    }

    /// Of FS3: device data.
    pub(super) fn is_device_data(&self) -> bool {
        bits(self.dword(0x18), 17, 17) == 1
    }

    /// Of FS3: the attributes that two entries of the same section have in common: no CRC, device
    /// data, relative address.
    pub(super) fn attributes(&self) -> (u32, u32) {
        (
            bits(self.dword(0x18), 17, 16),
            bits(self.dword(0x14), 31, 31),
        )
    }

    /// Of FS3: the section has no CRC, so that whatever is on the flash is right.
    pub(super) fn has_no_crc(&self) -> bool {
        bits(self.dword(0x18), 16, 16) == 1
    }

    /// The same entry for a section without bytes.
    pub(super) fn emptied(mut self) -> Self {
        self.put(0x00, with_bits(0, 31, 24, u32::from(self.kind())));
        let check = self.dword(0x18);
        self.put(0x18, with_bits(check, 15, 0, EMPTY_CRC));
        self.seal();
        self
    }
}

/// A device table with its end entry, layout version 1 (images-fs4 6.2).
pub(super) fn dtoc(entries: &[Record]) -> Vec<u8> {
    let mut bytes = b"DTOC".to_vec();
    bytes.extend_from_slice(&SIGNATURE_TAIL);
    for dword in [0x0100_0001u32, 0, 0] {
        bytes.extend_from_slice(&dword.to_be_bytes());
    }
    let crc = image_crc(&bytes);
    bytes.extend_from_slice(&u32::from(crc).to_be_bytes());
    bytes.extend(entries.iter().flat_map(|record| record.0));
    bytes.extend_from_slice(&[0xff; RECORD]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_new_device_table_has_its_published_crc() {
        assert_eq!(be32(&dtoc(&[]), 0x1c), Some(0xbd90));
    }

    #[test]
    fn an_emptied_entry_keeps_its_type_and_place() {
        let full = Record::device(0xe3, 0xff_8140, &[1, 2, 3, 4], CrcMode::Entry, 1 << 17);
        let empty = full.emptied();
        assert_eq!((empty.kind(), empty.dword(0x00)), (0xe3, 0xe300_0000));
        assert_eq!(empty.dword(0x14), 0xff_8140);
        assert_eq!(empty.dword(0x18), 0x0002_0955);
        assert_eq!(empty.dword(0x1c), u32::from(image_crc(&empty.0[..0x1c])));
    }
}
