//! What was read of a flash, each byte once; the rest is as erased.

use std::borrow::Cow;
use std::cell::RefCell;

use crate::bytes::{ByteSource, ReadError};
use crate::flash::Cancel;
use crate::flash::direct::Fault;
use crate::image::Extent;
use crate::progress::{Event, Phase, Sink};

use super::{PIECE, check_cancel, pieces};

/// Bytes that are read together at least.
const GRAIN: u64 = 0x100;

/// A flash, read through a copy that grows.
pub(super) struct Copied<'a> {
    flash: &'a dyn ByteSource,
    cancel: &'a Cancel,
    copy: RefCell<Copy>,
}

struct Copy {
    bytes: Vec<u8>,
    /// Which grains of it were read.
    known: Vec<bool>,
}

impl<'a> Copied<'a> {
    /// Nothing was read yet.
    ///
    /// # Errors
    /// [`ReadError::Failed`] for a flash that is larger than memory.
    pub(super) fn new(flash: &'a dyn ByteSource, cancel: &'a Cancel) -> Result<Self, ReadError> {
        let size = usize::try_from(flash.size()).map_err(|_| failed(0, "too large"))?;
        let grains = size.div_ceil(GRAIN as usize);
        Ok(Self {
            flash,
            cancel,
            copy: RefCell::new(Copy {
                bytes: vec![0xff; size],
                known: vec![false; grains],
            }),
        })
    }

    /// Reads these parts.
    pub(super) fn read_parts(&self, parts: &[Extent], sink: &mut Sink<'_>) -> Result<(), Fault> {
        let total = parts.iter().map(|part| part.size).sum();
        let mut done = 0;
        for piece in pieces(parts) {
            check_cancel(self.cancel)?;
            self.fetch(piece)?;
            done += piece.size;
            sink(Event::Progress {
                phase: Phase::Read,
                done,
                total,
            });
        }
        sink(Event::PhaseDone { phase: Phase::Read });
        Ok(())
    }

    /// Everything, with ones where nothing was read.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.copy.into_inner().bytes
    }

    /// Reads what is not known yet of a range inside the flash.
    fn fetch(&self, range: Extent) -> Result<(), ReadError> {
        let mut copy = self.copy.borrow_mut();
        let mut at = range.address - range.address % GRAIN;
        while at < range.end() {
            let unknown = |at: u64| copy.known.get(grain(at)).is_some_and(|known| !known);
            let mut end = at;
            while end < range.end() && end - at < PIECE && unknown(end) {
                end += GRAIN;
            }
            if end == at {
                at += GRAIN;
                continue;
            }
            let end = end.min(self.flash.size());
            if self.cancel.requested() {
                return Err(failed(at, "interrupted"));
            }
            let read = self.flash.read(at, end - at)?;
            copy.take(at, &read);
            at = end;
        }
        Ok(())
    }
}

impl Copy {
    fn take(&mut self, at: u64, read: &[u8]) {
        let place = usize::try_from(at).unwrap_or(usize::MAX);
        let end = place.saturating_add(read.len());
        if let Some(bytes) = self.bytes.get_mut(place..end) {
            bytes.copy_from_slice(read);
            let grains = self.known.iter_mut().skip(grain(at));
            grains
                .take(read.len().div_ceil(GRAIN as usize))
                .for_each(|known| *known = true);
        }
    }
}

impl ByteSource for Copied<'_> {
    fn size(&self) -> u64 {
        self.flash.size()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        let inside = offset
            .checked_add(len)
            .is_some_and(|end| end <= self.size());
        if inside {
            self.fetch(Extent::new(offset, len))?;
        }
        let copy = self.copy.borrow();
        // a range that is not inside is refused by the copy as it is by the flash
        let bytes = copy.bytes.read(offset, len)?;
        Ok(Cow::Owned(bytes.into_owned()))
    }
}

fn grain(at: u64) -> usize {
    usize::try_from(at / GRAIN).unwrap_or(usize::MAX)
}

fn failed(offset: u64, reason: &str) -> ReadError {
    ReadError::Failed {
        offset,
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Counts the bytes that are read.
    struct Counting(Vec<u8>, Cell<u64>);

    impl ByteSource for Counting {
        fn size(&self) -> u64 {
            self.0.size()
        }

        fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
            self.1.set(self.1.get() + len);
            self.0.read(offset, len)
        }
    }

    #[test]
    fn every_byte_is_read_once_and_the_rest_is_as_erased() {
        let contents: Vec<u8> = (0..0x1080u32).map(|at| (at / 7) as u8).collect();
        let flash = Counting(contents.clone(), Cell::new(0));
        let cancel = Cancel::new();
        let copied = Copied::new(&flash, &cancel).unwrap();
        assert_eq!(*copied.read(0x1f0, 0x20).unwrap(), contents[0x1f0..0x210]);
        assert_eq!(flash.1.get(), 2 * GRAIN);
        assert_eq!(*copied.read(0, 0x400).unwrap(), contents[..0x400]);
        assert_eq!(flash.1.get(), 4 * GRAIN);
        let parts = [Extent::new(0x300, 0x200), Extent::new(0x1010, 0x70)];
        copied.read_parts(&parts, &mut |_| ()).unwrap();
        assert_eq!(
            flash.1.get(),
            5 * GRAIN + 0x80,
            "up to the end of the flash"
        );
        assert!(copied.read(0x1000, 0x81).is_err());
        let bytes = copied.into_bytes();
        assert_eq!(bytes[..0x500], contents[..0x500]);
        assert_eq!(bytes[0x1000..], contents[0x1000..]);
        assert!(bytes[0x500..0x1000].iter().all(|&byte| byte == 0xff));
    }

    #[test]
    fn nothing_more_is_read_once_somebody_wants_to_stop() {
        let flash = Counting(vec![0; 0x1000], Cell::new(0));
        let cancel = Cancel::new();
        let copied = Copied::new(&flash, &cancel).unwrap();
        copied.read(0, 4).unwrap();
        cancel.request();
        copied.read(4, 4).unwrap();
        assert!(copied.read(0x800, 4).is_err());
        let parts = [Extent::new(0x800, 4)];
        let stopped = copied.read_parts(&parts, &mut |_| ());
        assert!(matches!(stopped, Err(Fault::Cancelled)));
        assert_eq!(flash.1.get(), GRAIN);
    }
}
