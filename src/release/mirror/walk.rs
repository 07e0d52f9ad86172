//! Finds the files of a mirror.

use std::fs;
use std::path::{Path, PathBuf};

use super::inventory::Stamp;
use super::{MirrorError, Problem, extra, io_error};
use crate::bundle::limits;
use crate::release::index;
use crate::release::name::FilePath;

/// What a folder holds.
#[derive(Debug, Default)]
pub struct Found {
    /// Files that may be firmware, in the order of their names.
    pub files: Vec<(FilePath, Stamp)>,
    /// Files with names that cannot be offered.
    pub problems: Vec<Problem>,
}

/// Looks at every regular file of the folder and its subfolders. Hidden ones are left alone; links
/// to files are followed, links to folders are not.
///
/// # Errors
/// A folder cannot be read, or there are too many files.
pub fn walk(folder: &Path) -> Result<Found, MirrorError> {
    let mut found = Found::default();
    let mut left = limits::FOLDER.allowed;
    let mut queue = vec![folder.to_owned()];
    while let Some(at) = queue.pop() {
        let reading = || io_error("read", &at);
        for entry in fs::read_dir(&at).map_err(reading())? {
            let entry = entry.map_err(reading())?;
            left = left.checked_sub(1).ok_or_else(|| MirrorError::TooMany {
                folder: folder.to_owned(),
                limit: limits::FOLDER.allowed,
            })?;
            let kind = entry.file_type().map_err(reading())?;
            let path = entry.path();
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if hidden || is_own(folder, &path) {
                continue;
            }
            if kind.is_dir() {
                queue.push(path);
            } else if kind.is_file() || (kind.is_symlink() && path.is_file()) {
                take(folder, path, &mut found)?;
            }
        }
    }
    found.files.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
        .problems
        .sort_by(|one, other| one.file.cmp(&other.file));
    Ok(found)
}

/// Files that a mirror makes itself, or that say something about another file.
fn is_own(folder: &Path, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let of_index = name
        .strip_prefix(index::FILE_NAME)
        .is_some_and(|rest| matches!(rest, "" | ".sha256" | index::signature::SUFFIX));
    (of_index && path.parent() == Some(folder))
        || name.ends_with(".sha256")
        || name.ends_with(extra::SUFFIX)
}

fn take(folder: &Path, path: PathBuf, found: &mut Found) -> Result<(), MirrorError> {
    let facts = fs::metadata(&path).map_err(io_error("look at", &path))?;
    let relative = path.strip_prefix(folder).unwrap_or(&path);
    let name = relative.to_str().map(FilePath::new);
    match name {
        Some(Ok(name)) => found.files.push((name, Stamp::from(&facts))),
        Some(Err(error)) => found.problems.push(Problem {
            file: relative.display().to_string(),
            reason: error.to_string(),
        }),
        None => found.problems.push(Problem {
            file: relative.display().to_string(),
            reason: "the name is no UTF-8 text".to_owned(),
        }),
    }
    Ok(())
}
