//! What a file must be.

use std::fs;
use std::path::Path;

use super::error::DownloadError;
use super::io_error;
use crate::release::content::{self, Promise};
use crate::release::digest::Digest;
use crate::release::record::Release;

/// What is known of a file before it is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Its SHA-256.
    pub sha256: Option<Digest>,
    /// What it is said to hold; nothing: any firmware.
    pub promises: Vec<Promise>,
}

impl Expected {
    /// What a source says of a release.
    #[must_use]
    pub fn of(release: &Release) -> Self {
        Self {
            size: release.size,
            sha256: release.sha256,
            promises: vec![Promise {
                psid: release.psid.clone(),
                version: release.firmware(),
            }],
        }
    }

    /// The digest of the file at `path`, if it is all it must be; `place` is what errors call it.
    ///
    /// # Errors
    /// [`DownloadError::WrongLength`], [`DownloadError::WrongDigest`], [`DownloadError::Content`],
    /// or the file cannot be read.
    pub fn verify(&self, path: &Path, place: &str) -> Result<Digest, DownloadError> {
        let found = self.check_bytes(path, place)?;
        content::check(path, &self.promises).map_err(|fault| DownloadError::Content {
            place: place.to_owned(),
            fault,
        })?;
        Ok(found)
    }

    /// As [`Expected::verify`], without a look at what the bytes mean.
    ///
    /// # Errors
    /// As there.
    pub fn check_bytes(&self, path: &Path, place: &str) -> Result<Digest, DownloadError> {
        let size = fs::metadata(path).map_err(io_error("look at", path))?.len();
        self.check_size(size, place)?;
        let found = Digest::of_file(path).map_err(io_error("read", path))?;
        if let Some(expected) = self.sha256
            && expected != found
        {
            return Err(DownloadError::WrongDigest {
                place: place.to_owned(),
                expected,
                found,
            });
        }
        Ok(found)
    }

    pub(super) fn check_size(&self, found: u64, place: &str) -> Result<(), DownloadError> {
        match self.size {
            Some(expected) if expected != found => Err(DownloadError::WrongLength {
                place: place.to_owned(),
                expected,
                found,
            }),
            _ => Ok(()),
        }
    }
}
