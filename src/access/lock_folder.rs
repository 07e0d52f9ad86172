//! The folder of lock files: used only when nobody else can put files there.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use super::error::AccessError;

/// Makes `dir` if it is not there. It must be a folder, no link, of root or the caller and
/// writable for nobody else (burn 11.1).
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
        .mode(0o755)
        .create(dir)
        .map_err(failed)?;
    let facts = fs::symlink_metadata(dir).map_err(failed)?;
    let me = rustix::process::geteuid().as_raw();
    let complaint = if !facts.is_dir() {
        "it is not a folder"
    } else if facts.uid() != 0 && facts.uid() != me {
        "it belongs to another user"
    } else if facts.mode() & 0o022 != 0 {
        "others may write in it"
    } else {
        return Ok(());
    };
    Err(failed(io::Error::new(
        io::ErrorKind::PermissionDenied,
        complaint,
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_is_made_that_only_its_owner_writes_in() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run/cxfw");
        prepare(&dir).unwrap();
        prepare(&dir).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o022, 0);
    }

    #[test]
    fn a_link_in_its_place_or_a_folder_open_to_others_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(root.path(), &link).unwrap();
        let error = prepare(&link).unwrap_err().to_string();
        assert!(error.ends_with("link: it is not a folder"), "{error}");

        let open = root.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let error = prepare(&open).unwrap_err().to_string();
        assert!(error.ends_with("open: others may write in it"), "{error}");
    }
}
