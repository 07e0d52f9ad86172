//! The folder of lock files: made for its owner alone, and used only when it is ours.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use super::error::AccessError;

/// Makes `dir` if it is not there. A folder of another user, who could swap the files in it, or a
/// link to one is refused.
///
/// # Errors
/// [`AccessError::LockFile`].
pub fn prepare(dir: &Path) -> Result<(), AccessError> {
    let failed = |source| AccessError::LockFile {
        path: dir.to_owned(),
        source,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(failed)?;
    let found = fs::symlink_metadata(dir).map_err(failed)?;
    if found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(failed(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it is not a folder of the user cxfw runs as",
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_for_its_owner_alone() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run/cxfw");
        prepare(&dir).unwrap();
        prepare(&dir).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_link_in_its_place_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join("cxfw");
        std::os::unix::fs::symlink("/tmp", &link).unwrap();
        let error = prepare(&link).unwrap_err().to_string();
        assert!(error.contains("not a folder of the user"), "{error}");
    }
}
