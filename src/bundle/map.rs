//! A file in memory without a copy: the only `unsafe` line of the bundles.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use super::error::Fault;
use super::limits;

/// A regular, non-empty file mapped read-only.
#[derive(Debug)]
pub struct Map(Mmap);

impl Map {
    /// Maps the file at `path`; symbolic links are followed.
    ///
    /// # Errors
    /// [`Fault::Io`] when it cannot be opened, [`Fault::NotAFile`], [`Fault::Empty`], and
    /// [`Fault::LimitExceeded`] above [`limits::FILE`].
    pub fn open(path: &Path) -> Result<Self, Fault> {
        // Asked before opening: opening a FIFO would wait for its writer.
        if !std::fs::metadata(path)
            .map_err(Fault::io("open"))?
            .is_file()
        {
            return Err(Fault::NotAFile);
        }
        Self::of_file(&File::open(path).map_err(Fault::io("open"))?)
    }

    /// Maps an open file.
    ///
    /// # Errors
    /// As [`Map::open`].
    pub fn of_file(file: &File) -> Result<Self, Fault> {
        let metadata = file.metadata().map_err(Fault::io("read"))?;
        if !metadata.is_file() {
            return Err(Fault::NotAFile);
        }
        let size = metadata.len();
        if size == 0 {
            return Err(Fault::Empty);
        }
        limits::FILE.check(size)?;
        #[expect(
            unsafe_code,
            reason = "a map is only sound while nobody changes the file: it is read-only and \
                      private, every length is taken from the mapped slice and checked again on \
                      each use, and bytes that matter (an image to burn) are copied out before \
                      they are verified. Cutting the file short meanwhile ends the process by a \
                      signal, which a burn survives by design"
        )]
        let map = unsafe { Mmap::map(file) }.map_err(Fault::io("map"))?;
        Ok(Self(map))
    }

    /// The bytes of the file.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}
