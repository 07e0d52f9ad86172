//! What can be wrong with an index as a whole. What is wrong with one row only drops that row.

use std::io;
use std::path::PathBuf;

use super::signature::SignatureError;
use crate::release::digest::Digest;
use crate::release::http::HttpError;

/// An index that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// On the way to the server and back.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What was given names no index.
    #[error("`{text}` is no index: {reason}")]
    BadPlace {
        /// As it was written.
        text: String,
        /// Why not.
        reason: String,
    },
    /// Larger than any honest one.
    #[error("{place}: {size} bytes, at most {limit} are accepted")]
    TooLarge {
        /// Address or path.
        place: String,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A web page came in its place.
    #[error("{place}: a web page{} in place of the index", page.as_ref().map_or_else(String::new, |title| format!(" (`{title}`)")))]
    WebPage {
        /// Address.
        place: String,
        /// Title of the page.
        page: Option<String>,
    },
    /// Not an index, or a broken one.
    #[error("{place}:{line}:{column}: {reason}")]
    Broken {
        /// Address or path.
        place: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// The bytes are not those its digest file is for.
    #[error("{place}: SHA-256 is {found}, but {place}.sha256 says {expected}")]
    WrongDigest {
        /// Address or path.
        place: String,
        /// Of the digest file.
        expected: Digest,
        /// Over the bytes.
        found: Digest,
    },
    /// The digest file beside it has no digest for it.
    #[error("{place}.sha256 has no SHA-256 for {name}")]
    NoDigest {
        /// Address or path.
        place: String,
        /// Name of the index.
        name: String,
    },
    /// Not signed by a key that is trusted here.
    #[error("{place}: {fault}")]
    Signature {
        /// Address or path.
        place: String,
        /// What is wrong.
        fault: SignatureError,
    },
    /// Good once: somebody shows an older one.
    #[error("{place}: serial {found} is older than {seen}, which was seen here before")]
    Replayed {
        /// Address or path.
        place: String,
        /// Its serial.
        found: u64,
        /// The newest that was seen.
        seen: u64,
    },
    /// Two signed indexes with one serial.
    #[error("{place}: another index with the same serial {serial} was seen here before")]
    SerialReused {
        /// Address or path.
        place: String,
        /// Its serial.
        serial: u64,
    },
}

impl IndexError {
    /// Stable word for programs.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Http(error) => error.class(),
            Self::Io { .. } => "io",
            Self::BadPlace { .. } => "bad_index_place",
            Self::TooLarge { .. } => "too_large",
            Self::WebPage { .. } => "web_page",
            Self::Broken { .. } => "bad_index",
            Self::WrongDigest { .. } | Self::NoDigest { .. } => "wrong_digest",
            Self::Signature { .. } => "signature",
            Self::Replayed { .. } | Self::SerialReused { .. } => "replayed_index",
        }
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub const fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Http(error) => return error.advice(),
            Self::BadPlace { .. } => "give https://HOST/FOLDER/, a folder, or an index.xml",
            Self::WebPage { .. } => {
                "a proxy or a login page is in the way; open the address in a browser to see it"
            }
            Self::WrongDigest { .. } | Self::NoDigest { .. } | Self::Broken { .. } => {
                "copy the whole mirror once more, or build the index anew with `cxfw mirror`"
            }
            Self::Signature { fault, .. } => fault.advice(),
            Self::Replayed { .. } | Self::SerialReused { .. } => {
                "somebody may be holding back newer firmware; if the mirror was set back on purpose, sign it with a higher --serial"
            }
            Self::Io { .. } => "name the index.xml or its folder; `cxfw mirror DIR` makes one",
            Self::TooLarge { .. } => "no index is that large: check what was named",
        })
    }
}
