//! One file or archive member that holds images: what every bundle is made of in the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::archive::{Archive, Member};
use super::error::{BundleError, Fault};
use super::single::Single;

/// One of the parts of a bundle.
#[derive(Debug)]
pub enum Part {
    /// A file, open.
    File {
        /// The file.
        path: PathBuf,
        /// Its container.
        single: Box<Single>,
    },
    /// A member of an archive. It is inflated anew whenever it is needed, so that a folder of
    /// archives never holds more than one of them.
    Member {
        /// The archive file.
        path: PathBuf,
        /// The archive, shared by its members.
        archive: Arc<Archive>,
        /// Which.
        member: Member,
    },
}

impl Part {
    /// Does something with the part's container; errors name the file and member.
    ///
    /// # Errors
    /// What is wrong with the member, and what `job` says.
    pub fn with<T>(&self, job: impl FnOnce(&Single) -> Result<T, Fault>) -> Result<T, BundleError> {
        let result = match self {
            Self::File { single, .. } => job(single),
            Self::Member {
                archive, member, ..
            } => archive
                .read(member)
                .and_then(|content| Single::parse(content, member.signature))
                .and_then(|single| job(&single)),
        };
        result.map_err(|fault| self.error(fault))
    }

    /// Bytes that one pass over its images inflates, where that can be told beforehand.
    #[must_use]
    pub fn inflated_size(&self) -> Option<u64> {
        match self {
            Self::File { single, .. } => single.inflated_size(),
            Self::Member { .. } => None,
        }
    }

    /// The file it is, or is in.
    #[must_use]
    pub fn path(&self) -> &Path {
        let (Self::File { path, .. } | Self::Member { path, .. }) = self;
        path
    }

    /// The name of the member it is.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        match self {
            Self::File { .. } => None,
            Self::Member { member, .. } => Some(&member.name),
        }
    }

    /// `fault`, found in this part.
    #[must_use]
    pub fn error(&self, fault: Fault) -> BundleError {
        BundleError {
            file: self.path().to_owned(),
            member: self.member().map(Box::from),
            board: None,
            fault,
        }
    }
}
