//! Bytes from outside: bounded reads that name the offset, and bit fields as the manuals write them.
//!
//! Everything read from files, flash and registers goes through [`ByteSource`] and the helpers
//! here. Nothing indexes by a length taken from the data: a read that does not fit is a
//! [`ReadError`] with the offset, what was wanted and what is there.

use std::borrow::Cow;

/// A read that could not be served. All offsets are bytes from the start of the source.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The range is not inside the source.
    #[error("at {offset:#x}: {wanted} bytes wanted, but the data ends at {size:#x}")]
    OutOfRange {
        /// First byte wanted.
        offset: u64,
        /// Bytes wanted.
        wanted: u64,
        /// Size of the source.
        size: u64,
    },
    /// The source itself failed (a device, a file).
    #[error("at {offset:#x}: {reason}")]
    Failed {
        /// First byte wanted.
        offset: u64,
        /// What the source says.
        #[source]
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Random access to a run of bytes: a file in memory, a flash behind a gateway.
///
/// In-memory sources lend their bytes ([`Cow::Borrowed`]), so parsing a file copies nothing;
/// a device hands out copies.
pub trait ByteSource {
    /// Number of bytes there are.
    fn size(&self) -> u64;

    /// `len` bytes from `offset`.
    ///
    /// # Errors
    /// [`ReadError::OutOfRange`] when the range is not wholly inside, [`ReadError::Failed`] when
    /// the source cannot deliver it.
    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError>;

    /// The big-endian dword at `offset`.
    ///
    /// # Errors
    /// As [`ByteSource::read`].
    fn dword(&self, offset: u64) -> Result<u32, ReadError> {
        let bytes = self.read(offset, 4)?;
        Ok(be32(&bytes, 0).unwrap_or(0))
    }
}

impl ByteSource for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        let out_of_range = || ReadError::OutOfRange {
            offset,
            wanted: len,
            size: self.len() as u64,
        };
        let start = usize::try_from(offset).map_err(|_| out_of_range())?;
        let len_here = usize::try_from(len).map_err(|_| out_of_range())?;
        let end = start.checked_add(len_here).ok_or_else(out_of_range)?;
        self.get(start..end)
            .map(Cow::Borrowed)
            .ok_or_else(out_of_range)
    }
}

impl ByteSource for Vec<u8> {
    fn size(&self) -> u64 {
        self.as_slice().size()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        self.as_slice().read(offset, len)
    }
}

/// A reference reads as what it refers to, so that a slice (`&bytes`) can be a `&dyn ByteSource`.
impl<T: ByteSource + ?Sized> ByteSource for &T {
    fn size(&self) -> u64 {
        (**self).size()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        (**self).read(offset, len)
    }
}

/// The big-endian u32 at `offset`, if four bytes are there.
#[must_use]
pub fn be32(bytes: &[u8], offset: usize) -> Option<u32> {
    let four = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

/// The little-endian u32 at `offset`, if four bytes are there.
#[must_use]
pub fn le32(bytes: &[u8], offset: usize) -> Option<u32> {
    let four = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// The little-endian u16 at `offset`, if two bytes are there.
#[must_use]
pub fn le16(bytes: &[u8], offset: usize) -> Option<u16> {
    let two = bytes.get(offset..offset.checked_add(2)?)?;
    Some(u16::from_le_bytes(two.try_into().ok()?))
}

/// The big-endian u16 at `offset`, if two bytes are there.
#[must_use]
pub fn be16(bytes: &[u8], offset: usize) -> Option<u16> {
    let two = bytes.get(offset..offset.checked_add(2)?)?;
    Some(u16::from_be_bytes(two.try_into().ok()?))
}

/// The big-endian u64 at `offset`, if eight bytes are there.
#[must_use]
pub fn be64(bytes: &[u8], offset: usize) -> Option<u64> {
    let eight = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_be_bytes(eight.try_into().ok()?))
}

/// Bits `[hi:lo]` of a dword, bit 0 the least significant, as register tables write them.
///
/// `hi` and `lo` are constants of a layout with `lo <= hi <= 31`.
#[must_use]
pub const fn bits(dword: u32, hi: u32, lo: u32) -> u32 {
    let width = hi - lo + 1;
    let mask = if width >= 32 {
        u32::MAX
    } else {
        (1 << width) - 1
    };
    (dword >> lo) & mask
}

/// `dword` with bits `[hi:lo]` replaced by the low bits of `value`.
#[must_use]
pub const fn with_bits(dword: u32, hi: u32, lo: u32, value: u32) -> u32 {
    let width = hi - lo + 1;
    let mask = if width >= 32 {
        u32::MAX
    } else {
        (1 << width) - 1
    };
    (dword & !(mask << lo)) | ((value & mask) << lo)
}

/// Text of a fixed-size field: up to the first NUL, unprintable bytes replaced by `?`.
#[must_use]
pub fn text(field: &[u8]) -> String {
    field
        .iter()
        .take_while(|&&b| b != 0)
        .map(|&b| {
            if (0x20..0x7f).contains(&b) {
                char::from(b)
            } else {
                '?'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_outside_the_data_is_an_error_that_names_it() {
        let data = [0u8; 8];
        let error = data.read(6, 4).unwrap_err().to_string();
        assert_eq!(error, "at 0x6: 4 bytes wanted, but the data ends at 0x8");
        assert!(data.read(u64::MAX, 4).is_err());
    }

    #[test]
    fn a_slice_is_a_source_behind_a_trait_object() {
        let data: &[u8] = &[1, 2, 3, 4];
        let source: &dyn ByteSource = &data;
        assert_eq!(source.dword(0).unwrap(), 0x0102_0304);
        assert_eq!(data.to_vec().size(), 4);
    }

    #[test]
    fn bit_fields_follow_the_tables() {
        assert_eq!(bits(0x1234_5678, 31, 16), 0x1234);
        assert_eq!(bits(0xffff_ffff, 31, 0), 0xffff_ffff);
        assert_eq!(with_bits(0, 15, 8, 0x1ab), 0xab00);
    }

    #[test]
    fn text_stops_at_nul_and_hides_control_characters() {
        assert_eq!(text(b"MT_1\0junk"), "MT_1");
        assert_eq!(text(b"a\x1b[31m"), "a?[31m");
    }
}
