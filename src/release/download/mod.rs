//! Makes a file be there so that either the whole, verified file is under its name, or none.
//!
//! What arrives goes to a hidden part ([`super::partial`]), from a server ([`remote`]) or another
//! folder ([`local`]), as an [`order`] says. When all is there it is forced to the disk, its digest and contents are
//! checked ([`expected`]), the digest is written beside it, and only then it gets its name.

mod error;
pub mod expected;
mod local;
mod order;
mod remote;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::digest::{self, Digest};
use super::http::Connector;
use super::partial::{Part, Refusal};
use super::record::Place;
use crate::progress::{Transfer, TransferSink};

pub use error::DownloadError;
pub use expected::Expected;
pub use order::{Fetched, Freshness, How, Limits, Order};

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
        // Without a lock, so that a cache that may only be read serves what is in it.
        if order.freshness == Freshness::Keep
            && let Some(sha256) = kept(order)
        {
            return Ok(fetched(sha256, How::Kept));
        }
        let folder = order.folder();
        fs::create_dir_all(folder).map_err(io_error("create", folder))?;
        let mut part = self.take_part(order, sink)?;
        // Another process may just have fetched it.
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
        let resumed = self.transfer(order, part, sink)?;
        match complete(order, part) {
            Err(error) if resumed && !matches!(error, DownloadError::Io { .. }) => {
                // The two halves may be of two files; the whole is worth one more request.
                let text = format!("{error}; what arrived in parts does not fit, starting over");
                sink(Transfer::Note { text });
                part.restart().map_err(io_error("empty", part.path()))?;
                self.transfer(order, part, sink)?;
                complete(order, part)
            }
            other => other,
        }
    }

    /// Fills the part; returns whether it went on with what was there.
    fn transfer(
        &self,
        order: &Order,
        part: &mut Part,
        sink: &mut TransferSink<'_>,
    ) -> Result<bool, DownloadError> {
        match &order.from {
            Place::Remote(url) => {
                let client = self.connector.client()?;
                remote::Remote::new(client, url, order, &self.limits).transfer(part, sink)
            }
            Place::Local(path) => {
                local::copy(path, order, &self.limits, part, sink)?;
                Ok(false)
            }
        }
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

/// The digest of a part that is all there, if it is what it must be.
fn complete(order: &Order, part: &Part) -> Result<Digest, DownloadError> {
    part.sync().map_err(io_error("write", part.path()))?;
    order.expected.verify(part.path(), &order.source())
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
