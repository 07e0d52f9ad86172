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

mod examine;
pub mod extra;
mod inventory;
mod walk;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::digest::{self, Digest};
use super::index::document::{Document, Row};
use super::index::signature::{self, KeyError, Signer};
use super::index::{FILE_NAME, read, write};
use super::name::FilePath;
use crate::version::Date;
use inventory::{Inventory, Stamp};

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

/// What is in the folder now.
#[derive(Debug, Default)]
struct Contents {
    inventory: Inventory,
    rows: Vec<Row>,
    releases: usize,
    files: usize,
    examined: Vec<FilePath>,
    passed_over: usize,
    problems: Vec<Problem>,
}

impl Contents {
    fn read(
        folder: &Path,
        before: &Before,
        examining: &mut dyn FnMut(&FilePath),
    ) -> Result<Self, MirrorError> {
        let found = walk::walk(folder)?;
        let mut contents = Self {
            problems: found.problems,
            ..Self::default()
        };
        for (name, stamp) in found.files {
            let problems = contents.problems.len();
            let (sha256, rows) = if let Some(known) = before.rows(&name, stamp) {
                known
            } else {
                examining(&name);
                let examined = examine::examine(folder, &name, stamp.size, &mut contents.problems);
                let Some(examined) = examined else {
                    contents.passed_over += usize::from(contents.problems.len() == problems);
                    continue;
                };
                contents.examined.push(name.clone());
                (examined.sha256, examined.rows)
            };
            let Some(rows) = extra::apply(folder, &name, rows, &mut contents.problems) else {
                continue;
            };
            // A file that has problems is examined, and told of, in each run.
            if contents.problems.len() == problems {
                contents.inventory.note(&name, stamp, sha256);
            }
            contents.files += usize::from(!rows.is_empty());
            contents.releases += rows.len();
            contents.rows.extend(rows);
        }
        Ok(contents)
    }
}

/// The mirror as an earlier run left it.
#[derive(Debug, Default)]
struct Before {
    inventory: Inventory,
    /// The index, as it lies there.
    bytes: Vec<u8>,
    /// Its serial, if it can be read.
    serial: Option<u64>,
    /// Its rows by file, if it is the very one that run wrote.
    rows: BTreeMap<FilePath, Vec<Row>>,
}

impl Before {
    fn read(folder: &Path) -> Self {
        let mut before = Self {
            inventory: Inventory::read(folder),
            ..Self::default()
        };
        let Ok(bytes) = fs::read(folder.join(FILE_NAME)) else {
            return before;
        };
        let Ok(document) = read::read(&bytes) else {
            return before;
        };
        before.serial = Some(document.serial);
        let sha256 = Digest::of(&bytes).to_string();
        before.bytes = bytes;
        if before.inventory.index_sha256 == Some(sha256) {
            for row in document.rows {
                before.rows.entry(row.file.clone()).or_default().push(row);
            }
        }
        before
    }

    /// Digest and rows of a file that is as it was.
    fn rows(&self, name: &FilePath, stamp: Stamp) -> Option<(Digest, Vec<Row>)> {
        let sha256 = self.inventory.digest(name, stamp)?;
        let rows = self.rows.get(name)?;
        let fits = rows.iter().all(|row| row.sha256 == sha256);
        fits.then(|| (sha256, rows.clone()))
    }

    /// The next index with its serial: the one there is when nothing changed, else one with a
    /// higher serial.
    fn next(
        &self,
        mut rows: Vec<Row>,
        options: &Options<'_>,
        index: &Path,
    ) -> Result<(u64, Vec<u8>), MirrorError> {
        rows.sort_by(|one, other| order(one).cmp(&order(other)));
        let newest = rows.iter().filter_map(|row| row.date).max();
        let date = options.date.or(newest);
        let mut document = Document {
            serial: options.serial.or(self.serial).unwrap_or_default(),
            date,
            rows,
            warnings: Vec::new(),
        };
        let write = |document: &Document| write::write(document).map_err(io_error("write", index));
        let bytes = write(&document)?;
        if bytes == self.bytes {
            return Ok((document.serial, bytes));
        }
        let noted = Some(self.inventory.serial).filter(|&serial| serial > 0);
        let present = self.serial.max(noted);
        document.serial = match (options.serial, present) {
            (Some(asked), Some(present)) if asked <= present => {
                return Err(MirrorError::Serial { asked, present });
            }
            (Some(asked), _) => asked,
            (None, Some(present)) => first_serial(date).max(present.saturating_add(1)),
            (None, None) => first_serial(date),
        };
        Ok((document.serial, write(&document)?))
    }
}

/// The serial of the first index: its date with room for a hundred changes.
fn first_serial(date: Option<Date>) -> u64 {
    date.map_or(1, |date| {
        let (year, month, day) = (
            u64::from(date.year),
            u64::from(date.month),
            u64::from(date.day),
        );
        ((year * 100 + month) * 100 + day) * 100
    })
}

/// By board, then version, then file.
fn order(
    row: &Row,
) -> (
    &str,
    Option<crate::version::FwVersion>,
    &FilePath,
    Option<Digest>,
) {
    (
        row.psid.as_str(),
        row.firmware(),
        &row.file,
        row.image_sha256,
    )
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
