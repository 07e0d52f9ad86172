//! The sixteen hardware pointers behind the marker of FS4 and FS5 images (images-fs4 2 and 12.1).

use super::ImageError;
use super::crc::{hw_pointer_crc, image_crc};
use super::layout::Extent;
use super::toc::low_half;
use super::verify::{CheckResult, Walk};
use crate::bytes::{be32, bits};

/// Offset of the first one.
const FIRST: u64 = 0x18;

/// How many there are.
const COUNT: usize = 16;

/// The end of the last one.
pub(super) const END: u64 = 0x98;

/// Which pointer. The same index means the same in both formats where a reader uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pointer {
    Boot2 = 1,
    Itoc = 2,
    Tools = 3,
    /// FS5: boot component header of the main processor.
    BootComponent = 6,
    ImageInfo = 10,
    PublicKey = 12,
    /// A number, not an address.
    SecurityVersion = 13,
    Hashes = 15,
}

/// The pointers of one image, relative to its start.
pub(super) struct HwPointers([u32; COUNT]);

impl HwPointers {
    /// Reads and checks them. Each has a CRC of one of two kinds; a pointer of all ones counts as
    /// 0 (images-fs4 2).
    pub(super) fn read(walk: &Walk<'_>) -> Result<Self, ImageError> {
        let bytes = walk
            .source
            .read(walk.start.saturating_add(FIRST), END - FIRST)
            .map_err(|source| ImageError::read("hardware pointers", source))?;
        let mut pointers = [0; COUNT];
        for (index, pointer) in pointers.iter_mut().enumerate() {
            let value = be32(&bytes, index * 8).unwrap_or(0);
            let check = be32(&bytes, index * 8 + 4).unwrap_or(0);
            if value == u32::MAX {
                continue;
            }
            let stored = low_half(check);
            let upper = low_half(bits(check, 31, 16));
            let calculated = hw_pointer_crc(value, upper);
            if stored != calculated && stored != image_crc(&value.to_be_bytes()) {
                return Err(ImageError::Crc {
                    what: format!("hardware pointer {index}").into(),
                    address: walk.start + FIRST + 8 * index as u64,
                    stored,
                    calculated,
                });
            }
            *pointer = value;
        }
        Ok(Self(pointers))
    }

    /// Notes in the walk that all of them are right.
    pub(super) fn record(&self, walk: &mut Walk<'_>) {
        for index in 0..COUNT as u64 {
            let at = walk.start + FIRST + 8 * index;
            walk.record("HW_POINTERS", Extent::new(at, 8), CheckResult::Ok);
        }
    }

    /// The value of a pointer.
    pub(super) const fn value(&self, pointer: Pointer) -> u32 {
        self.0[pointer as usize]
    }

    /// The address a pointer holds; 0 where it is not set.
    pub(super) fn address(&self, pointer: Pointer) -> u64 {
        u64::from(self.value(pointer))
    }

    /// The address a pointer holds, if it is set.
    pub(super) fn set(&self, pointer: Pointer) -> Option<u64> {
        Some(self.address(pointer)).filter(|&address| address != 0)
    }
}
