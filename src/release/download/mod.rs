//! Fetches a file so that either the whole, verified file is there under its name, or none.
//!
//! What arrives goes to a hidden part ([`super::partial`]). After a cut the next attempt asks for
//! the rest, and completes the part only with bytes of the very same file. When all is there it is
//! forced to the disk, its digest and contents are checked, the digest is written beside it, and
//! only then it gets its name.

mod error;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use reqwest::{StatusCode, Url};

use super::content::{self, ContentFault, Promise};
use super::digest::{self, Digest};
use super::http::{Answer, Client, HttpError, Rest, shown};
use super::partial::{Origin, Part, Refusal};
use crate::progress::{Transfer, TransferSink};

pub use error::DownloadError;

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

/// One file to fetch.
#[derive(Debug, Clone)]
pub struct Order {
    /// From where.
    pub url: Url,
    /// Final name.
    pub target: PathBuf,
    /// Its size in bytes, where that is known.
    pub size: Option<u64>,
    /// Its SHA-256, where that is known.
    pub sha256: Option<Digest>,
    /// What it is said to hold.
    pub promises: Vec<Promise>,
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
    /// It was fetched.
    Downloaded,
}

/// Fetches files.
#[derive(Debug, Clone)]
pub struct Downloader {
    client: Client,
    limits: Limits,
}

impl Downloader {
    /// With this client, within these limits.
    #[must_use]
    pub const fn new(client: Client, limits: Limits) -> Self {
        Self { client, limits }
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
        if let Some(folder) = order.target.parent() {
            fs::create_dir_all(folder).map_err(io_error("create", folder))?;
        }
        let mut part = self.take_part(order, sink)?;
        if order.freshness == Freshness::Keep
            && let Some(sha256) = kept(order)
        {
            if part.is_empty() {
                part.discard();
            }
            return Ok(fetched(order, sha256, How::Kept));
        }
        let result = self
            .transfer(order, &mut part, sink)
            .and_then(|()| checked(order, &part));
        match result {
            Ok(sha256) => {
                publish(order, part, sha256)?;
                Ok(fetched(order, sha256, How::Downloaded))
            }
            Err(error) => {
                if part.is_empty() || !error.keeps_part() {
                    part.discard();
                }
                Err(error)
            }
        }
    }

    fn take_part(&self, order: &Order, sink: &mut TransferSink<'_>) -> Result<Part, DownloadError> {
        let waiting = || {
            let text = format!(
                "another process downloads {}, waiting for it",
                order.target.display()
            );
            sink(Transfer::Note { text });
        };
        Part::take(&order.target, self.limits.patience, waiting).map_err(|refusal| match refusal {
            Refusal::Busy => DownloadError::Busy {
                path: order.target.clone(),
                waited: self.limits.patience,
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

    /// Completes the part, in as many attempts as make sense.
    fn transfer(
        &self,
        order: &Order,
        part: &mut Part,
        sink: &mut TransferSink<'_>,
    ) -> Result<(), DownloadError> {
        let retries = *self.client.retries();
        let mut origin = resumable(order, part)?;
        let (mut fruitless, mut all) = (0, 0);
        loop {
            let before = part.len();
            let error = match self.attempt(order, part, &mut origin, sink) {
                Err(DownloadError::Http(error)) if error.is_passing() => error,
                done => return done,
            };
            all += 1;
            fruitless = if part.len() > before {
                1
            } else {
                fruitless + 1
            };
            if fruitless >= retries.attempts || all >= retries.attempts_in_all {
                return Err(error.into());
            }
            let pause = retries.pause_after(fruitless);
            let text = format!("{error}; going on in {:.1} s", pause.as_secs_f64());
            sink(Transfer::Note { text });
            thread::sleep(pause);
        }
    }

    /// One request, and all of its body that comes.
    fn attempt(
        &self,
        order: &Order,
        part: &mut Part,
        origin: &mut Option<Origin>,
        sink: &mut TransferSink<'_>,
    ) -> Result<(), DownloadError> {
        let answer = self.ask(order, part, origin.as_ref(), sink)?;
        let before = part.len();
        let total = match answer.part()? {
            Some(partial) => partial.total,
            None => answer.length(),
        };
        if answer.is_html() {
            return Err(web_page(order, answer));
        }
        if let Some(total) = total {
            self.check_size(order, answer.url(), total)?;
            self.check_space(order, total.saturating_sub(before))?;
        }
        let current = Origin {
            url: order.url.to_string(),
            validator: answer.validator(),
            total,
        };
        part.set_origin(&current)
            .map_err(io_error("write", part.path()))?;
        *origin = Some(current);
        sink(Transfer::Started {
            name: name(&order.target),
            done: before,
            total,
        });
        let url = shown(answer.url());
        answer.read(before, self.limits.file, |piece| {
            part.append(piece).map_err(io_error("write", part.path()))?;
            sink(Transfer::Advanced { done: part.len() });
            Ok::<_, DownloadError>(())
        })?;
        match order.size {
            Some(expected) if part.len() != expected => Err(DownloadError::WrongLength {
                url,
                expected,
                found: part.len(),
            }),
            _ => Ok(()),
        }
    }

    /// The answer whose body continues the part; the part is emptied when there is only a whole
    /// file to have.
    fn ask(
        &self,
        order: &Order,
        part: &mut Part,
        origin: Option<&Origin>,
        sink: &mut TransferSink<'_>,
    ) -> Result<Answer, DownloadError> {
        if !part.is_empty() {
            let rest = Rest {
                from: part.len(),
                validator: origin.and_then(|origin| origin.validator.clone()),
            };
            match self.client.get(&order.url, Some(&rest)) {
                Ok(answer) if continues(&answer, part, origin)? => return Ok(answer),
                // The server sends the whole file in any case.
                Ok(answer) if answer.part()?.is_none() => {
                    restart(part, sink)?;
                    return Ok(answer);
                }
                Ok(_) => {}
                Err(HttpError::Status { status, .. })
                    if status == StatusCode::RANGE_NOT_SATISFIABLE => {}
                Err(error) => return Err(error.into()),
            }
            restart(part, sink)?;
        }
        let answer = self.client.get(&order.url, None)?;
        if answer.part()?.is_some() {
            return Err(DownloadError::Http(HttpError::Protocol {
                url: shown(answer.url()),
                reason: "a part of the file, though all of it was asked for".to_owned(),
            }));
        }
        Ok(answer)
    }

    fn check_size(&self, order: &Order, url: &Url, total: u64) -> Result<(), DownloadError> {
        if total > self.limits.file {
            return Err(DownloadError::Http(HttpError::TooLarge {
                url: shown(url),
                size: total,
                limit: self.limits.file,
            }));
        }
        match order.size {
            Some(expected) if expected != total => Err(DownloadError::WrongLength {
                url: shown(url),
                expected,
                found: total,
            }),
            _ => Ok(()),
        }
    }

    fn check_space(&self, order: &Order, needed: u64) -> Result<(), DownloadError> {
        let folder = order.target.parent().unwrap_or_else(|| Path::new("."));
        let free = free_space(folder).map_err(io_error("look at", folder))?;
        if free >= needed.saturating_add(self.limits.reserve) {
            return Ok(());
        }
        Err(DownloadError::NoSpace {
            folder: folder.to_owned(),
            needed,
            reserve: self.limits.reserve,
            free,
        })
    }
}

/// Whether the answer's body belongs right behind the part, and to the same contents.
fn continues(answer: &Answer, part: &Part, origin: Option<&Origin>) -> Result<bool, HttpError> {
    let Some(rest) = answer.part()? else {
        return Ok(false);
    };
    let same_total = |origin: &Origin| origin.total.is_none() || origin.total == rest.total;
    let same_tag = |origin: &Origin| match (&origin.validator, answer.validator()) {
        (Some(before), Some(now)) => *before == now,
        _ => true,
    };
    let same = origin.is_none_or(|origin| same_total(origin) && same_tag(origin));
    Ok(rest.from == part.len() && same)
}

fn restart(part: &mut Part, sink: &mut TransferSink<'_>) -> Result<(), DownloadError> {
    let text = "the server cannot continue where it ended; starting over".to_owned();
    sink(Transfer::Note { text });
    part.restart().map_err(io_error("empty", part.path()))
}

/// Where an earlier run's part is from, if this run can go on with it; otherwise the part is
/// emptied. Without a validator nobody can say that the file on the server is still the same.
fn resumable(order: &Order, part: &mut Part) -> Result<Option<Origin>, DownloadError> {
    let origin = part
        .origin()
        .filter(|origin| origin.url == order.url.as_str() && origin.validator.is_some())
        .filter(|_| order.freshness == Freshness::Keep);
    if origin.is_none() && !part.is_empty() {
        part.restart().map_err(io_error("empty", part.path()))?;
    }
    Ok(origin)
}

/// The digest of a file that is there, if it is still the one that was verified and keeps what is
/// promised now.
fn kept(order: &Order) -> Option<Digest> {
    let sha256 = match (digest::kept(&order.target), order.sha256) {
        (Some(kept), Some(expected)) if kept != expected => return None,
        (Some(known), _) | (None, Some(known)) => known,
        (None, None) => return None,
    };
    let is_same = Digest::of_file(&order.target).is_ok_and(|found| found == sha256);
    let keeps = || content::check(&order.target, &order.promises).is_ok();
    (is_same && keeps()).then_some(sha256)
}

/// The digest of the whole part, after every check.
fn checked(order: &Order, part: &Part) -> Result<Digest, DownloadError> {
    let path = part.path();
    part.sync().map_err(io_error("write", path))?;
    let found = Digest::of_file(path).map_err(io_error("read", path))?;
    if let Some(expected) = order.sha256
        && expected != found
    {
        return Err(DownloadError::WrongDigest {
            place: shown(&order.url),
            expected,
            found,
        });
    }
    content::check(path, &order.promises).map_err(|fault| DownloadError::Content {
        place: shown(&order.url),
        fault,
    })?;
    Ok(found)
}

/// Digest first: a file without one counts as unverified, a digest without its file as nothing.
fn publish(order: &Order, part: Part, sha256: Digest) -> Result<(), DownloadError> {
    let beside = digest::beside(&order.target);
    let line = digest::line(sha256, &name(&order.target));
    digest::write_whole(&beside, line.as_bytes()).map_err(io_error("write", &beside))?;
    part.publish().map_err(io_error("write", &order.target))
}

fn fetched(order: &Order, sha256: Digest, how: How) -> Fetched {
    Fetched {
        path: order.target.clone(),
        sha256,
        how,
    }
}

/// The error for a page; its title is worth the few bytes it takes to read it.
fn web_page(order: &Order, answer: Answer) -> DownloadError {
    let body = answer.read_whole(content::WebPage::LOOKED_AT * 16);
    let page = body.ok().and_then(|body| content::web_page(&body));
    DownloadError::Content {
        place: shown(&order.url),
        fault: ContentFault::WebPage {
            page: page.and_then(|page| page.title),
        },
    }
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DownloadError {
    let path = path.to_owned();
    move |source| DownloadError::Io {
        action,
        path,
        source,
    }
}

/// Bytes an ordinary user may still write to the file system of `folder`.
fn free_space(folder: &Path) -> io::Result<u64> {
    let system = rustix::fs::statvfs(folder)?;
    Ok(system.f_bavail.saturating_mul(system.f_frsize))
}
