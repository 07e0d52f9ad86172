//! What an earlier run examined, so that only what is new or changed is read again.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Lock;
use crate::release::digest::{Digest, write_whole};
use crate::release::name::FilePath;

const FILE_NAME: &str = ".cxfw-mirror.json";
const LOCK_NAME: &str = ".cxfw-mirror.lock";

/// Whether a file is as it was: size and time of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// In bytes.
    pub size: u64,
    /// Time of change, seconds since 1970.
    pub seconds: i64,
    /// And nanoseconds.
    pub nanoseconds: i64,
}

impl From<&Metadata> for Stamp {
    fn from(facts: &Metadata) -> Self {
        Self {
            size: facts.len(),
            seconds: facts.mtime(),
            nanoseconds: facts.mtime_nsec(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Examined {
    stamp: Stamp,
    sha256: String,
}

/// The files with firmware, and the index that was made of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// Digest of the index that this run wrote; rows of any other are not relied on.
    pub index_sha256: Option<String>,
    /// Its serial.
    pub serial: u64,
    files: BTreeMap<String, Examined>,
}

impl Inventory {
    /// Keeps other runs away from the folder.
    ///
    /// # Errors
    /// What the system says.
    pub fn lock(folder: &Path) -> io::Result<Lock> {
        let file: File = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(folder.join(LOCK_NAME))?;
        file.lock()?;
        Ok(file)
    }

    /// What an earlier run noted; nothing where it cannot be read.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        let text = fs::read(folder.join(FILE_NAME)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Notes it for the next run.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        write_whole(&folder.join(FILE_NAME), &serde_json::to_vec_pretty(self)?)
    }

    /// Notes one file.
    pub fn note(&mut self, name: &FilePath, stamp: Stamp, sha256: Digest) {
        let sha256 = sha256.to_string();
        self.files
            .insert(name.to_string(), Examined { stamp, sha256 });
    }

    /// The digest of a file that is as it was.
    #[must_use]
    pub fn digest(&self, name: &FilePath, stamp: Stamp) -> Option<Digest> {
        let examined = self.files.get(name.as_str())?;
        (examined.stamp == stamp)
            .then(|| examined.sha256.parse().ok())
            .flatten()
    }
}
