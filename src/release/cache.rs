//! The folder that runs share: fetched files, and which indexes were seen.
//!
//! ```text
//! files/KEY/NAME       a fetched file; KEY stands for its address
//! indexes/KEY.json     the newest index seen at a place
//! ```
//!
//! Several processes may use it at once: files are locked while they are fetched and appear under
//! their names only as a whole.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use reqwest::Url;

use super::digest::Digest;
use super::name::FilePath;

/// Digits of a key: enough that two addresses never share one.
const KEY: usize = 32;

/// The cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

/// A folder that cannot be the cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The file system refused.
    #[error("cache folder {}: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Others could put their files in it after the check.
    #[error("cache folder {}: {reason}", path.display())]
    Unsafe {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
}

impl Cache {
    /// The cache in `root`, which is made if it is not there.
    ///
    /// # Errors
    /// [`CacheError`]: no such folder can be made, or other users could change its files between
    /// their verification and the burn.
    pub fn open(root: &Path) -> Result<Self, CacheError> {
        let io = |source| CacheError::Io {
            path: root.to_owned(),
            source,
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(root)
            .map_err(io)?;
        let root = root.canonicalize().map_err(io)?;
        let facts = fs::metadata(&root).map_err(io)?;
        let user = rustix::process::geteuid().as_raw();
        let reason = if facts.mode() & 0o022 != 0 {
            "other users may write to it"
        } else if facts.uid() != user && facts.uid() != 0 {
            "it belongs to another user"
        } else {
            return Ok(Self { root });
        };
        Err(CacheError::Unsafe { path: root, reason })
    }

    /// Where the file from `url` is or would be.
    #[must_use]
    pub fn file(&self, url: &Url, name: &FilePath) -> PathBuf {
        self.root
            .join("files")
            .join(key(url.as_str()))
            .join(name.base())
    }

    /// Where it is noted which index was seen at `place`.
    #[must_use]
    pub fn index_memory(&self, place: &str) -> PathBuf {
        self.root
            .join("indexes")
            .join(format!("{}.json", key(place)))
    }
}

fn key(text: &str) -> String {
    let digest = Digest::of(text.as_bytes()).to_string();
    digest.chars().take(KEY).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn files_of_the_same_name_from_two_places_are_two_files() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("c")).unwrap();
        let name = FilePath::new("a/x.mfa").unwrap();
        let one = cache.file(&Url::parse("https://a.example/x.mfa").unwrap(), &name);
        let two = cache.file(&Url::parse("https://b.example/x.mfa").unwrap(), &name);
        assert_ne!(one, two);
        assert!(one.ends_with("x.mfa") && one.starts_with(dir.path().canonicalize().unwrap()));
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_no_cache() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = Cache::open(dir.path()).unwrap_err();
        assert!(
            error.to_string().ends_with("other users may write to it"),
            "{error}"
        );
    }
}
