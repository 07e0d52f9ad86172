//! Several sources in order, asked as one, and what they offer fetched.
//!
//! Every source is asked, so that the answer says for each whether it was reached and what it
//! has: "listed nowhere" means that all were asked and answered. What two sources offer alike is
//! one offer, that of the first.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::cache::Cache;
use super::download::{
    DownloadError, Downloader, Expected, Fetched, Freshness, How, Limits, Order,
};
use super::findings::{Faulty, Findings, Searched};
use super::http::{Connector, HttpError};
use super::index::{Index, IndexError, IndexPlace, IndexSource};
use super::mirror::Extra;
use super::record::{Asked, Place, Release, Unsorted};
use super::service::{self, Listing, Service, ServiceError};
use crate::progress::TransferSink;
use crate::version::FwVersion;

/// One place to look for releases.
#[derive(Debug, Clone)]
pub enum Source {
    /// The vendor's service, or one that speaks like it.
    Online {
        /// Where it is.
        server: String,
        /// Release stream.
        key: String,
        /// How reports call it.
        name: Arc<str>,
    },
    /// An index of one's own.
    Index(IndexSource),
}

/// A source that gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The vendor's service.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// An index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// There are no connections to be had.
    #[error(transparent)]
    Http(#[from] HttpError),
}

impl SourceError {
    /// Stable word for programs.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Service(error) => error.class(),
            Self::Index(error) => error.class(),
            Self::Http(error) => error.class(),
        }
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub const fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Service(error) => error.advice(),
            Self::Index(error) => error.advice(),
            Self::Http(error) => error.advice(),
        }
    }
}

/// Sources in order, with what it takes to fetch from them.
#[derive(Debug)]
pub struct Sources {
    list: Vec<Source>,
    connector: Arc<Connector>,
    downloader: Downloader,
    cache: Cache,
}

impl Source {
    /// What it is, for programs: `online` or `index`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Online { .. } => service::NAME,
            Self::Index(_) => "index",
        }
    }

    /// How reports call it.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        match self {
            Self::Online { name, .. } => Arc::clone(name),
            Self::Index(index) => Arc::clone(&index.name),
        }
    }
}

impl Sources {
    /// These sources.
    #[must_use]
    pub fn new(list: Vec<Source>, connector: Arc<Connector>, cache: Cache, limits: Limits) -> Self {
        Self {
            list,
            downloader: Downloader::new(Arc::clone(&connector), limits),
            connector,
            cache,
        }
    }

    /// The sources.
    #[must_use]
    pub fn list(&self) -> &[Source] {
        &self.list
    }

    /// Asks every source for these boards. A source that fails is told of in the findings.
    #[must_use]
    pub fn find(&self, asked: &[Asked]) -> Findings {
        self.search(|source| match source {
            Source::Online { server, key, name } => {
                Ok(self.service(server, key, name)?.newest(asked)?)
            }
            Source::Index(source) => {
                let index = source.load(&self.connector, Some(&self.cache))?;
                Ok(listed(&index, asked))
            }
        })
        .in_order(asked)
    }

    /// Checks the files of the indexes in folders of this machine: every listed one that is there
    /// has the listed size and SHA-256, also those that nobody needs now. A folder that was
    /// carried here and changed on the way is not to be trusted with any of its files.
    ///
    /// # Errors
    /// The first file that is another. An index that cannot be read has told so when it was asked.
    pub fn check_folders(&self) -> Result<(), DownloadError> {
        for source in &self.list {
            let Source::Index(source) = source else {
                continue;
            };
            if !matches!(source.place, IndexPlace::Local(_)) {
                continue;
            }
            let Ok(index) = source.load(&self.connector, None) else {
                continue;
            };
            let mut seen = HashSet::new();
            for release in index.releases() {
                if let Place::Local(path) = &release.place
                    && seen.insert(path)
                    && path.exists()
                {
                    Expected::of(release).check_bytes(path, &path.display().to_string())?;
                }
            }
        }
        Ok(())
    }

    /// Everything the indexes among the sources list. The service has a list of files, but does
    /// not say for which boards; see [`Sources::files`].
    #[must_use]
    pub fn everything(&self) -> Findings {
        self.search(|source| match source {
            Source::Online { .. } => Ok(Listing::default()),
            Source::Index(source) => {
                let index = source.load(&self.connector, Some(&self.cache))?;
                Ok(Listing {
                    releases: index.releases().to_vec(),
                    warnings: index.warnings,
                    ..Listing::default()
                })
            }
        })
    }

    /// Every file of firmware that the services among the sources list, with the failures of those
    /// that gave no answer.
    #[must_use]
    pub fn files(&self) -> (Vec<Unsorted>, Vec<Searched>) {
        let (mut files, mut searched) = (Vec::new(), Vec::new());
        for source in &self.list {
            let Source::Online { server, key, name } = source else {
                continue;
            };
            let listed = self
                .service(server, key, name)
                .and_then(|service| Ok(service.firmware()?));
            let failure = match listed {
                Ok(listed) => {
                    files.extend(listed);
                    None
                }
                Err(error) => Some(error),
            };
            searched.push(Searched {
                name: Arc::clone(name),
                failure,
            });
        }
        (files, searched)
    }

    /// Makes a file of which nothing is known but its name be in `folder`: whole firmware.
    ///
    /// # Errors
    /// [`DownloadError`].
    pub fn fetch_file(
        &self,
        folder: &Path,
        file: &Unsorted,
        freshness: Freshness,
        sink: &mut TransferSink<'_>,
    ) -> Result<Fetched, DownloadError> {
        let order = Order {
            from: file.place.clone(),
            target: file.file.below(folder),
            expected: Expected::default(),
            freshness,
        };
        let fetched = self.downloader.fetch(&order, sink)?;
        keep_notes(&fetched, file.notes.as_ref(), None)?;
        Ok(fetched)
    }

    fn service(&self, server: &str, key: &str, name: &Arc<str>) -> Result<Service, SourceError> {
        let client = self.connector.client()?.clone();
        Ok(Service::new(client, server, key)?.named(name))
    }

    fn search(&self, ask: impl Fn(&Source) -> Result<Listing, SourceError>) -> Findings {
        let mut findings = Findings::default();
        for source in &self.list {
            let failure = match ask(source) {
                Ok(listing) => {
                    findings.warnings.extend(listing.warnings);
                    let faulty = listing.faulty.into_iter();
                    findings.faulty.extend(faulty.map(|(psid, error)| Faulty {
                        psid,
                        name: source.name(),
                        error: error.into(),
                    }));
                    for release in listing.releases {
                        findings.add(release);
                    }
                    None
                }
                Err(error) => Some(error),
            };
            findings.searched.push(Searched {
                name: source.name(),
                failure,
            });
        }
        findings
    }

    /// Makes the file of a release be on this machine, verified: a file in a folder is used where
    /// it is, one on a server is kept in the cache.
    ///
    /// # Errors
    /// [`DownloadError`].
    pub fn fetch(
        &self,
        release: &Release,
        freshness: Freshness,
        sink: &mut TransferSink<'_>,
    ) -> Result<Fetched, DownloadError> {
        let expected = Expected::of(release);
        match &release.place {
            Place::Local(path) => Ok(Fetched {
                sha256: expected.verify(path, &path.display().to_string())?,
                path: path.clone(),
                how: How::Kept,
            }),
            Place::Remote(url) => {
                let order = Order {
                    from: release.place.clone(),
                    target: self.cache.file(url, &release.file),
                    expected,
                    freshness,
                };
                self.downloader.fetch(&order, sink)
            }
        }
    }

    /// Makes the file of a release be in `folder`, verified, with its release notes beside it.
    ///
    /// # Errors
    /// [`DownloadError`].
    pub fn fetch_to(
        &self,
        folder: &Path,
        release: &Release,
        freshness: Freshness,
        sink: &mut TransferSink<'_>,
    ) -> Result<Fetched, DownloadError> {
        let order = Order {
            from: release.place.clone(),
            target: release.file.below(folder),
            expected: Expected::of(release),
            freshness,
        };
        let fetched = self.downloader.fetch(&order, sink)?;
        keep_notes(&fetched, release.notes.as_ref(), release.minimum)?;
        Ok(fetched)
    }
}

/// Keeps beside a file what firmware does not say itself.
fn keep_notes(
    fetched: &Fetched,
    notes: Option<&String>,
    minimum: Option<FwVersion>,
) -> Result<(), DownloadError> {
    let extra = Extra {
        notes: notes.cloned(),
        minimum: minimum.map(|version| version.to_string()),
        branch: None,
    };
    extra
        .keep(&fetched.path)
        .map_err(|source| DownloadError::Io {
            action: "write",
            path: Extra::beside(&fetched.path),
            source,
        })
}

/// What an index lists for these boards, in the spelling they were asked for.
fn listed(index: &Index, asked: &[Asked]) -> Listing {
    let mut listing = Listing {
        warnings: index.warnings.clone(),
        ..Listing::default()
    };
    for board in asked {
        let before = listing.releases.len();
        for release in index.find(&board.psid) {
            match board.contradiction(release) {
                None => listing.releases.push(Release {
                    psid: board.psid.clone(),
                    ..release.clone()
                }),
                Some(text) => listing.warnings.push(text),
            }
        }
        if listing.releases.len() == before {
            listing.unlisted.push(board.psid.clone());
        }
    }
    listing
}
