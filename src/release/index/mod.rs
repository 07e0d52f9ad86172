//! Indexes: lists of releases of one's own, on any web server or in a folder.
//!
//! ```text
//! index.xml           the list (docs/index.xsd)
//! index.xml.sha256    its digest: half a copy or a changed byte is noticed
//! index.xml.minisig   its Ed25519 signature in minisign's form
//! ```
//!
//! [`document`] is the XML, [`read`] and [`mod@write`] what they say; [`family`] checks that a version
//! can be one of its chip; [`signature`] who made it, [`memory`] that it is not older than one seen before;
//! [`source`] puts them together.

pub mod document;
mod draft;
pub mod error;
pub mod family;
pub mod memory;
pub mod read;
pub mod signature;
pub mod source;
#[cfg(test)]
mod tests;
pub mod write;

use std::collections::HashMap;

use super::record::{Release, board_key};
use crate::identity::Psid;
use crate::version::Date;

pub use document::{Document, Row};
pub use error::IndexError;
pub use signature::{Keys, SignedBy, Signer};
pub use source::{IndexPlace, IndexSource};

/// Name of an index in its folder.
pub const FILE_NAME: &str = "index.xml";

/// A list of releases, read and checked.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// Number that grows with every change.
    pub serial: u64,
    /// Date of its newest image, or what its maker says.
    pub date: Option<Date>,
    /// Who signed it; `None` when no key was asked for.
    pub signed_by: Option<SignedBy>,
    /// Rows that were left out and why, and other things the user should know.
    pub warnings: Vec<String>,
    releases: Vec<Release>,
    /// Positions of a board's releases, newest first; boards in upper case.
    boards: HashMap<String, Vec<usize>>,
}

impl Index {
    /// The index of these releases.
    #[must_use]
    pub fn new(serial: u64, date: Option<Date>, releases: Vec<Release>) -> Self {
        let mut boards: HashMap<String, Vec<usize>> = HashMap::new();
        for (position, release) in releases.iter().enumerate() {
            let board = board_key(&release.psid);
            boards.entry(board).or_default().push(position);
        }
        for positions in boards.values_mut() {
            let version = |position: &usize| releases.get(*position).and_then(Release::firmware);
            positions.sort_by_key(|position| std::cmp::Reverse(version(position)));
        }
        Self {
            serial,
            date,
            releases,
            boards,
            ..Self::default()
        }
    }

    /// Every release, in the order of the document.
    #[must_use]
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// The releases for a board, newest first; case does not matter.
    pub fn find(&self, psid: &Psid) -> impl Iterator<Item = &Release> {
        let positions = self.boards.get(&board_key(psid)).map(Vec::as_slice);
        let positions = positions.unwrap_or_default().iter();
        positions.filter_map(|&position| self.releases.get(position))
    }
}
