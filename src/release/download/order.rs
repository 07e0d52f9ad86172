//! What is to be fetched, within which limits, and what came of it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::DownloadError;
use super::expected::Expected;
use super::io_error;
use crate::release::digest::Digest;
use crate::release::http::shown;
use crate::release::record::Place;

/// What a download may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest file, in bytes. The vendor's largest bundles have some hundred MB.
    pub file: u64,
    /// Bytes that stay free on the file system.
    pub reserve: u64,
    /// Longest wait for another process that downloads the same file.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file: 1 << 30,
            reserve: 16 << 20,
            patience: Duration::from_secs(1800),
        }
    }
}

/// Whether a file that is there already is good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Freshness {
    /// It is, when it is verified.
    #[default]
    Keep,
    /// It is fetched anew in any case.
    Refresh,
}

/// One file to have.
#[derive(Debug, Clone)]
pub struct Order {
    /// From where.
    pub from: Place,
    /// Final name.
    pub target: PathBuf,
    /// What it must be.
    pub expected: Expected,
    /// About a file that is there.
    pub freshness: Freshness,
}

/// A verified file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where it is.
    pub path: PathBuf,
    /// Its SHA-256.
    pub sha256: Digest,
    /// Whether anything had to be transferred for it.
    pub how: How,
}

/// How a file came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It was there.
    Kept,
    /// It was fetched from a server.
    Downloaded,
    /// It was copied from another folder.
    Copied,
}

impl Order {
    pub(super) fn folder(&self) -> &Path {
        match self.target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// The file's own name.
    pub(super) fn name(&self) -> String {
        let name = self.target.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Where it is from, as errors call it.
    pub(super) fn source(&self) -> String {
        match &self.from {
            Place::Remote(url) => shown(url),
            Place::Local(path) => path.display().to_string(),
        }
    }
}

impl Limits {
    /// Whether a file of this size is accepted, and `missing` bytes of it still fit on the disk.
    pub(super) fn check_space(&self, folder: &Path, missing: u64) -> Result<(), DownloadError> {
        let system = rustix::fs::statvfs(folder).map_err(io::Error::from);
        let system = system.map_err(io_error("look at", folder))?;
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        if free >= missing.saturating_add(self.reserve) {
            return Ok(());
        }
        Err(DownloadError::NoSpace {
            folder: folder.to_owned(),
            needed: missing,
            reserve: self.reserve,
            free,
        })
    }
}
