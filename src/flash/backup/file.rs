//! A file that is there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{CWD, FallocateFlags, OFlags, RenameFlags};

use super::{BackupError, Destination, name};
use crate::flash::direct::Owner;

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
        let path = folder.join(format!(".cxfw-backup-{process}-{number}.part"));
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
        owner: &Owner,
    ) -> Result<PathBuf, BackupError> {
        let folder = match destination {
            Destination::File(path) => {
                self.name(path)?;
                return Ok(path.to_owned());
            }
            Destination::Folder(folder) => folder,
        };
        let mut names = name::all(owner).map(|name| folder.join(name));
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

fn failed(action: &'static str, path: &Path, source: io::Error) -> BackupError {
    BackupError::File {
        action,
        path: path.to_owned(),
        source,
    }
}
