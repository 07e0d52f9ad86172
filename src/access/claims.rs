//! What a process holds on a card, written down where the next process finds it.
//!
//! The semaphores of a chip name their owner by a number that does not tell whether the owner
//! still lives (device-access 2.2, burn 11.1). So every process that opens a card keeps a small
//! file: locked (flock) as long as it lives, and in it the ticket and the token it takes
//! semaphores with, written before they are used. A semaphore held by a number that stands in
//! the file of a dead process, one whose lock is gone, is abandoned and may be freed; any other
//! is left alone.
//!
//! File `FUNCTION.PID-N.claims`: two little-endian dwords, the capability ticket and the token.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::error::AccessError;
use super::lock_folder;

/// Which number of a claims file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Ticket of the capability's semaphore.
    Ticket = 0,
    /// Token of the ICMD and flash semaphores.
    Token = 4,
}

/// Bytes of a claims file.
const SIZE: usize = 8;

const SUFFIX: &str = ".claims";

/// This process's claims on one function.
#[derive(Debug)]
pub struct Claims {
    dir: PathBuf,
    function: String,
    path: PathBuf,
    file: File,
}

/// The claims of a dead process. While it lives nobody else acts on them.
#[derive(Debug)]
pub struct Abandoned {
    path: PathBuf,
    _locked: File,
}

impl Abandoned {
    /// Forgets the claims: everything the dead process held was freed.
    fn remove(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            log::warn!("cannot remove {}: {error}", self.path.display());
        }
    }
}

/// The living process, if any, that wrote down `number` for this function.
pub(super) fn living(dir: &Path, function: &str, slot: Slot, number: u32) -> Option<u32> {
    let start = format!("{function}.");
    fs::read_dir(dir).ok()?.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let (pid, _) = name
            .strip_prefix(&start)?
            .strip_suffix(SUFFIX)?
            .split_once('-')?;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(entry.path())
            .ok()?;
        let lives = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, slot as u64).ok()?;
        (lives && u32::from_le_bytes(bytes) == number).then(|| pid.parse().ok())?
    })
}

impl Claims {
    /// The folder of lock files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts the claims of this process on `function` in the folder of lock files.
    ///
    /// # Errors
    /// [`AccessError::LockFile`].
    pub fn open(dir: &Path, function: &str) -> Result<Self, AccessError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| AccessError::LockFile { path, source }
        };
        lock_folder::prepare(dir)?;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!(
                "{function}.{}-{number}{SUFFIX}",
                std::process::id()
            ));
            let created = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            let file = match created {
                Ok(file) => file,
                // left by a dead process that had our id
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(failed(&path)(error)),
            };
            file.lock().map_err(failed(&path))?;
            // between creating and locking it somebody may have taken it for abandoned
            if file.metadata().map_err(failed(&path))?.nlink() > 0 {
                return Ok(Self {
                    dir: dir.to_owned(),
                    function: function.to_owned(),
                    path,
                    file,
                });
            }
        }
    }

    /// Writes down a number that this process is about to take a semaphore with.
    ///
    /// # Errors
    /// [`AccessError::LockFile`].
    pub fn record(&self, slot: Slot, number: u32) -> Result<(), AccessError> {
        self.file
            .write_all_at(&number.to_le_bytes(), slot as u64)
            .map_err(|source| AccessError::LockFile {
                path: self.path.clone(),
                source,
            })
    }

    /// The dead process that took a semaphore of this function with `number`, if there is one.
    ///
    /// # Errors
    /// [`AccessError::LockFile`] when the folder cannot be read.
    pub fn abandoned(&self, slot: Slot, number: u32) -> Result<Option<Abandoned>, AccessError> {
        Ok(self
            .dead()?
            .into_iter()
            .find(|(_, numbers)| number != 0 && numbers[usize::from(slot == Slot::Token)] == number)
            .map(|(dead, _)| dead))
    }

    /// Removes the claims of dead processes none of whose tokens is `held` any more. To be called
    /// with the capability semaphore held, when no ticket of a dead process can be in use.
    ///
    /// # Errors
    /// [`AccessError::LockFile`] when the folder cannot be read.
    pub fn forget_dead(&self, held: &[u32]) -> Result<(), AccessError> {
        for (dead, [_, token]) in self.dead()? {
            if token == 0 || !held.contains(&token) {
                dead.remove();
            }
        }
        Ok(())
    }

    /// There are claims of other processes, dead or alive.
    ///
    /// # Errors
    /// [`AccessError::LockFile`] when the folder cannot be read.
    pub fn has_others(&self) -> Result<bool, AccessError> {
        Ok(!self.others()?.is_empty())
    }

    /// Claims files of other processes on this function.
    fn others(&self) -> Result<Vec<PathBuf>, AccessError> {
        let failed = |source| AccessError::LockFile {
            path: self.dir.clone(),
            source,
        };
        let start = format!("{}.", self.function);
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(&start) && name.ends_with(SUFFIX) && path != self.path {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    /// Claims of processes that are no more, each locked, with ticket and token.
    fn dead(&self) -> Result<Vec<(Abandoned, [u32; 2])>, AccessError> {
        Ok(self
            .others()?
            .into_iter()
            .filter_map(|path| Self::read_dead(path).ok().flatten())
            .collect())
    }

    /// `None` while the owner lives. A file that vanishes meanwhile is its owner's business.
    fn read_dead(path: PathBuf) -> io::Result<Option<(Abandoned, [u32; 2])>> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)?;
        if file.try_lock().is_err() || file.metadata()?.nlink() == 0 {
            return Ok(None);
        }
        let mut bytes = [0; SIZE];
        // shorter: it died before it wrote anything
        let count = file.read_at(&mut bytes, 0)?;
        bytes[count..].fill(0);
        let dword = |at| crate::bytes::le32(&bytes, at).unwrap_or(0);
        let numbers = [dword(0), dword(4)];
        let abandoned = Abandoned {
            path,
            _locked: file,
        };
        Ok(Some((abandoned, numbers)))
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            log::debug!("cannot remove {}: {error}", self.path.display());
        }
    }
}
