//! What a bundle is, and the choices in opening one.

use std::fmt;

/// What a bundle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One bare firmware image (`.bin`).
    Image,
    /// MFA v1.
    Mfa,
    /// MFA2.
    Mfa2,
    /// PLDM firmware package.
    Pldm,
    /// Zip archive with one of the above in it.
    Zip,
    /// Program that carries an archive.
    SelfExtractor,
    /// Folder of all of these.
    Folder,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Image => "image",
            Self::Mfa => "MFA",
            Self::Mfa2 => "MFA2",
            Self::Pldm => "PLDM",
            Self::Zip => "zip",
            Self::SelfExtractor => "self-extractor",
            Self::Folder => "folder",
        })
    }
}

/// What to do about folders inside a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subfolders {
    /// Leave them alone.
    #[default]
    Ignore,
    /// Read them too.
    Read,
}

/// Which members of an archive are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Members {
    /// The only one that is firmware; more than one is an error that names them.
    #[default]
    Only,
    /// Every one that is firmware.
    All,
    /// The one with this name.
    Named(String),
}

/// How to open what can hold several files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Folders inside a folder.
    pub subfolders: Subfolders,
    /// Members of an archive. (An archive in a folder always gives all of them.)
    pub members: Members,
}
