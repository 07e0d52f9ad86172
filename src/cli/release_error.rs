//! What ends a command that looks for releases, with what to do next.

use std::path::PathBuf;

use super::error::Hint;
use super::exit::Exit;
use crate::release::cache::CacheError;
use crate::release::index::signature::KeyError;
use crate::release::mirror::MirrorError;
use crate::release::{DownloadError, IndexError, SourceError};

/// Why releases could not be found, fetched or listed.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// A source gave no answer.
    #[error("{}", named(name, source))]
    Source {
        /// What reports call it.
        name: String,
        /// Why not.
        source: SourceError,
    },
    /// Every source answered, and none lists any of the boards.
    #[error("{} not listed: looked at {}", boards.join(", "), searched.join(", "))]
    NotListed {
        /// The boards.
        boards: Vec<String>,
        /// Where was looked.
        searched: Vec<String>,
    },
    /// Firmware would come from whoever stands on the way.
    #[error(
        "{place}: firmware from there is refused: the index comes over plain http and need not be signed, so anybody on the way could change it"
    )]
    UnsignedOverHttp {
        /// The index.
        place: String,
    },
    /// There is nowhere to look.
    #[error("no source of releases was given")]
    NoSource,
    /// A file could not be fetched, or is not what it should be.
    #[error(transparent)]
    Download(DownloadError),
    /// The image in a file is another than the one that is listed.
    #[error("{place}: the image in it is not the one that {source_name} lists")]
    NotAsListed {
        /// The file.
        place: String,
        /// Who lists it.
        source_name: String,
    },
    /// Two releases would be the same file.
    #[error("{}: two releases have files of this name", file.display())]
    SameName {
        /// The file.
        file: PathBuf,
    },
    /// What was named is no index.
    #[error(transparent)]
    Index(IndexError),
    /// A key cannot be used.
    #[error(transparent)]
    Key(KeyError),
    /// There is no folder to keep files in.
    #[error(transparent)]
    Cache(CacheError),
    /// A folder could not be made a mirror.
    #[error(transparent)]
    Mirror(MirrorError),
    /// Certificates were not to be checked.
    #[error("--insecure is refused: what is fetched is firmware, and only TLS says whose")]
    Insecure,
}

impl ReleaseError {
    /// The exit code.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::NoSource | Self::Insecure => Exit::Usage,
            Self::UnsignedOverHttp { .. } => Exit::Refused,
            _ => Exit::Failed,
        }
    }

    /// Stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Source { source, .. } => source.class(),
            Self::NotListed { .. } => "not_listed",
            Self::NoSource => "no_source",
            Self::UnsignedOverHttp { .. } => "unsigned_over_http",
            Self::Download(error) => error.class(),
            Self::NotAsListed { .. } => "not_as_listed",
            Self::SameName { .. } => "same_name",
            Self::Index(error) => error.class(),
            Self::Key(_) | Self::Mirror(MirrorError::Key(_)) => "bad_key",
            Self::Cache(_) => "cache",
            Self::Mirror(MirrorError::Serial { .. }) => "serial",
            Self::Mirror(_) => "io",
            Self::Insecure => "usage",
        }
    }
}

impl Hint for ReleaseError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Source { source, .. } => source.advice()?,
            Self::NotListed { .. } => {
                "check the PSID; firmware of other brands comes from them: give it with --image or --index"
            }
            Self::UnsignedOverHttp { .. } => {
                "serve it over https, or sign it with `cxfw mirror --sign KEY` and give the public key with --index-key, or copy the folder and give its path"
            }
            Self::NoSource => {
                "give --online or --index URL-or-FILE, or name sources in the configuration"
            }
            Self::Download(error) => error.advice()?,
            Self::NotAsListed { .. } => "build the index anew with `cxfw mirror`",
            Self::SameName { .. } => "fetch one of them into another folder",
            Self::Index(error) => error.advice()?,
            Self::Key(error) | Self::Mirror(MirrorError::Key(error)) => key_advice(error)?,
            Self::Cache(_) => "name a folder of your own with --cache-dir DIR",
            Self::Mirror(MirrorError::Serial { .. }) => "leave --serial out, or give a higher one",
            Self::Mirror(_) => return None,
            Self::Insecure => "give the authority of the server with --cafile FILE",
        };
        Some(text.to_owned())
    }
}

/// The name is in front unless the error says it anyway.
fn named(name: &str, source: &SourceError) -> String {
    let text = source.to_string();
    if text.contains(name) {
        text
    } else {
        format!("{name}: {text}")
    }
}

const fn key_advice(error: &KeyError) -> Option<&'static str> {
    Some(match error {
        KeyError::Public { .. } => {
            "give the line of the key that begins with RW, or the .pub file of `minisign -G`"
        }
        KeyError::Secret { .. } => "give the secret key file that `minisign -G` made",
        KeyError::Locked { .. } => {
            "give the password in the environment variable CXFW_SIGN_PASSWORD"
        }
        KeyError::Sign(_) => return None,
    })
}
