//! Why a file could not be fetched.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::release::content::ContentFault;
use crate::release::digest::Digest;
use crate::release::http::HttpError;

/// A file that could not be fetched, or is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// On the way to the server and back.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The file has another size than the source says.
    #[error("{place}: {found} bytes, but the file should have {expected}")]
    WrongLength {
        /// Address or path.
        place: String,
        /// The source's word.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// The file has another digest than the source says.
    #[error("{place}: SHA-256 is {found}, but should be {expected}")]
    WrongDigest {
        /// Address or path.
        place: String,
        /// The source's word.
        expected: Digest,
        /// Over the bytes.
        found: Digest,
    },
    /// The file is not what it should be.
    #[error("{place}: {fault}")]
    Content {
        /// Address or path.
        place: String,
        /// What is wrong.
        fault: ContentFault,
    },
    /// The file system is too full.
    #[error("{}: {needed} bytes are needed and {reserve} shall stay free, but only {free} are", folder.display())]
    NoSpace {
        /// Where it would go.
        folder: PathBuf,
        /// Still to come.
        needed: u64,
        /// To be left alone.
        reserve: u64,
        /// There are.
        free: u64,
    },
    /// Another process downloads the same file and does not finish.
    #[error("{}: another process has been downloading it for {} s", path.display(), waited.as_secs())]
    Busy {
        /// The file.
        path: PathBuf,
        /// So long.
        waited: Duration,
    },
    /// The file system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl DownloadError {
    /// Stable word for programs.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Self::Http(error) => error.class(),
            Self::WrongLength { .. } => "wrong_length",
            Self::WrongDigest { .. } => "wrong_digest",
            Self::Content { fault, .. } => fault.class(),
            Self::NoSpace { .. } => "no_space",
            Self::Busy { .. } => "busy",
            Self::Io { .. } => "io",
        }
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Http(error) => error.advice(),
            Self::WrongLength { .. } | Self::WrongDigest { .. } => Some(
                "the file and what is said of it do not belong together; ask who runs the source",
            ),
            Self::Content {
                fault: ContentFault::WebPage { .. },
                ..
            } => Some(
                "a proxy or a login page is in the way; open the address in a browser to see it",
            ),
            Self::Content { .. } => Some("nothing was kept of it; ask who runs the source"),
            Self::NoSpace { .. } => Some("make room, or name another folder"),
            Self::Busy { .. } => Some("wait for it, or end it"),
            Self::Io { .. } => Some("check the folder, its permissions and its file system"),
        }
    }

    /// The bytes that arrived are good as far as they go, so the next run can go on with them.
    pub(super) const fn keeps_part(&self) -> bool {
        matches!(
            self,
            Self::Http(
                HttpError::Lost { .. } | HttpError::TimedOut { .. } | HttpError::Status { .. }
            ) | Self::NoSpace { .. }
        )
    }
}
