//! The mirror as an earlier run left it, and the index that follows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::inventory::{Inventory, Stamp};
use super::{MirrorError, Options, io_error};
use crate::release::digest::Digest;
use crate::release::index::document::{Document, Row};
use crate::release::index::{FILE_NAME, read, write};
use crate::release::name::FilePath;
use crate::version::{Date, FwVersion};

/// The mirror as an earlier run left it.
#[derive(Debug, Default)]
pub struct Before {
    pub inventory: Inventory,
    /// The index, as it lies there.
    bytes: Vec<u8>,
    /// Its serial, if it can be read.
    serial: Option<u64>,
    /// Its rows by file, if it is the very one that run wrote.
    rows: BTreeMap<FilePath, Vec<Row>>,
}

impl Before {
    pub fn read(folder: &Path) -> Self {
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
    pub fn rows(&self, name: &FilePath, stamp: Stamp) -> Option<(Digest, Vec<Row>)> {
        let sha256 = self.inventory.digest(name, stamp)?;
        let rows = self.rows.get(name)?;
        let fits = rows.iter().all(|row| row.sha256 == sha256);
        fits.then(|| (sha256, rows.clone()))
    }

    /// The next index with its serial: the one there is when nothing changed, else one with a
    /// higher serial.
    pub fn next(
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
fn order(row: &Row) -> (&str, Option<FwVersion>, &FilePath, Option<Digest>) {
    (
        row.psid.as_str(),
        row.firmware(),
        &row.file,
        row.image_sha256,
    )
}
