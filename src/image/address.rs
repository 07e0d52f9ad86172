//! From the addresses an image counts in to addresses of its flash or file (images 3).
//!
//! A flash for two images is cut into chunks of one slot size: one image has the even chunks, the
//! other the odd ones. An image counts its own bytes without gaps; everything of the image is
//! read through a [`Space`]. Device data (MFG_INFO, the DTOC …) is not: its addresses are physical.

use std::borrow::Cow;

use super::ImageError;
use crate::bytes::{ByteSource, ReadError};

/// Largest slot anybody writes: 2^25 is ConnectX-8's. A larger claim is a broken image.
const MAX_SLOT_LOG2: u8 = 31;

/// The physical address of byte `address` of an image that lies in chunks of 2^`log2` bytes: in the
/// even ones when it starts at 0, else in the odd ones. `log2` is at most [`MAX_SLOT_LOG2`].
pub(super) const fn chunked(address: u64, start: u64, log2: u8) -> u64 {
    let chunk = 1u64 << log2;
    let odd = if start == 0 { 0 } else { chunk };
    let even = (address >> log2).saturating_mul(2 * chunk);
    even.saturating_add(odd | (address & (chunk - 1)))
}

/// The inverse of [`chunked`]; `None` for an address in the other image's chunks.
pub(super) const fn unchunked(physical: u64, start: u64, log2: u8) -> Option<u64> {
    let chunk = 1u64 << log2;
    let odd = physical & chunk != 0;
    if odd != (start != 0) {
        return None;
    }
    Some((physical & (chunk - 1)) | ((physical >> log2 >> 1) << log2))
}

/// The address space of one image.
#[derive(Clone, Copy)]
pub(super) struct Space<'a> {
    source: &'a dyn ByteSource,
    start: u64,
    /// log2 of the chunk size; `None` where the image lies in one piece.
    chunk_log2: Option<u8>,
}

impl<'a> Space<'a> {
    /// An image in one piece from `start` on: a file, or an image whose slot size is not known yet.
    pub(super) const fn contiguous(source: &'a dyn ByteSource, start: u64) -> Self {
        Self {
            source,
            start,
            chunk_log2: None,
        }
    }

    /// An image in the even chunks (start 0) or the odd ones (start = slot size). A slot size of
    /// 0 means no chunks.
    pub(super) fn chunked(
        source: &'a dyn ByteSource,
        start: u64,
        slot_log2: u8,
    ) -> Result<Self, ImageError> {
        if slot_log2 == 0 {
            return Ok(Self::contiguous(source, start));
        }
        if slot_log2 > MAX_SLOT_LOG2 || (start != 0 && start != 1 << slot_log2) {
            return Err(ImageError::SlotSize { start, slot_log2 });
        }
        Ok(Self {
            source,
            start,
            chunk_log2: Some(slot_log2),
        })
    }

    /// The physical address of byte `address` of the image.
    pub(super) const fn physical(&self, address: u64) -> u64 {
        match self.chunk_log2 {
            None => self.start.saturating_add(address),
            Some(log2) => chunked(address, self.start, log2),
        }
    }

    /// Bytes up to the end of the chunk `address` is in.
    const fn left_in_chunk(&self, address: u64) -> u64 {
        match self.chunk_log2 {
            None => u64::MAX,
            Some(log2) => (1 << log2) - (address & ((1 << log2) - 1)),
        }
    }

    /// `len` bytes of the image from `address`, put together where they cross chunks.
    pub(super) fn read(&self, address: u64, len: u64) -> Result<Cow<'a, [u8]>, ReadError> {
        if len <= self.left_in_chunk(address) {
            return self.source.read(self.physical(address), len);
        }
        if !self.contains(address, len) {
            return Err(ReadError::OutOfRange {
                offset: self.physical(address),
                wanted: len,
                size: self.source.size(),
            });
        }
        let mut bytes = Vec::new();
        let mut at = address;
        let end = address.saturating_add(len);
        while at < end {
            let piece = self.left_in_chunk(at).min(end - at);
            bytes.extend_from_slice(&self.source.read(self.physical(at), piece)?);
            at += piece;
        }
        Ok(Cow::Owned(bytes))
    }

    /// Whether the range is inside the source.
    pub(super) fn contains(&self, address: u64, len: u64) -> bool {
        let Some(last) = address.checked_add(len.max(1)).map(|end| end - 1) else {
            return false;
        };
        self.physical(last) < self.source.size() || len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_two_images_interleave() {
        let flash: Vec<u8> = (0..=255).cycle().take(0x8_0000).collect();
        let even = Space::chunked(&flash, 0, 16).unwrap();
        let odd = Space::chunked(&flash, 0x1_0000, 16).unwrap();
        assert_eq!(even.physical(0xffff), 0xffff);
        assert_eq!(even.physical(0x1_0000), 0x2_0000);
        assert_eq!(odd.physical(0), 0x1_0000);
        assert_eq!(odd.physical(0x1_2345), 0x3_2345);
        assert_eq!(unchunked(0x3_2345, 0x1_0000, 16), Some(0x1_2345));
        assert_eq!(unchunked(0x2_2345, 0x1_0000, 16), None);
        assert_eq!(unchunked(0x2_2345, 0, 16), Some(0x1_2345));
    }

    #[test]
    fn a_read_across_a_chunk_boundary_is_split_there() {
        let mut flash = vec![0xee; 0x4_0000];
        flash[0xfffe..0x1_0000].copy_from_slice(&[1, 2]);
        flash[0x2_0000..0x2_0002].copy_from_slice(&[3, 4]);
        let even = Space::chunked(&flash, 0, 16).unwrap();
        assert_eq!(*even.read(0xfffe, 4).unwrap(), [1, 2, 3, 4]);
        assert!(even.read(0x1_fffe, 4).is_err());
    }

    #[test]
    fn a_huge_range_is_refused_before_anything_is_allocated() {
        let flash = vec![0; 0x4_0000];
        let space = Space::chunked(&flash, 0, 16).unwrap();
        assert!(space.read(8, u64::MAX - 4).is_err());
        assert!(space.read(u64::MAX - 2, 8).is_err());
        assert!(!space.contains(u64::MAX, 2));
    }

    #[test]
    fn a_start_that_is_no_slot_of_the_image_is_refused() {
        let flash = vec![0; 0x4_0000];
        assert!(Space::chunked(&flash, 0x2_0000, 16).is_err());
        assert!(Space::chunked(&flash, 0, 77).is_err());
    }
}
