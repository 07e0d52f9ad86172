//! A file that is there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, FallocateFlags, OFlags, RenameFlags};

use super::{BackupError, Contents, Destination, name};
use crate::flash::direct::Owner;

/// What temporary names begin and end with.
const PREFIX: &str = ".cxfw-backup-";
const SUFFIX: &str = ".part";
/// A file that nobody has written to for so long is looked at: its writer may have been killed.
const OLD: Duration = Duration::from_secs(600);

/// A file under a temporary name, removed unless it is finished.
pub(super) struct Unfinished {
    file: File,
    path: PathBuf,
    finished: bool,
}

impl Unfinished {
    /// A new file in `folder`, which has room for `size` bytes, readable for its owner only: a
    /// flash may hold keys.
    pub(super) fn create(folder: &Path, size: u64) -> Result<Self, BackupError> {
        // several cards of one run may be saved into one folder at the same time
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let path = folder.join(format!("{PREFIX}{process}-{number}{SUFFIX}"));
        sweep(folder);
        // left by a process of the same number that was killed
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", &path, source));
            }
            Ok(()) | Err(_) => {}
        }
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path);
        let file = file.map_err(|source| failed("create", &path, source))?;
        // tells others that it is not left over; where files cannot be locked none is swept
        let _ = file.lock();
        let unfinished = Self {
            file,
            path,
            finished: false,
        };
        unfinished.reserve(folder, size)?;
        Ok(unfinished)
    }

    /// Sees to it that there is room, also when several cards are saved at once.
    fn reserve(&self, folder: &Path, size: u64) -> Result<(), BackupError> {
        let disk = rustix::fs::fstatvfs(&self.file);
        let disk = disk.map_err(|errno| failed("examine", folder, errno.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let no_room = || BackupError::NoRoom {
            folder: folder.to_owned(),
            needed: size,
            free,
        };
        if free < size {
            return Err(no_room());
        }
        match rustix::fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, size) {
            Err(rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT) => Err(no_room()),
            // not every file system reserves; then writing shows
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes everything, to the disk itself.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        let written = self.file.write_all(bytes);
        written
            .and_then(|()| self.file.sync_all())
            .map_err(|source| failed("write", &self.path, source))
    }

    /// What is in the file, which must be `expected`.
    pub(super) fn read_back(&self, expected: &[u8]) -> Result<Vec<u8>, BackupError> {
        let bytes = fs::read(&self.path).map_err(|source| failed("read", &self.path, source))?;
        let wrong = bytes.iter().zip(expected).position(|(a, b)| a != b);
        let short = bytes.len().min(expected.len());
        match wrong.or((bytes.len() != expected.len()).then_some(short)) {
            None => Ok(bytes),
            Some(offset) => Err(BackupError::Damaged {
                path: self.path.clone(),
                offset: offset as u64,
            }),
        }
    }

    /// Gives the file its name, which must be free; in a folder another one is taken as long as
    /// it is not. Returns the name.
    pub(super) fn finish(
        mut self,
        destination: Destination<'_>,
        (owner, contents): (&Owner, Contents),
    ) -> Result<PathBuf, BackupError> {
        let folder = match destination {
            Destination::File(path) => {
                self.name(path)?;
                return Ok(path.to_owned());
            }
            Destination::Folder(folder) => folder,
        };
        let mut names = name::all(owner, contents).map(|name| folder.join(name));
        loop {
            let Some(path) = names.next() else {
                return Err(BackupError::Exists(folder.to_owned()));
            };
            match self.name(&path) {
                Err(BackupError::Exists(_)) => {}
                named => return named.map(|()| path),
            }
        }
    }

    fn name(&mut self, path: &Path) -> Result<(), BackupError> {
        let renamed = rustix::fs::renameat_with(CWD, &self.path, CWD, path, RenameFlags::NOREPLACE);
        match renamed {
            Ok(()) => {}
            Err(rustix::io::Errno::EXIST) => return Err(BackupError::Exists(path.to_owned())),
            // some file systems cannot; a hard link does not replace either
            Err(rustix::io::Errno::INVAL) => self.link(path)?,
            Err(errno) => return Err(failed("name", path, errno.into())),
        }
        self.finished = true;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let sync = File::open(folder).and_then(|folder| folder.sync_all());
        sync.map_err(|source| failed("write", folder, source))
    }

    fn link(&self, path: &Path) -> Result<(), BackupError> {
        match fs::hard_link(&self.path, path) {
            Ok(()) => {
                fs::remove_file(&self.path).map_err(|source| failed("remove", &self.path, source))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(BackupError::Exists(path.to_owned()))
            }
            Err(source) => Err(failed("name", path, source)),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            log::warn!("cannot remove {}: {error}", self.path.display());
        }
    }
}

/// Removes what killed processes left of backups, so that they do not fill the disk unseen.
/// Nothing depends on it, so what cannot be removed stays.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) && is_left_over(&entry) {
            log::info!(
                "removing the remains of a backup: {}",
                entry.path().display()
            );
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Old, and locked by nobody: its writer has ended.
fn is_left_over(entry: &fs::DirEntry) -> bool {
    let old = |metadata: fs::Metadata| {
        let age = metadata.modified().ok()?.elapsed().ok()?;
        (metadata.is_file() && age > OLD).then_some(())
    };
    let file = || {
        old(entry.metadata().ok()?)?;
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(entry.path());
        file.ok()?.try_lock().ok()
    };
    file().is_some()
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> BackupError {
    BackupError::File {
        action,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, age: Duration| {
            let path = dir.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
            (path, file)
        };
        let (left_over, _) = make(".cxfw-backup-1-0.part", OLD * 2);
        let (new, _) = make(".cxfw-backup-1-1.part", Duration::ZERO);
        let (backup, _) = make("backup.bin", OLD * 2);
        let (in_use, file) = make(".cxfw-backup-1-2.part", OLD * 2);
        file.lock().unwrap();
        sweep(dir.path());
        assert!(!left_over.exists());
        assert!(new.exists() && backup.exists() && in_use.exists());
    }
}
