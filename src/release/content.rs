//! What a fetched file holds, before anybody relies on it.
//!
//! A web page saved under a firmware name, a file that was cut, another board's firmware and
//! another version are all refused here, by content: the name and the server's word count for
//! nothing.

use std::path::Path;

use crate::bundle::{Bundle, BundleError, Entry, Fault, Members, Options, Subfolders};
use crate::identity::Psid;
use crate::image::{self, ImageError, ImageInfo};
use crate::version::FwVersion;

/// What a file is said to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// An image for this board.
    pub psid: Psid,
    /// Of this version, where one was promised.
    pub version: Option<FwVersion>,
}

/// A file that is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum ContentFault {
    /// A login page, an error page, a portal.
    #[error("a web page{}, not firmware", title(page.as_deref()))]
    WebPage {
        /// Title of the page.
        page: Option<String>,
    },
    /// Not firmware, or damaged.
    #[error("{0}")]
    Bundle(Fault),
    /// Firmware, but not for that board.
    #[error(
        "no image for PSID {psid} in it; there are images for {}",
        list(present)
    )]
    NotForBoard {
        /// The board.
        psid: Psid,
        /// The boards there are images for.
        present: Vec<String>,
    },
    /// Firmware for that board, of another version.
    #[error("the image for {psid} is version {}, promised was {promised}", word(*found))]
    OtherVersion {
        /// The board.
        psid: Psid,
        /// The source's word.
        promised: FwVersion,
        /// The image's.
        found: Option<FwVersion>,
    },
    /// The image in it is damaged.
    #[error("the image for {psid}: {fault}")]
    Image {
        /// The board, or the place of an image that does not tell.
        psid: String,
        /// What is wrong.
        fault: ImageError,
    },
}

impl ContentFault {
    /// Stable word for programs.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Self::WebPage { .. } => "web_page",
            Self::Bundle(fault) => fault.class(),
            Self::NotForBoard { .. } => "psid_not_found",
            Self::OtherVersion { .. } => "other_version",
            Self::Image { .. } => "bad_image",
        }
    }
}

impl From<BundleError> for ContentFault {
    /// Without the path, which is that of a temporary file.
    fn from(error: BundleError) -> Self {
        Self::Bundle(error.fault)
    }
}

fn title(page: Option<&str>) -> String {
    page.map_or_else(String::new, |title| format!(" (`{title}`)"))
}

fn list(present: &[String]) -> String {
    const SHOWN: usize = 8;
    match present {
        [] => "no board".to_owned(),
        few if few.len() <= SHOWN => few.join(", "),
        many => format!(
            "{} and {} more",
            many.get(..SHOWN).unwrap_or_default().join(", "),
            many.len() - SHOWN
        ),
    }
}

fn word(version: Option<FwVersion>) -> String {
    version.map_or_else(|| "unknown".to_owned(), |version| version.to_string())
}

/// Checks that the file at `path` is whole firmware and keeps every promise. Without a promise
/// every check of the container is made.
///
/// # Errors
/// [`ContentFault`], the first that is found.
pub fn check(path: &Path, promises: &[Promise]) -> Result<(), ContentFault> {
    if let Some(page) = web_page(&beginning(path)?) {
        return Err(ContentFault::WebPage { page: page.title });
    }
    let bundle = open(path)?;
    if promises.is_empty() {
        bundle.verify()?;
        return Ok(());
    }
    promises
        .iter()
        .try_for_each(|promise| keep(&bundle, promise))
}

/// Opens a file with all it holds: archives may hold several images.
///
/// # Errors
/// As [`Bundle::open`], and for a member that cannot be used.
pub fn open(path: &Path) -> Result<Bundle, BundleError> {
    let options = Options {
        subfolders: Subfolders::Ignore,
        members: Members::All,
    };
    Bundle::open_with(path, &options)
}

fn beginning(path: &Path) -> Result<Vec<u8>, ContentFault> {
    use std::io::Read;
    let io = |source| ContentFault::Bundle(Fault::io("read")(source));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(io)?;
    file.take(WebPage::LOOKED_AT)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    Ok(bytes)
}

fn keep(bundle: &Bundle, promise: &Promise) -> Result<(), ContentFault> {
    let mut others = Vec::new();
    let mut other_version = None;
    for entry in bundle
        .entries()
        .iter()
        .filter(|entry| may_be_for(entry, &promise.psid))
    {
        let bytes = bundle.read(entry.index)?;
        let info = verified(&bytes, entry)?;
        let board = info.psid.as_ref().or(entry.psid.as_ref());
        if !board.is_some_and(|board| same(board, &promise.psid)) {
            others.extend(board.map(ToString::to_string));
            continue;
        }
        match promise.version {
            Some(promised) if info.version != Some(promised) => {
                other_version = Some(ContentFault::OtherVersion {
                    psid: promise.psid.clone(),
                    promised,
                    found: info.version,
                });
            }
            _ => return Ok(()),
        }
    }
    Err(other_version.unwrap_or_else(|| {
        let listed = bundle
            .entries()
            .iter()
            .filter_map(|entry| entry.psid.as_ref());
        others.extend(listed.map(ToString::to_string));
        ContentFault::NotForBoard {
            psid: promise.psid.clone(),
            present: others,
        }
    }))
}

fn same(one: &Psid, other: &Psid) -> bool {
    one.as_str().eq_ignore_ascii_case(other.as_str())
}

/// An entry without a PSID is a bare image, which tells its board itself.
fn may_be_for(entry: &Entry, psid: &Psid) -> bool {
    entry.other.is_none() && entry.psid.as_ref().is_none_or(|board| same(board, psid))
}

/// What an image says of itself, once every checksum in it held.
pub(super) fn verified(bytes: &[u8], entry: &Entry) -> Result<ImageInfo, ContentFault> {
    let board = |psid: &Psid| psid.to_string();
    let fault = |fault| ContentFault::Image {
        psid: entry
            .psid
            .as_ref()
            .map_or_else(|| format!("entry {}", entry.index), board),
        fault,
    };
    let verification = image::verify(bytes);
    match (verification.failure, verification.info) {
        (None, Some(info)) => Ok(info),
        (Some(found), _) => Err(fault(found)),
        (None, None) => Err(fault(ImageError::NoMarker)),
    }
}

/// A web page, where something else was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebPage {
    /// Its title.
    pub title: Option<String>,
}

impl WebPage {
    /// Bytes that are looked at.
    pub const LOOKED_AT: u64 = 4096;
}

/// Whether these first bytes begin a web page.
pub(super) fn web_page(bytes: &[u8]) -> Option<WebPage> {
    let text = String::from_utf8_lossy(bytes.get(..4096).unwrap_or(bytes));
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let lower = text.to_ascii_lowercase();
    let begins = ["<!doctype html", "<html", "<head", "<body"];
    if !begins.iter().any(|begin| lower.starts_with(begin)) {
        return None;
    }
    let title = lower.find("<title").and_then(|at| {
        let from = at + lower.get(at..)?.find('>')? + 1;
        let to = from + lower.get(from..)?.find("</title")?;
        let title = text
            .get(from..to)?
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        (!title.is_empty()).then(|| super::http::printable(&title))
    });
    Some(WebPage { title })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_web_page_is_known_by_its_beginning_and_named_by_its_title() {
        let page =
            web_page(b"\n<!DOCTYPE HTML>\n<html><head><title>\n Sign\n in \x07</title>").unwrap();
        assert_eq!(page.title.as_deref(), Some("Sign in ?"));
        assert_eq!(web_page(b"<html>"), Some(WebPage { title: None }));
        assert_eq!(web_page(b"MTFW<html>"), None);
        assert_eq!(web_page(b""), None);
    }
}
