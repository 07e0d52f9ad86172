//! The flash as a boot ROM looks at it: one image at a time, the markers of the others hidden.

use std::borrow::Cow;

use crate::bytes::{ByteSource, ReadError};
use crate::image::marker::{MARKER_A, MARKER_B, START_POSITIONS};

use super::flash::Flash;

/// Bytes of a marker.
const MARKER_LEN: u32 = 16;

/// The flash with only the marker at one start position showing, and with some bytes replaced.
pub struct OneImage<'a> {
    flash: &'a Flash,
    start: u64,
    /// Bytes that stand from `start` on in place of the flash's.
    candidate: &'a [u8],
    /// Other places a marker stands at.
    hidden: Vec<u64>,
}

impl<'a> OneImage<'a> {
    /// The flash with the image at `start`.
    pub fn new(flash: &'a Flash, start: u64) -> Self {
        Self::with_candidate(flash, start, &[])
    }

    /// The flash as it would be with `candidate` written at `start`.
    pub fn with_candidate(flash: &'a Flash, start: u64, candidate: &'a [u8]) -> Self {
        let end = start.saturating_add(candidate.len() as u64);
        let hidden = START_POSITIONS
            .into_iter()
            .filter(|other| !(start..=end).contains(other))
            .filter(|&other| {
                let marker = u32::try_from(other).map(|at| flash.read(at, MARKER_LEN));
                marker.is_ok_and(|bytes| bytes == MARKER_A || bytes == MARKER_B)
            })
            .collect();
        Self {
            flash,
            start,
            candidate,
            hidden,
        }
    }
}

/// Copies the part of `from`, which lies at `from_start`, that falls into `to`, which lies at
/// `to_start`.
fn lay_over(to: &mut [u8], to_start: u64, from: &[u8], from_start: u64) {
    let begin = to_start.max(from_start);
    let to_at = usize::try_from(begin - to_start).unwrap_or(usize::MAX);
    let from_at = usize::try_from(begin - from_start).unwrap_or(usize::MAX);
    let (Some(to), Some(from)) = (to.get_mut(to_at..), from.get(from_at..)) else {
        return;
    };
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

impl ByteSource for OneImage<'_> {
    fn size(&self) -> u64 {
        self.flash.size().into()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        let size = self.size();
        let inside = offset.checked_add(len).is_some_and(|end| end <= size);
        let (Ok(at), Ok(count), true) = (u32::try_from(offset), u32::try_from(len), inside) else {
            return Err(ReadError::OutOfRange {
                offset,
                wanted: len,
                size,
            });
        };
        let mut bytes = self.flash.read(at, count);
        lay_over(&mut bytes, offset, self.candidate, self.start);
        for &other in &self.hidden {
            lay_over(&mut bytes, offset, &[0xff; MARKER_LEN as usize], other);
        }
        Ok(Cow::Owned(bytes))
    }
}
