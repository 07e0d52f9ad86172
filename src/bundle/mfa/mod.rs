//! MFA v1 archives (`MFAR`): many boards, one compressed block of image pieces (bundles 1).
//!
//! Opening checks the CRC of the file and reads MAP (boards) and TOC (pieces); the DATA section
//! stays untouched until an image is extracted. [`Archive::extract`] joins the pieces of a board.

mod data;
mod gather;
mod map;
mod toc;

pub use map::{Board, ImageReference};
pub use toc::{Piece, PieceKind, is_switch};

use std::ops::Range;

use super::content::Content;
use super::entry::Entry;
use super::error::Fault;
use super::limits;
use super::signature::{self, Signature};
use super::xz;
use crate::bytes::{be16, be32};
use crate::identity::Psid;

/// Image type of firmware, the only one tools ask for (bundles 1.6).
pub const FIRMWARE: u16 = 1;

const HEADER: u64 = 16;
const SECTION_HEADER: u64 = 8;
const TRAILER: u64 = 4;
const MAP: u8 = 1;
const TOC: u8 = 2;
const DATA: u8 = 3;

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    content: Content,
    boards: Vec<Board>,
    toc: Vec<Piece>,
    data: Section,
    entries: Vec<Entry>,
    /// For each entry, the position of its board.
    of_board: Vec<usize>,
    warnings: Vec<String>,
}

/// One section: where its stored payload lies in the file.
#[derive(Debug, Clone)]
struct Section {
    payload: Range<u64>,
    compressed: bool,
}

impl Archive {
    /// Reads the archive in `content` (bundles 1.11).
    ///
    /// # Errors
    /// Every class of bundles chapter 6 that concerns MFA v1, and `limit_exceeded`.
    pub fn parse(content: Content) -> Result<Self, Fault> {
        let bytes = content.as_slice();
        check_header(bytes)?;
        check_crc(bytes)?;
        let end = bytes.len() as u64 - TRAILER;
        let map = section(bytes, HEADER, end, MAP)?;
        let toc = section(bytes, map.payload.end, end, TOC)?;
        let data = section(bytes, toc.payload.end, end, DATA)?;
        let mut warnings = Vec::new();
        if data.payload.end < end {
            let extra = end - data.payload.end;
            warnings.push(format!(
                "{extra} bytes between the DATA section and the CRC belong to nothing"
            ));
        }
        let toc = toc::parse(&plain(bytes, &toc, "TOC", limits::PLAIN_TOC)?)?;
        data::check_idle(&content, &data, &toc)?;
        let boards = map::parse(&plain(bytes, &map, "MAP", limits::PLAIN_MAP)?, toc.len())?;
        let mut archive = Self {
            boards,
            toc,
            data,
            entries: Vec::new(),
            of_board: Vec::new(),
            warnings,
            content,
        };
        archive.list()?;
        Ok(archive)
    }

    /// Makes the entries; a board that an earlier one hides only gives a warning.
    fn list(&mut self) -> Result<(), Fault> {
        let repeats = map::repeats(&self.boards);
        let (mut entries, mut of_board) = (Vec::new(), Vec::new());
        let mut listed = 0;
        for board in &self.boards {
            if repeats.contains(&board.position) {
                let (psid, position) = (board.label(), board.position);
                self.warnings.push(format!(
                    "PSID {psid} is listed again as board {position}; only the first counts"
                ));
                continue;
            }
            for tag in board.tags(FIRMWARE) {
                limits::ENTRIES.check(entries.len() as u64 + 1)?;
                let entry = self.entry(entries.len(), board, tag);
                listed += length(&entry);
                limits::LISTING.check(listed)?;
                entries.push(entry);
                of_board.push(board.position);
            }
        }
        (self.entries, self.of_board) = (entries, of_board);
        Ok(())
    }

    fn entry(&self, index: usize, board: &Board, tag: &str) -> Entry {
        let pieces = self.pieces(board, FIRMWARE, tag);
        Entry {
            index,
            psid: board.psid.clone(),
            part_number: board.shown("PN"),
            description: board.shown("DESCRIPTION"),
            tag: tag.to_owned(),
            versions: toc::versions(&pieces, board.shown("BRANCH").as_deref()),
            size: Some(pieces.iter().map(|piece| u64::from(piece.size)).sum()),
            ..Entry::default()
        }
    }

    /// The boards in the order of the file.
    #[must_use]
    pub fn boards(&self) -> &[Board] {
        &self.boards
    }

    /// The piece an image reference of a board points to.
    #[must_use]
    pub fn piece(&self, reference: &ImageReference) -> Option<&Piece> {
        self.toc.get(reference.piece)
    }

    /// Oddities that do not make the archive unusable.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The bytes of the image of `image_type` for a board and selector tag (bundles 1.9); an empty
    /// `tag` takes no tagged alternative.
    ///
    /// # Errors
    /// [`Fault::PsidNotFound`], [`Fault::ImageNotFound`], [`Fault::DataOutOfRange`],
    /// [`Fault::LimitExceeded`], [`Fault::Decompression`].
    pub fn extract(&self, psid: &Psid, image_type: u16, tag: &str) -> Result<Vec<u8>, Fault> {
        let board = self
            .boards
            .iter()
            .find(|board| board.psid.as_ref() == Some(psid))
            .ok_or_else(|| self.psid_not_found(psid))?;
        self.image(board, image_type, tag)
    }

    /// The bytes of the image of one entry.
    ///
    /// # Errors
    /// [`Fault::EntryNotFound`], and those of [`Archive::extract`].
    pub fn read(&self, index: usize) -> Result<Vec<u8>, Fault> {
        let place = self.entries.get(index).zip(self.of_board.get(index));
        let found = place.and_then(|(entry, &board)| Some((entry, self.boards.get(board)?)));
        let (entry, board) = found.ok_or(Fault::EntryNotFound {
            index,
            count: self.entries.len(),
        })?;
        self.image(board, FIRMWARE, &entry.tag)
    }

    fn image(&self, board: &Board, image_type: u16, tag: &str) -> Result<Vec<u8>, Fault> {
        let pieces = self.pieces(board, image_type, tag);
        if pieces.is_empty() {
            return Err(Fault::ImageNotFound {
                psid: board.label(),
                asked: format!("type {image_type}, tag `{tag}`"),
                present: board.images.iter().map(ToString::to_string).collect(),
            });
        }
        data::join(&self.content, &self.data, &pieces, &board.label())
    }

    /// Every image of type firmware as an entry: one for each board and selector tag. `Entry::index`
    /// is its position.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Hands the image of every entry to `visit` with its index, each when its last piece has gone
    /// by. The DATA section is inflated once, or twice when pieces of images lie far apart, and
    /// checked to its end.
    ///
    /// # Errors
    /// The first of [`Archive::extract`].
    pub fn read_each(&self, mut visit: impl FnMut(usize, &[u8])) -> Result<(), Fault> {
        let boards = self.of_board.iter().map(|&board| self.boards.get(board));
        let wanted = self
            .entries
            .iter()
            .zip(boards)
            .filter_map(|(entry, board)| {
                let board = board?;
                let mut pieces = self.pieces(board, FIRMWARE, &entry.tag);
                pieces.retain(|piece| piece.size > 0);
                Some((entry.index, pieces, board))
            });
        data::each(&self.content, &self.data, wanted.collect(), &mut visit)
    }

    /// Inflates the whole DATA section, so that its integrity checks are made.
    ///
    /// # Errors
    /// [`Fault::Decompression`], [`Fault::LimitExceeded`].
    pub fn verify(&self) -> Result<(), Fault> {
        data::verify(&self.content, &self.data)
    }

    /// The pieces of an image in order: of each run of alternatives (a group) the first that fits.
    fn pieces(&self, board: &Board, image_type: u16, tag: &str) -> Vec<&Piece> {
        let mut last_group = None;
        let mut picked = Vec::new();
        for image in &board.images {
            let fits = image.tag.is_empty() || (!tag.is_empty() && image.tag == tag);
            if image.image_type != image_type || !fits || last_group == Some(image.group) {
                continue;
            }
            last_group = Some(image.group);
            picked.extend(self.toc.get(image.piece));
        }
        picked
    }

    fn psid_not_found(&self, psid: &Psid) -> Fault {
        Fault::PsidNotFound {
            psid: psid.to_string(),
            present: self
                .boards
                .iter()
                .filter_map(|board| board.psid.as_ref().map(ToString::to_string))
                .collect(),
        }
    }
}

/// What an entry counts in a list, see [`limits::LISTING`].
fn length(entry: &Entry) -> u64 {
    let texts = [&entry.part_number, &entry.description];
    let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
    (texts + entry.tag.len()) as u64 + limits::LISTED_VERSION * entry.versions.len() as u64
}

/// Size, signature, version (bundles 1.2).
fn check_header(bytes: &[u8]) -> Result<(), Fault> {
    let head = bytes.get(..4).unwrap_or(bytes);
    if head.is_empty() || !signature::MFA.starts_with(head) {
        return Err(Fault::NotAnMfa {
            found: Signature::of(bytes).to_string(),
        });
    }
    let size = bytes.len() as u64;
    if size < HEADER + TRAILER {
        return Err(Fault::Truncated {
            structure: "MFA header",
            offset: 0,
            wanted: HEADER + TRAILER,
            end: size,
        });
    }
    let major = be16(bytes, 4).unwrap_or(u16::MAX);
    let minor = be16(bytes, 6).unwrap_or(u16::MAX);
    if major != 0 {
        return Err(Fault::UnsupportedVersion {
            format: "MFA",
            found: format!("{major}.{minor}"),
        });
    }
    Ok(())
}

/// The CRC-32 in the last four bytes, over all before (bundles 1.1).
fn check_crc(bytes: &[u8]) -> Result<(), Fault> {
    let Some((covered, trailer)) = bytes.split_last_chunk::<4>() else {
        return Err(Fault::Empty);
    };
    let stored = u32::from_be_bytes(*trailer);
    let computed = crc32fast::hash(covered);
    if stored == computed {
        Ok(())
    } else {
        Err(Fault::CrcMismatch {
            what: "MFA file",
            stored,
            computed,
        })
    }
}

/// The section whose header is at `offset`, wholly before `end` (bundles 1.3).
fn section(bytes: &[u8], offset: u64, end: u64, expected: u8) -> Result<Section, Fault> {
    let truncated = |structure, offset, wanted| Fault::Truncated {
        structure,
        offset,
        wanted,
        end,
    };
    let (structure, body) = match expected {
        MAP => ("MAP section header", "MAP section"),
        TOC => ("TOC section header", "TOC section"),
        _ => ("DATA section header", "DATA section"),
    };
    let start = offset + SECTION_HEADER;
    if start > end {
        return Err(truncated(structure, offset, SECTION_HEADER));
    }
    let header = usize::try_from(offset)
        .ok()
        .and_then(|at| bytes.get(at..)?.first_chunk::<8>())
        .ok_or_else(|| truncated(structure, offset, SECTION_HEADER))?;
    let found = header[0];
    if found != expected {
        return Err(Fault::BadSectionType {
            offset,
            expected,
            found,
        });
    }
    let size = u64::from(be32(header, 4).unwrap_or(u32::MAX));
    if size > end - start {
        return Err(truncated(body, start, size));
    }
    Ok(Section {
        payload: start..start + size,
        compressed: header[3] & 1 != 0,
    })
}

impl Section {
    fn stored<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let start = usize::try_from(self.payload.start).unwrap_or(usize::MAX);
        let end = usize::try_from(self.payload.end).unwrap_or(usize::MAX);
        bytes.get(start..end).unwrap_or_default()
    }
}

/// The plain bytes of MAP or TOC.
fn plain<'a>(
    bytes: &'a [u8],
    section: &Section,
    name: &'static str,
    limit: limits::Limit,
) -> Result<std::borrow::Cow<'a, [u8]>, Fault> {
    let stored = section.stored(bytes);
    if section.compressed {
        return xz::inflate_all(name, stored, limit).map(Into::into);
    }
    limit.check(stored.len() as u64)?;
    Ok(stored.into())
}
