//! Changing the flash of a card, whichever way leads there.
//!
//! Two ways: the flash gateway, past the firmware ([`crate::access::gateway::WriteSession`]), and
//! the firmware's own flash registers ([`FirmwareFlash`]). A burn knows neither; it erases,
//! programs and reads through [`FlashAccess`]. Nothing here decides what may be written where.

mod error;
mod protection;
mod through_firmware;

pub use error::{FlashError, FlashOperation};
pub use protection::{ProtectedEnd, Protection};
pub use through_firmware::FirmwareFlash;

pub(super) use protection::StatusLayout;

use super::gateway::Part;
use crate::bytes::ByteSource;

/// What is erased at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EraseUnit {
    /// 4 KiB.
    SubSector,
    /// 64 KiB.
    Sector,
}

impl EraseUnit {
    /// Bytes; a unit starts at a multiple of them.
    #[must_use]
    pub const fn size(self) -> u64 {
        match self {
            Self::SubSector => 0x1000,
            Self::Sector => 0x1_0000,
        }
    }
}

/// The flash of a card, to be read ([`ByteSource`]) and changed. Addresses are bytes from its
/// start.
///
/// Programming only turns ones into zeroes, erasing turns a whole unit into ones. A call returns
/// when the part has finished; whether the contents are right is for the caller to read.
pub trait FlashAccess: ByteSource {
    /// The part.
    fn part(&self) -> &Part;

    /// Most bytes one program operation takes, a power of two. An operation never crosses a
    /// multiple of it.
    fn page_size(&self) -> u64;

    /// Units the part can erase at once.
    fn can_erase(&self, unit: EraseUnit) -> bool;

    /// Erases the unit that starts at `address`.
    ///
    /// # Errors
    /// [`FlashError`]; the unit may be erased in part.
    fn erase(&self, address: u64, unit: EraseUnit) -> Result<(), FlashError>;

    /// Programs `bytes`, page after page.
    ///
    /// # Errors
    /// [`FlashError`]; a part may be programmed.
    fn program(&self, address: u64, bytes: &[u8]) -> Result<(), FlashError>;

    /// The write protection that is on, if any.
    ///
    /// # Errors
    /// [`FlashError`].
    fn protection(&self) -> Result<Option<Protection>, FlashError>;
}

/// The pieces of `bytes` at `address` that lie in one page each, with their addresses.
pub fn pages(address: u64, bytes: &[u8], page_size: u64) -> impl Iterator<Item = (u64, &[u8])> {
    let mut at = address;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let room = usize::try_from(page_size - at % page_size).unwrap_or(usize::MAX);
        let (page, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
        let start = at;
        at += page.len() as u64;
        rest = later;
        (!page.is_empty()).then_some((start, page))
    })
}

/// Checks that a range lies in a flash of `size` bytes.
pub(super) fn check_range(
    device: &str,
    address: u64,
    len: u64,
    size: u64,
) -> Result<(), FlashError> {
    if address.checked_add(len).is_some_and(|end| end <= size) {
        return Ok(());
    }
    Err(FlashError::OutOfRange {
        device: device.to_owned(),
        address,
        len,
        size,
    })
}

#[cfg(test)]
mod tests {
    use super::pages;

    #[test]
    fn bytes_are_cut_at_page_ends() {
        let bytes = [0u8; 0x210];
        let cut: Vec<(u64, usize)> = pages(0xf0, &bytes, 0x100)
            .map(|(at, page)| (at, page.len()))
            .collect();
        assert_eq!(cut, [(0xf0, 0x10), (0x100, 0x100), (0x200, 0x100)]);
        assert_eq!(pages(7, &[], 0x100).count(), 0);
    }
}
