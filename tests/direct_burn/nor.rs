//! A NOR flash in memory that loses power in the middle of an operation, and the two rules a boot ROM may
//! follow.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::time::Duration;

use cxfw::access::flash::{FlashOperation, Protection, pages};
use cxfw::access::gateway::Part;
use cxfw::access::{EraseUnit, FlashAccess, FlashError};
use cxfw::bytes::{ByteSource, ReadError};
use cxfw::image::marker::{self, START_POSITIONS};
use cxfw::image::{self, ImageInfo};
use cxfw::model::{ImageFormat, by_hw_id};

/// What is left of the operation in which power is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Torn {
    /// It was not begun.
    Nothing,
    /// The first half of its bytes is as it should be.
    Half,
    /// Every bit did or did not change, by chance of this seed.
    Bits(u64),
    /// It was finished.
    Everything,
}

/// The flash.
pub struct Nor {
    bytes: RefCell<Vec<u8>>,
    part: Part,
    small_erase: bool,
    page: u64,
    done: Cell<usize>,
    cut: Cell<Option<(usize, Torn)>>,
    dead: Cell<bool>,
    pub protection: Option<Protection>,
    /// Reads that give one wrong bit, from the first on.
    pub wrong_reads: Cell<u32>,
    /// Changes have no effect.
    pub read_only: bool,
}

impl Nor {
    pub fn new(bytes: Vec<u8>) -> Self {
        let jedec = 0xef_4000 | bytes.len().ilog2();
        let part = Part::from_jedec(jedec, by_hw_id(0x212).unwrap()).unwrap();
        assert_eq!(part.size, bytes.len() as u64);
        Self {
            bytes: RefCell::new(bytes),
            part,
            small_erase: true,
            page: 256,
            done: Cell::new(0),
            cut: Cell::new(None),
            dead: Cell::new(false),
            protection: None,
            wrong_reads: Cell::new(0),
            read_only: false,
        }
    }

    /// A part that erases 64 KiB only.
    pub fn coarse(mut self) -> Self {
        self.small_erase = false;
        self
    }

    /// Power is lost in operation `number`, from 0.
    pub fn cut_at(&self, number: usize, torn: Torn) {
        self.cut.set(Some((number, torn)));
    }

    /// Operations so far.
    pub fn operations(&self) -> usize {
        self.done.get()
    }

    pub fn is_dead(&self) -> bool {
        self.dead.get()
    }

    pub fn contents(&self) -> Vec<u8> {
        self.bytes.borrow().clone()
    }

    /// One operation on a range that is to become `wanted`.
    fn change(&self, address: u64, wanted: &[u8], what: FlashOperation) -> Result<(), FlashError> {
        let number = self.done.get();
        self.done.set(number + 1);
        let torn = match self.cut.get() {
            _ if self.dead.get() => Torn::Nothing,
            Some((cut, torn)) if cut == number => {
                self.dead.set(true);
                torn
            }
            _ => Torn::Everything,
        };
        let at = usize::try_from(address).unwrap();
        let mut bytes = self.bytes.borrow_mut();
        let cells = &mut bytes[at..at + wanted.len()];
        let mut chance = torn.seed() ^ address;
        for (index, (cell, new)) in cells.iter_mut().zip(wanted).enumerate() {
            let mask = match torn {
                Torn::Nothing => 0,
                Torn::Everything => 0xff,
                Torn::Half if index < wanted.len() / 2 => 0xff,
                Torn::Half => 0,
                Torn::Bits(_) => next(&mut chance),
            };
            if !self.read_only {
                *cell = *cell & !mask | new & mask;
            }
        }
        if self.dead.get() {
            return Err(FlashError::Working {
                device: "nor".to_owned(),
                operation: what,
                address,
                waited: Duration::ZERO,
            });
        }
        Ok(())
    }
}

impl Torn {
    const fn seed(self) -> u64 {
        match self {
            Self::Bits(seed) => seed,
            _ => 0,
        }
    }
}

/// The next byte of a pseudo-random sequence (splitmix64).
fn next(state: &mut u64) -> u8 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).to_le_bytes()[0]
}

impl ByteSource for Nor {
    fn size(&self) -> u64 {
        self.bytes.borrow().len() as u64
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        if self.dead.get() {
            return Err(ReadError::Failed {
                offset,
                reason: "no power".into(),
            });
        }
        let mut bytes = self.bytes.borrow().read(offset, len)?.into_owned();
        let wrong = self.wrong_reads.get();
        if wrong > 0 && len > 0 {
            self.wrong_reads.set(wrong - 1);
            bytes[0] ^= 1;
        }
        Ok(Cow::Owned(bytes))
    }
}

impl FlashAccess for Nor {
    fn part(&self) -> &Part {
        &self.part
    }

    fn page_size(&self) -> u64 {
        self.page
    }

    fn can_erase(&self, unit: EraseUnit) -> bool {
        unit == EraseUnit::Sector || self.small_erase
    }

    fn erase(&self, address: u64, unit: EraseUnit) -> Result<(), FlashError> {
        assert!(self.can_erase(unit) && address.is_multiple_of(unit.size()));
        let size = usize::try_from(unit.size()).unwrap();
        self.change(address, &vec![0xff; size], FlashOperation::Erase)
    }

    fn program(&self, address: u64, bytes: &[u8]) -> Result<(), FlashError> {
        assert_eq!(pages(address, bytes, self.page).count(), 1, "one page");
        let at = usize::try_from(address).unwrap();
        let old = self.bytes.borrow()[at..at + bytes.len()].to_vec();
        let new: Vec<u8> = old.iter().zip(bytes).map(|(old, new)| old & new).collect();
        assert_eq!(new, bytes, "bits at {address:#x} that need an erase");
        self.change(address, &new, FlashOperation::Program)
    }

    fn protection(&self) -> Result<Option<Protection>, FlashError> {
        Ok(self.protection)
    }
}

/// The image a boot ROM takes that looks for the lowest one that checks out as a whole.
pub fn lowest_good(flash: &dyn ByteSource, format: ImageFormat) -> Option<ImageInfo> {
    START_POSITIONS
        .into_iter()
        .filter(|start| start + 16 <= flash.size())
        .find_map(|start| {
            let verification = image::verify_flash(flash, start);
            let info = verification.info.filter(|info| info.format == format)?;
            verification.failure.is_none().then_some(info)
        })
}

/// The image a boot ROM takes that stops at the first start pattern; it had better be good.
pub fn first_pattern(flash: &dyn ByteSource, format: ImageFormat) -> Option<ImageInfo> {
    let start = patterns(flash, format).next()?;
    let verification = image::verify_flash(flash, start);
    assert!(
        verification.failure.is_none(),
        "the image behind the first pattern, at {start:#x}: {:?}",
        verification.failure
    );
    verification.info
}

/// Where start patterns stand.
pub fn patterns(flash: &dyn ByteSource, format: ImageFormat) -> impl Iterator<Item = u64> {
    let pattern = marker::of(format);
    START_POSITIONS
        .into_iter()
        .filter(|start| start + 16 <= flash.size())
        .filter(move |&start| *flash.read(start, 16).unwrap() == *pattern)
}
