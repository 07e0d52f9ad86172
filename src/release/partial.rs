//! A file on its way: hidden beside its final name, held by one process at a time.
//!
//! ```text
//! FILE              the verified file, never half of it
//! FILE.sha256       its digest
//! .FILE.part        what has arrived so far; whoever downloads holds its flock
//! .FILE.part.json   which contents these bytes are from, so that another run can go on
//! ```
//!
//! The lock is on the part itself, so nothing is left over when a file is done. A process that
//! waited for the lock may find that the part it locked has been renamed meanwhile; it looks
//! again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::digest::{sync_folder, write_whole};

/// How often a process that waits looks again.
const POLL: Duration = Duration::from_millis(50);

/// Which contents a part is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Asked for.
    pub url: String,
    /// `ETag` or `Last-Modified`.
    pub validator: Option<String>,
    /// Size of the whole file in bytes.
    pub total: Option<u64>,
}

/// The part, locked.
#[derive(Debug)]
pub struct Part {
    file: File,
    path: PathBuf,
    target: PathBuf,
    length: u64,
}

/// Why there is no part to work on.
#[derive(Debug)]
pub enum Refusal {
    /// Another process has held it all the time.
    Busy,
    /// The file system refused.
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Part {
    /// The part of `target`, once no other process holds it; `waiting` is called when one does.
    ///
    /// # Errors
    /// [`Refusal::Busy`] after `patience`.
    pub fn take(
        target: &Path,
        patience: Duration,
        mut waiting: impl FnMut(),
    ) -> Result<Self, Refusal> {
        let path = hidden(target, ".part");
        let refuse = |action, source| Refusal::Io {
            action,
            path: path.clone(),
            source,
        };
        let since = Instant::now();
        let mut told = false;
        loop {
            let file = open(&path).map_err(|error| refuse("create", error))?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => {
                    let length = file
                        .metadata()
                        .map_err(|error| refuse("look at", error))?
                        .len();
                    let target = target.to_owned();
                    return Ok(Self {
                        file,
                        path,
                        target,
                        length,
                    });
                }
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) if since.elapsed() < patience => {
                    if !std::mem::replace(&mut told, true) {
                        waiting();
                    }
                    thread::sleep(POLL);
                }
                Err(TryLockError::WouldBlock) => return Err(Refusal::Busy),
                Err(TryLockError::Error(error)) => return Err(refuse("lock", error)),
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that are there.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.length
    }

    /// Nothing is there yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Which contents the bytes are from, as an earlier run noted it.
    #[must_use]
    pub fn origin(&self) -> Option<Origin> {
        let text = fs::read(self.origin_path()).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Notes it for a later run.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_origin(&self, origin: &Origin) -> io::Result<()> {
        write_whole(&self.origin_path(), &serde_json::to_vec(origin)?)
    }

    fn origin_path(&self) -> PathBuf {
        hidden(&self.target, ".part.json")
    }

    /// Throws away what is there.
    ///
    /// # Errors
    /// What the system says.
    pub fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.length = 0;
        Ok(())
    }

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// What the system says.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Forces it to the disk.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives it its final name.
    ///
    /// # Errors
    /// What the system says.
    pub fn publish(self) -> io::Result<()> {
        fs::rename(&self.path, &self.target)?;
        self.forget_origin();
        sync_folder(self.target.parent().unwrap_or_else(|| Path::new(".")))
    }

    /// Removes it: what arrived is of no use. The error that led here is the one to tell, so a
    /// part that cannot be removed is left; the next run starts it anew.
    pub fn discard(self) {
        self.forget_origin();
        let _ = fs::remove_file(&self.path);
    }

    fn forget_origin(&self) {
        // Without its part it means nothing, and is written anew with the next one.
        let _ = fs::remove_file(self.origin_path());
    }
}

/// `.NAME.part` for `NAME`.
fn hidden(target: &Path, suffix: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}{suffix}"))
}

/// Links are not followed: the folder may be one where others can make them.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o644)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
}

/// Whether `path` still leads to `file`.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(there)) => open.dev() == there.dev() && open.ino() == there.ino(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_PATIENCE: Duration = Duration::ZERO;

    #[test]
    fn a_part_has_one_owner_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x.mfa");
        let mut part = Part::take(&target, NO_PATIENCE, || ()).unwrap();
        let refused = Part::take(&target, NO_PATIENCE, || ());
        assert!(matches!(refused, Err(Refusal::Busy)));
        part.append(b"abc").unwrap();
        let origin = Origin {
            url: "https://x.example/x.mfa".to_owned(),
            validator: None,
            total: Some(3),
        };
        part.set_origin(&origin).unwrap();
        assert_eq!(part.origin(), Some(origin));
        part.publish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"abc");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn one_who_waited_never_writes_into_the_finished_file() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x.mfa");
        let mut first = Part::take(&target, NO_PATIENCE, || ()).unwrap();
        let (told, heard) = std::sync::mpsc::channel();
        let second = {
            let target = target.clone();
            thread::spawn(move || {
                let mut part =
                    Part::take(&target, Duration::from_secs(10), || told.send(()).unwrap())
                        .unwrap();
                assert!(part.is_empty());
                part.append(b"second").unwrap();
                part.discard();
            })
        };
        heard.recv().unwrap();
        first.append(b"first").unwrap();
        first.publish().unwrap();
        second.join().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"first");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
