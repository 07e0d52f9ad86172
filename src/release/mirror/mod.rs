//! Makes a folder of firmware a mirror: an index over every file the bundle readers understand.
//!
//! ```text
//! any/name.mfa                 firmware, as it is
//! any/name.mfa.release.toml    what the firmware does not say itself ([`extra`]), if anything
//! index.xml, .sha256           the index
//! index.xml.minisig            its signature, when a key is given
//! .cxfw-mirror.json            what was examined, so that only changes are examined again
//! ```
//!
//! Every image is taken out and verified before it gets a row ([`examine`]). The same folder gives
//! the same index, byte for byte: rows are sorted, and serial and date come from what is in it
//! ([`Options`] may say otherwise). What did not change is not written again.

mod before;
mod contents;
mod examine;
pub mod extra;
mod inventory;
mod walk;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::digest::{self, Digest};
use super::index::FILE_NAME;
use super::index::signature::{self, KeyError, Signer};
use super::name::FilePath;
use crate::version::Date;
use before::Before;
use contents::Contents;
use inventory::Inventory;

pub use extra::Extra;

/// What the maker of a mirror says beyond its contents.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// Serial of the index, in place of the next one.
    pub serial: Option<u64>,
    /// Date of the index, in place of that of the newest image.
    pub date: Option<Date>,
    /// Key to sign it with.
    pub signer: Option<&'a Signer>,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The index.
    pub index: PathBuf,
    /// Its serial.
    pub serial: u64,
    /// Releases in it.
    pub releases: usize,
    /// Files with firmware.
    pub files: usize,
    /// Files that were examined because they are new or changed.
    pub examined: Vec<FilePath>,
    /// Files that are something else.
    pub passed_over: usize,
    /// Files, or images in them, that are not offered, and why.
    pub problems: Vec<Problem>,
    /// The index is another than before.
    pub changed: bool,
    /// Its signature.
    pub signature: SignatureState,
}

/// What became of the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureState {
    /// There is none.
    None,
    /// The one that was there still fits.
    Kept,
    /// It was made.
    Made,
    /// The one that was there no longer fits, and there is no key to make another: it was removed.
    Removed,
}

/// A file that is not offered, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, relative to the folder.
    pub file: String,
    /// What is wrong.
    pub reason: String,
}

/// A mirror that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
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
    /// More files than this program reads.
    #[error("{}: more than {limit} files and folders", folder.display())]
    TooMany {
        /// The folder.
        folder: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// The index could not be signed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The index in the folder is newer than the serial that was asked for.
    #[error(
        "serial {asked} is not above that of the index there is ({present}): clients would refuse it"
    )]
    Serial {
        /// By option.
        asked: u64,
        /// In the folder.
        present: u64,
    },
}

/// Builds or renews the index of `folder`; `examining` hears of each file before it is read.
///
/// # Errors
/// [`MirrorError`]. Files that cannot be offered are [`Built::problems`] instead.
pub fn build(
    folder: &Path,
    options: &Options<'_>,
    examining: &mut dyn FnMut(&FilePath),
) -> Result<Built, MirrorError> {
    let lock = Inventory::lock(folder).map_err(io_error("lock", folder))?;
    let before = Before::read(folder);
    let mut contents = Contents::read(folder, &before, examining)?;
    let rows = std::mem::take(&mut contents.rows);
    let (serial, bytes) = before.next(rows, options, &folder.join(FILE_NAME))?;
    let index = folder.join(FILE_NAME);
    let change = write_if_other(&index, &bytes)?;
    let sha256 = Digest::of(&bytes);
    let line = digest::line(sha256, FILE_NAME);
    write_if_other(&digest::beside(&index), line.as_bytes())?;
    let signature = sign(
        &index,
        &bytes,
        change,
        options.signer.map(|signer| (signer, serial)),
    )?;
    contents.inventory.index_sha256 = Some(sha256.to_string());
    contents.inventory.serial = serial;
    let inventory = &contents.inventory;
    inventory.write(folder).map_err(io_error("write", folder))?;
    drop(lock);
    Ok(Built {
        index,
        serial,
        releases: contents.releases,
        files: contents.files,
        examined: contents.examined,
        passed_over: contents.passed_over,
        problems: contents.problems,
        changed: change == Change::Written,
        signature,
    })
}

/// Whether a file is another than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    Written,
}

fn write_if_other(path: &Path, bytes: &[u8]) -> Result<Change, MirrorError> {
    if fs::read(path).is_ok_and(|present| present == bytes) {
        return Ok(Change::None);
    }
    digest::write_whole(path, bytes).map_err(io_error("write", path))?;
    Ok(Change::Written)
}

/// Signs an index, or removes the signature of the one it took the place of.
fn sign(
    index: &Path,
    bytes: &[u8],
    change: Change,
    signer: Option<(&Signer, u64)>,
) -> Result<SignatureState, MirrorError> {
    let path = index.with_file_name(format!("{FILE_NAME}{}", signature::SUFFIX));
    let present = fs::read(&path).ok();
    let Some((signer, serial)) = signer else {
        return match (present, change) {
            (None, _) => Ok(SignatureState::None),
            (Some(_), Change::None) => Ok(SignatureState::Kept),
            (Some(_), Change::Written) => {
                fs::remove_file(&path).map_err(io_error("remove", &path))?;
                Ok(SignatureState::Removed)
            }
        };
    };
    if signer.keys()?.verify(bytes, present.as_deref()).is_ok() {
        return Ok(SignatureState::Kept);
    }
    let text = signer.sign(bytes, &format!("cxfw index, serial {serial}"))?;
    digest::write_whole(&path, text.as_bytes()).map_err(io_error("write", &path))?;
    Ok(SignatureState::Made)
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> MirrorError {
    let path = path.to_owned();
    move |source| MirrorError::Io {
        action,
        path,
        source,
    }
}

/// Held while a mirror is made.
type Lock = File;
