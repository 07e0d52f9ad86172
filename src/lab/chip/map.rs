//! A file mapped into memory as shared dwords: what makes a chip one piece of hardware for every
//! process that opens the lab, and what outlives a process killed in the middle of something.
//!
//! The dwords are atomic, so concurrent processes never make a data race of them; what must look
//! like one step is guarded by the lock word (`lock`).

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;

use memmap2::{MmapOptions, MmapRaw};

/// Why a state file of the lab could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is there with another size: not the state of this chip.
    #[error("{} has {found} bytes where {expected} are expected: it belongs to another lab", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Bytes found.
        found: u64,
        /// Bytes expected.
        expected: u64,
    },
}

/// A file as shared dwords.
#[derive(Debug)]
pub struct Map {
    map: MmapRaw,
}

impl Map {
    /// Maps `path`, `bytes` long (a multiple of 4); a new file is made as a hole that reads zero.
    ///
    /// The file must not be cut while it is mapped: a lab is removed only when nobody uses it.
    ///
    /// # Errors
    /// [`MapError`] when the file cannot be opened or has another size.
    pub fn open(path: &Path, bytes: u64) -> Result<Self, MapError> {
        let fail = |action| {
            move |source| MapError::Io {
                action,
                path: path.to_owned(),
                source,
            }
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(fail("open"))?;
        let found = file.metadata().map_err(fail("read the size of"))?.len();
        if found == 0 {
            file.set_len(bytes).map_err(fail("set the size of"))?;
        } else if found != bytes {
            return Err(MapError::Size {
                path: path.to_owned(),
                found,
                expected: bytes,
            });
        }
        let map = MmapOptions::new().map_raw(&file).map_err(fail("map"))?;
        Ok(Self { map })
    }

    /// The dwords, in the byte order of this machine.
    #[expect(
        unsafe_code,
        reason = "one view of shared memory as atomics; all of the lab's state goes through it"
    )]
    #[must_use]
    pub fn cells(&self) -> &[AtomicU32] {
        let start = self.map.as_ptr().cast::<AtomicU32>();
        // SAFETY: the mapping is readable and writable, `len` bytes long and lives as long as
        // `self`; mmap returns whole pages, so it is aligned for dwords; every bit pattern is a
        // valid AtomicU32; this process touches it through these atomics only.
        unsafe { std::slice::from_raw_parts(start, self.map.len() / size_of::<AtomicU32>()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_maps_of_one_file_are_the_same_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cells");
        let one = Map::open(&path, 8192).unwrap();
        let two = Map::open(&path, 8192).unwrap();
        one.cells()[7].store(0x1234, Ordering::Relaxed);
        assert_eq!(two.cells()[7].load(Ordering::Relaxed), 0x1234);
        assert_eq!(two.cells().len(), 2048);
    }

    #[test]
    fn a_file_of_another_size_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cells");
        Map::open(&path, 4096).unwrap();
        let error = Map::open(&path, 8192).unwrap_err().to_string();
        assert!(error.contains("4096") && error.contains("8192"), "{error}");
    }
}
