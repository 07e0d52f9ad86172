//! A flash as it would read with some bytes replaced: how an image is judged before it is written,
//! and how one without its start pattern is read.

use std::borrow::Cow;

use crate::bytes::{ByteSource, ReadError};

/// `base` with `runs` laid over it.
pub(super) struct Overlay<'a> {
    base: &'a dyn ByteSource,
    /// Address and bytes.
    runs: Vec<(u64, &'a [u8])>,
}

impl<'a> Overlay<'a> {
    pub(super) const fn new(base: &'a dyn ByteSource, runs: Vec<(u64, &'a [u8])>) -> Self {
        Self { base, runs }
    }

    /// The one run that touches the range, if it holds all of it: then nothing is read below.
    pub(super) fn run_at(&self, offset: u64, len: u64) -> Option<&'a [u8]> {
        let end = offset.checked_add(len).filter(|&end| end <= self.size())?;
        let mut touching = self
            .runs
            .iter()
            .filter(|&&(at, run)| at < end && offset < at.saturating_add(run.len() as u64));
        let (Some(&(at, run)), None) = (touching.next(), touching.next()) else {
            return None;
        };
        let from = usize::try_from(offset.checked_sub(at)?).ok()?;
        run.get(from..from.checked_add(usize::try_from(len).ok()?)?)
    }
}

/// Copies the part of `run`, which lies at `at`, that falls into `bytes`, which lie at `offset`.
fn lay_over(bytes: &mut [u8], offset: u64, (at, run): (u64, &[u8])) {
    let begin = offset.max(at);
    let into = usize::try_from(begin - offset).ok();
    let from = usize::try_from(begin - at).ok();
    let (Some(to), Some(from)) = (
        into.and_then(|into| bytes.get_mut(into..)),
        from.and_then(|from| run.get(from..)),
    ) else {
        return;
    };
    for (byte, new) in to.iter_mut().zip(from) {
        *byte = *new;
    }
}

impl ByteSource for Overlay<'_> {
    fn size(&self) -> u64 {
        self.base.size()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        if let Some(bytes) = self.run_at(offset, len) {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut bytes = self.base.read(offset, len)?.into_owned();
        for &run in &self.runs {
            lay_over(&mut bytes, offset, run);
        }
        Ok(Cow::Owned(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_over_the_flash_is_read_in_its_place() {
        let flash = vec![0u8; 16];
        let overlay = Overlay::new(&flash, vec![(2, &[1, 2, 3]), (4, &[9]), (15, &[7, 7])]);
        assert_eq!(overlay.size(), 16);
        assert_eq!(*overlay.read(0, 6).unwrap(), [0, 0, 1, 2, 9, 0]);
        assert_eq!(*overlay.read(3, 2).unwrap(), [2, 9]);
        assert_eq!(*overlay.read(14, 2).unwrap(), [0, 7]);
        assert!(overlay.read(15, 2).is_err());
    }
}
