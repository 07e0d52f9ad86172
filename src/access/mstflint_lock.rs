//! The lock mstflint takes around every access of the legacy gateway (device-access 2.8): flock
//! on a file named by PCI address and kind of access.
//!
//! The gateway has no lock of its own, and an address and its data are two config cycles. Without
//! a common lock a program that comes between them makes the other read, or write, the wrong
//! register. So it is taken around every pair, as mstflint does, and never longer: mstflint gives
//! up after some milliseconds.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// Ends of the files' names: access through a BAR, which falls back to config cycles, and through
/// config cycles. Always taken in this order.
const KINDS: [&str; 2] = ["mem", "config"];

/// How long a file is waited for. Whoever keeps it longer is not mstflint at work.
const WAIT: Duration = Duration::from_secs(2);
/// Between two attempts.
const PAUSE: Duration = Duration::from_micros(50);

/// The files of one function.
#[derive(Debug)]
pub struct MstflintLock {
    files: Vec<(PathBuf, File)>,
}

/// A file somebody kept all the time.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// How long it was waited for.
    pub waited: Duration,
}

/// The lock, held until dropped.
#[derive(Debug)]
pub struct Held<'a>(Vec<&'a File>);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for file in &self.0 {
            if let Err(error) = file.unlock() {
                log::warn!("cannot release mstflint's lock: {error}");
            }
        }
    }
}

impl MstflintLock {
    /// Opens the files of `function` in `dir`, and makes what is not there, as mstflint would.
    /// What cannot be opened is done without, as mstflint does.
    pub fn open(dir: &Path, function: &str) -> Self {
        if let Err(error) = prepare(dir) {
            log::debug!("no lock against mstflint: {}: {error}", dir.display());
        }
        let paths = KINDS.map(|kind| dir.join(format!("{function}_{kind}")));
        let files = paths.into_iter().filter_map(|path| match open(&path) {
            Ok(file) => Some((path, file)),
            Err(error) => {
                log::debug!("no lock against mstflint: {}: {error}", path.display());
                None
            }
        });
        Self {
            files: files.collect(),
        }
    }

    /// Takes the lock.
    pub fn take(&self) -> Result<Held<'_>, Kept> {
        let mut held = Held(Vec::new());
        for (path, file) in &self.files {
            wait(path, file)?;
            held.0.push(file);
        }
        Ok(held)
    }
}

fn wait(path: &Path, file: &File) -> Result<(), Kept> {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < WAIT => thread::sleep(PAUSE),
            Err(_) => {
                return Err(Kept {
                    path: path.to_owned(),
                    waited: start.elapsed(),
                });
            }
        }
    }
}

/// The folder is everybody's, as mstflint makes it.
fn prepare(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o1777).create(dir) {
        Ok(()) => fs::set_permissions(dir, fs::Permissions::from_mode(0o1777)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Everybody may put things into the folder: nothing but a plain file is opened, and nothing is
/// ever written to it.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let existing = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = match existing {
        Err(error) if error.kind() == io::ErrorKind::NotFound => OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(path)?,
        other => other?,
    };
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is no plain file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUNCTION: &str = "0000:01:00.0";

    #[test]
    fn one_holder_at_a_time_and_the_lock_comes_back_when_dropped() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("locks");
        let (ours, theirs) = (
            MstflintLock::open(&dir, FUNCTION),
            MstflintLock::open(&dir, FUNCTION),
        );
        let held = ours.take().unwrap();
        let other = File::open(dir.join("0000:01:00.0_mem")).unwrap();
        assert!(other.try_lock().is_err());
        drop(held);
        drop(theirs.take().unwrap());
        other.try_lock().unwrap();
        assert_eq!(ours.take().unwrap_err().path, dir.join("0000:01:00.0_mem"));
    }

    #[test]
    fn links_and_folders_in_the_place_of_the_files_are_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let victim = root.path().join("victim");
        fs::write(&victim, "kept").unwrap();
        let dir = root.path().join("locks");
        fs::create_dir(&dir).unwrap();
        std::os::unix::fs::symlink(&victim, dir.join("0000:01:00.0_mem")).unwrap();
        fs::create_dir(dir.join("0000:01:00.0_config")).unwrap();
        let lock = MstflintLock::open(&dir, FUNCTION);
        assert!(lock.files.is_empty());
        drop(lock.take().unwrap());
        assert_eq!(fs::read_to_string(victim).unwrap(), "kept");
    }
}
