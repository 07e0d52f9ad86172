//! A folder that is filled beside its place and then moved there whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::LabError;

/// Names tried before giving up: threads of one process may make labs at the same time.
const ATTEMPTS: u32 = 1000;

/// The folder, removed unless it was moved.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Where it is until then.
    pub path: PathBuf,
    place: PathBuf,
}

impl Scratch {
    /// A new folder beside `place`, whose parents are made if they are not there.
    pub(super) fn beside(place: &Path) -> Result<Self, LabError> {
        let failed = |action, path: &Path, source| LabError::File {
            action,
            path: path.to_owned(),
            source,
        };
        // A link to an empty folder is followed: the folder is the place.
        let place = fs::canonicalize(place)
            .or_else(|_| std::path::absolute(place))
            .map_err(|source| failed("find", place, source))?;
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(LabError::NoFolder(place));
        };
        fs::create_dir_all(parent).map_err(|source| failed("make folder", parent, source))?;
        let prefix = format!(".{}.new-{}", name.to_string_lossy(), std::process::id());
        let mut attempt = 0;
        loop {
            let path = parent.join(format!("{prefix}-{attempt}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, place }),
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS =>
                {
                    attempt += 1;
                }
                Err(source) => return Err(failed("make folder", &path, source)),
            }
        }
    }

    /// Moves the folder to its place if that is empty or not there.
    pub(super) fn move_in(self) -> Result<(), LabError> {
        fs::rename(&self.path, &self.place).map_err(|source| match source.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
                LabError::Exists(self.place.clone())
            }
            _ => LabError::File {
                action: "make folder",
                path: self.place.clone(),
                source,
            },
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            log::warn!("cannot remove {}: {error}", self.path.display());
        }
    }
}
