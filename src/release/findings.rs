//! What sources answered, put together: what two of them offer alike is one offer.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::digest::Digest;
use super::record::{Asked, Release, board_key};
use super::source::SourceError;
use crate::identity::Psid;

/// What was found, and where was looked.
#[derive(Debug, Default)]
pub struct Findings {
    /// Releases for the boards that were asked for: board by board in the order of the question,
    /// the newest first, equal ones in the order of the sources.
    pub releases: Vec<Release>,
    /// Every source with how it went.
    pub searched: Vec<Searched>,
    /// Boards of which a source that answered says what makes no sense.
    pub faulty: Vec<Faulty>,
    /// What the user should know, one sentence each.
    pub warnings: Vec<String>,
    /// Positions of a board's releases.
    boards: HashMap<String, Vec<usize>>,
}

/// A source that was asked.
#[derive(Debug)]
pub struct Searched {
    /// Its name.
    pub name: Arc<str>,
    /// Why it gave no answer; `None` when it did.
    pub failure: Option<SourceError>,
}

/// What a source says of one board makes no sense.
#[derive(Debug)]
pub struct Faulty {
    /// The board.
    pub psid: Psid,
    /// Name of the source.
    pub name: Arc<str>,
    /// What is wrong.
    pub error: SourceError,
}

impl Findings {
    /// The releases for a board, newest first.
    pub fn of(&self, psid: &Psid) -> impl Iterator<Item = &Release> {
        let positions = self.boards.get(&board_key(psid)).map(Vec::as_slice);
        let positions = positions.unwrap_or_default().iter();
        positions.filter_map(|&position| self.releases.get(position))
    }

    /// Every source answered, so a board without a release is listed nowhere.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.searched.iter().all(|source| source.failure.is_none())
    }
}

impl Findings {
    /// Adds a release unless an earlier source offers the same.
    pub(super) fn add(&mut self, release: Release) {
        let positions = self.boards.entry(board_key(&release.psid)).or_default();
        let known = |&position: &usize| self.releases.get(position);
        if !positions
            .iter()
            .filter_map(known)
            .any(|known| is_same(known, &release))
        {
            positions.push(self.releases.len());
            self.releases.push(release);
        }
    }

    /// Sorts them as the boards were asked for, newest first.
    pub(super) fn in_order(mut self, asked: &[Asked]) -> Self {
        let boards = asked.iter().enumerate().rev();
        let places: HashMap<String, usize> = boards
            .map(|(place, board)| (board_key(&board.psid), place))
            .collect();
        self.releases.sort_by_cached_key(|release| {
            let place = places.get(&board_key(&release.psid)).copied();
            (place, Reverse(release.firmware()))
        });
        self.boards.clear();
        for (position, release) in self.releases.iter().enumerate() {
            let board = self.boards.entry(board_key(&release.psid));
            board.or_default().push(position);
        }
        self
    }
}

/// Whether two sources offer the same for a board: the same image, or the same file.
fn is_same(one: &Release, other: &Release) -> bool {
    let equal = |one: Option<Digest>, other| one.is_some() && one == other;
    one.firmware() == other.firmware()
        && (equal(one.image_sha256, other.image_sha256)
            || equal(one.sha256, other.sha256)
            || one.place == other.place)
}
