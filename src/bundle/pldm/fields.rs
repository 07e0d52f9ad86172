//! Reading little-endian fields one after the other, never past the end of a structure.

use crate::bytes::{le16, le32};

/// What is left of a structure. Every read gives `None` when it does not fit.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        le16(self.take(2)?, 0)
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        le32(self.take(4)?, 0)
    }

    /// A length of four bytes as a size in memory.
    pub fn length32(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }
}

/// Text of a string of PLDM type `kind` (0 unknown, 1 ASCII, 2 UTF-8, 3 UTF-16, 4 UTF-16LE,
/// 5 UTF-16BE; bundles 3.2), with control characters replaced by `?`.
#[must_use]
pub fn string(kind: u8, bytes: &[u8]) -> String {
    let units = |decode: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|&unit| decode(unit))
            .collect();
        String::from_utf16_lossy(&units)
    };
    let text = match kind {
        // UTF-16 without a stated order is little-endian like every number of the package.
        3 | 4 => units(u16::from_le_bytes),
        5 => units(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    text.trim_end_matches('\0')
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_decoded_by_type_and_cannot_drive_a_terminal() {
        assert_eq!(string(1, b"set-1.0\0"), "set-1.0");
        assert_eq!(string(4, b"a\0b\0"), "ab");
        assert_eq!(string(5, b"\0a\0b"), "ab");
        assert_eq!(string(2, b"a\x1b[2J"), "a?[2J");
    }

    #[test]
    fn a_field_that_does_not_fit_is_none_and_takes_nothing() {
        let mut fields = Fields(b"\x01\x02\x03");
        assert_eq!(fields.u32(), None);
        assert_eq!(fields.u16(), Some(0x0201));
        assert_eq!(fields.u16(), None);
        assert_eq!(fields.u8(), Some(3));
    }
}
