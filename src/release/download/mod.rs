//! Makes a file be there so that either the whole, verified file is under its name, or none.
//!
//! What arrives goes to a hidden part ([`super::partial`]), from a server ([`remote`]) or another
//! folder ([`local`]). When all is there it is forced to the disk, its digest and contents are
//! checked ([`expected`]), the digest is written beside it, and only then it gets its name.

mod error;
pub mod expected;
mod local;
mod remote;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::digest::{self, Digest};
use super::http::{Connector, shown};
use super::partial::{Part, Refusal};
use super::record::Place;
use crate::progress::{Transfer, TransferSink};

pub use error::DownloadError;
pub use expected::Expected;

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

/// Fetches files.
#[derive(Debug, Clone)]
pub struct Downloader {
    connector: Arc<Connector>,
    limits: Limits,
}

impl Downloader {
    /// With these connections, within these limits.
    #[must_use]
    pub const fn new(connector: Arc<Connector>, limits: Limits) -> Self {
        Self { connector, limits }
    }

    /// Makes the file be there.
    ///
    /// # Errors
    /// [`DownloadError`]; then nothing new is under the file's name.
    pub fn fetch(
        &self,
        order: &Order,
        sink: &mut TransferSink<'_>,
    ) -> Result<Fetched, DownloadError> {
        let fetched = |sha256, how| Fetched {
            path: order.target.clone(),
            sha256,
            how,
        };
        let folder = order.folder();
        fs::create_dir_all(folder).map_err(io_error("create", folder))?;
        let mut part = self.take_part(order, sink)?;
        if order.freshness == Freshness::Keep
            && let Some(sha256) = kept(order)
        {
            if part.is_empty() {
                part.discard();
            }
            return Ok(fetched(sha256, How::Kept));
        }
        let how = match &order.from {
            Place::Remote(_) => How::Downloaded,
            Place::Local(_) => How::Copied,
        };
        match self.obtain(order, &mut part, sink) {
            Ok(sha256) => {
                publish(order, part, sha256)?;
                Ok(fetched(sha256, how))
            }
            Err(error) => {
                if part.is_empty() || !error.keeps_part() {
                    part.discard();
                }
                Err(error)
            }
        }
    }

    /// Completes the part and checks it.
    fn obtain(
        &self,
        order: &Order,
        part: &mut Part,
        sink: &mut TransferSink<'_>,
    ) -> Result<Digest, DownloadError> {
        match &order.from {
            Place::Remote(url) => {
                let client = self.connector.client()?;
                remote::Remote::new(client, url, order, &self.limits).transfer(part, sink)?;
            }
            Place::Local(path) => local::copy(path, order, &self.limits, part, sink)?,
        }
        part.sync().map_err(io_error("write", part.path()))?;
        order.expected.verify(part.path(), &order.source())
    }

    fn take_part(&self, order: &Order, sink: &mut TransferSink<'_>) -> Result<Part, DownloadError> {
        let waiting = || {
            let target = order.target.display();
            let text = format!("another process downloads {target}, waiting for it");
            sink(Transfer::Note { text });
        };
        let patience = self.limits.patience;
        Part::take(&order.target, patience, waiting).map_err(|refusal| match refusal {
            Refusal::Busy => DownloadError::Busy {
                path: order.target.clone(),
                waited: patience,
            },
            Refusal::Io {
                action,
                path,
                source,
            } => DownloadError::Io {
                action,
                path,
                source,
            },
        })
    }
}

impl Order {
    fn folder(&self) -> &Path {
        match self.target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// The file's own name.
    fn name(&self) -> String {
        let name = self.target.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Where it is from, as errors call it.
    fn source(&self) -> String {
        match &self.from {
            Place::Remote(url) => shown(url),
            Place::Local(path) => path.display().to_string(),
        }
    }
}

impl Limits {
    /// Whether a file of this size is accepted, and `missing` bytes of it still fit on the disk.
    fn check_space(&self, folder: &Path, missing: u64) -> Result<(), DownloadError> {
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

/// The digest of a file that is there, if it is still the one that was verified and keeps what is
/// promised now.
fn kept(order: &Order) -> Option<Digest> {
    let known = digest::kept(&order.target);
    let mut expected = order.expected.clone();
    if known.is_some() && expected.sha256.is_some() && known != expected.sha256 {
        return None;
    }
    expected.sha256 = expected.sha256.or(known);
    expected.sha256?;
    expected.verify(&order.target, &order.source()).ok()
}

/// Digest first: a file without one counts as unverified, a digest without its file as nothing.
fn publish(order: &Order, part: Part, sha256: Digest) -> Result<(), DownloadError> {
    let beside = digest::beside(&order.target);
    let line = digest::line(sha256, &order.name());
    digest::write_whole(&beside, line.as_bytes()).map_err(io_error("write", &beside))?;
    part.publish().map_err(io_error("write", &order.target))
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DownloadError {
    let path = path.to_owned();
    move |source| DownloadError::Io {
        action,
        path,
        source,
    }
}
