//! A new lab in the place of an old one. The old one is there until the new one is whole, and stays
//! when the new one cannot be made or somebody works on the old one's cards.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::host::HostSpec;
use super::scratch::Scratch;
use super::{LAB_FILE, LOCKS, Lab, LabError, factory};

impl Lab {
    /// Makes a lab of `host` in `dir` and throws away the lab that is there, whatever its state;
    /// where there is none, as [`Lab::create`].
    ///
    /// # Errors
    /// [`LabError::InUse`]: a card of the old lab is locked; others as [`Lab::create`]. The old
    /// lab is as it was then.
    pub fn replace(dir: &Path, host: &HostSpec) -> Result<Self, LabError> {
        if !dir.join(LAB_FILE).is_file() {
            return Self::create(dir, host);
        }
        let _held = hold(dir)?;
        let scratch = Scratch::beside(dir)?;
        factory::fill(&scratch.path, host)?;
        scratch.exchange()?;
        Self::open(dir)
    }
}

/// Takes the lab's own lock, which a reset holds, and those of its cards, which an update holds.
fn hold(dir: &Path) -> Result<Vec<File>, LabError> {
    let mut paths = vec![dir.join(LAB_FILE)];
    paths.extend(card_locks(&dir.join(LOCKS))?);
    paths.iter().map(|path| hold_file(dir, path)).collect()
}

fn card_locks(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let failed = |source| LabError::File {
        action: "read",
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        // A lab that somebody has damaged.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

fn hold_file(dir: &Path, path: &Path) -> Result<File, LabError> {
    let failed = |source| LabError::File {
        action: "lock",
        path: path.to_owned(),
        source,
    };
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = OpenOptions::new()
        .read(true)
        // The bits of open(2) are those of a C int.
        .custom_flags(flags.cast_signed())
        .open(path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LabError::InUse {
            dir: dir.to_owned(),
            lock: path.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}
