//! A flash of which only what reads twice the same is believed.
//!
//! What a burn plans is made of what it read: the image to keep, the card's addresses, device data
//! without a checksum that is moved. A wrong bit in any of it must not be written back, and a flash
//! that reads as noise must not be taken for an empty one.

use std::borrow::Cow;
use std::cell::Cell;

use crate::access::flash::Protection;
use crate::access::gateway::Part;
use crate::access::{EraseUnit, FlashAccess, FlashError};
use crate::bytes::{ByteSource, ReadError};

/// How often a range is read until two readings in a row are equal.
const READS: usize = 4;

/// The flash reads differently each time.
#[derive(Debug, thiserror::Error)]
#[error("the flash reads differently each time")]
pub(super) struct Unsteady;

/// A flash, read twice.
pub(super) struct Steady<'a> {
    flash: &'a dyn FlashAccess,
    /// Where two readings differed, the last time they did.
    wavered: Cell<Option<u64>>,
}

impl<'a> Steady<'a> {
    pub(super) const fn new(flash: &'a dyn FlashAccess) -> Self {
        Self {
            flash,
            wavered: Cell::new(None),
        }
    }

    /// What is to be told of readings that differed and then agreed.
    pub(super) fn note(&self) -> Option<String> {
        let at = self.wavered.get()?;
        Some(format!(
            "the flash read differently at {at:#x} and then twice the same; watch this card"
        ))
    }
}

impl ByteSource for Steady<'_> {
    fn size(&self) -> u64 {
        self.flash.size()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        let mut last = self.flash.read(offset, len)?;
        let mut at = offset;
        for _ in 1..READS {
            let again = self.flash.read(offset, len)?;
            let pairs = (offset..).zip(last.iter().zip(again.iter()));
            let Some(differs) = pairs
                .into_iter()
                .find_map(|(at, (a, b))| (a != b).then_some(at))
            else {
                return Ok(again);
            };
            at = differs;
            self.wavered.set(Some(at));
            last = again;
        }
        Err(ReadError::Failed {
            offset: at,
            reason: Box::new(Unsteady),
        })
    }
}

impl FlashAccess for Steady<'_> {
    fn part(&self) -> &Part {
        self.flash.part()
    }

    fn page_size(&self) -> u64 {
        self.flash.page_size()
    }

    fn can_erase(&self, unit: EraseUnit) -> bool {
        self.flash.can_erase(unit)
    }

    fn erase(&self, address: u64, unit: EraseUnit) -> Result<(), FlashError> {
        self.flash.erase(address, unit)
    }

    fn program(&self, address: u64, bytes: &[u8]) -> Result<(), FlashError> {
        self.flash.program(address, bytes)
    }

    fn protection(&self) -> Result<Option<Protection>, FlashError> {
        self.flash.protection()
    }
}
