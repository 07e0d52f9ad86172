//! The MAP section: boards, their metadata and the pieces of their images (bundles 1.4 to 1.6).

use std::fmt;

use crate::bundle::error::Fault;
use crate::bundle::limits;
use crate::bytes::{be16, be32, text};
use crate::identity::Psid;

const BOARD_HEADER: usize = 36;
const IMAGE_ENTRY: usize = 40;
const TOC_ENTRY: u64 = 24;
const KEY_VALUE_PAIRS: u8 = 1;

/// One board with its images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// Position in the MAP section.
    pub position: usize,
    /// The board; `None` when its field holds nothing that could be a PSID.
    pub psid: Option<Psid>,
    /// Key and value pairs in the order of the file. Keys tools know: `PN`, `DESCRIPTION`,
    /// `BOARD_REV`, `BRANCH`.
    pub metadata: Vec<(String, String)>,
    /// Image entries in the order of the file.
    pub images: Vec<ImageReference>,
}

/// One image entry of a board: a piece, and when it is part of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageReference {
    /// Index of the piece in the TOC.
    pub piece: usize,
    /// 1 firmware, 2 expansion ROM, 0 none.
    pub image_type: u16,
    /// Neighbours with the same group are alternatives for one piece of the image.
    pub group: u8,
    /// Selector tag, empty for none; as stored up to the first NUL, printable.
    pub tag: String,
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "type {}, tag `{}`", self.image_type, self.tag)
    }
}

impl Board {
    /// The PSID, or the position where there is none, for messages.
    #[must_use]
    pub fn label(&self) -> String {
        self.psid
            .as_ref()
            .map_or_else(|| format!("#{}", self.position), ToString::to_string)
    }

    /// The value of a metadata key: the first exact match, as stored.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.metadata
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// The value of a metadata key fit to be shown: not empty, no control characters, cut at
    /// [`limits::METADATA_VALUE`].
    #[must_use]
    pub fn shown(&self, key: &str) -> Option<String> {
        let value = self.value(key).filter(|value| !value.is_empty())?;
        let mut shown = String::new();
        for c in value.chars() {
            if (shown.len() + c.len_utf8()) as u64 > limits::METADATA_VALUE.allowed {
                break;
            }
            shown.push(if c.is_control() { '?' } else { c });
        }
        Some(shown)
    }

    /// The selector tags under which there is an image of this type, in order; the empty tag is
    /// one when some piece has no tag.
    #[must_use]
    pub fn tags(&self, image_type: u16) -> Vec<&str> {
        let of_type = || self.images.iter().filter(|i| i.image_type == image_type);
        let mut tags = Vec::new();
        if of_type().any(|image| image.tag.is_empty()) {
            tags.push("");
        }
        for image in of_type() {
            if !tags.contains(&image.tag.as_str()) {
                tags.push(&image.tag);
            }
        }
        tags
    }
}

/// Takes the plain MAP apart. `pieces` is the number of TOC entries.
///
/// # Errors
/// [`Fault::MapTruncated`], [`Fault::BadMetadata`], [`Fault::TocOffsetOutOfRange`],
/// [`Fault::LimitExceeded`].
pub fn parse(map: &[u8], pieces: usize) -> Result<Vec<Board>, Fault> {
    let mut boards = Vec::new();
    let mut rest = map;
    while !rest.is_empty() {
        limits::MAP_ENTRIES.check(boards.len() as u64 + 1)?;
        let offset = map.len() - rest.len();
        let (board, size) = board(rest, offset, boards.len(), pieces)?;
        boards.push(board);
        rest = rest.get(size..).unwrap_or_default();
    }
    Ok(boards)
}

/// The board at the start of `rest`, which is `offset` bytes into the MAP, and its size.
fn board(
    rest: &[u8],
    offset: usize,
    position: usize,
    pieces: usize,
) -> Result<(Board, usize), Fault> {
    let mut board = Board {
        position,
        psid: rest.get(..32).and_then(Psid::from_field),
        metadata: Vec::new(),
        images: Vec::new(),
    };
    let truncated = |board: &Board, what, wanted: usize| Fault::MapTruncated {
        board: board.label(),
        what,
        offset: offset as u64,
        wanted: wanted as u64,
        available: rest.len() as u64,
    };
    let header = rest
        .get(..BOARD_HEADER)
        .ok_or_else(|| truncated(&board, "the header", BOARD_HEADER))?;
    let images = usize::from(header.get(32).copied().unwrap_or(0));
    let metadata = usize::from(be16(header, 34).unwrap_or(0));
    let images_start = BOARD_HEADER + metadata;
    let size = images_start + IMAGE_ENTRY * images;
    let (Some(metadata), Some(images)) = (
        rest.get(BOARD_HEADER..images_start),
        rest.get(images_start..size),
    ) else {
        return Err(truncated(&board, "the whole entry", size));
    };
    board.metadata = pairs(metadata).map_err(|reason| Fault::BadMetadata {
        board: board.label(),
        reason,
    })?;
    board.images = images
        .chunks_exact(IMAGE_ENTRY)
        .map(|entry| image(entry, &board, pieces))
        .collect::<Result<_, _>>()?;
    Ok((board, size))
}

/// Metadata pairs; raw metadata has none (bundles 1.5). The error says what is wrong.
fn pairs(metadata: &[u8]) -> Result<Vec<(String, String)>, String> {
    if metadata.is_empty() {
        return Ok(Vec::new());
    }
    let Some((header, strings)) = metadata.split_first_chunk::<4>() else {
        return Err(format!("{} bytes are no metadata header", metadata.len()));
    };
    if header[0] != KEY_VALUE_PAIRS {
        return Ok(Vec::new());
    }
    let count = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let terminated = strings.iter().filter(|&&b| b == 0).count();
    if terminated < 2 * count {
        return Err(format!(
            "{count} pairs are announced, but only {terminated} terminated strings are there"
        ));
    }
    let mut strings = strings
        .split(|&b| b == 0)
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    Ok((0..count)
        .map_while(|_| Some((strings.next()?, strings.next()?)))
        .collect())
}

/// One image entry; its TOC offset must be the start of one of `pieces` entries.
fn image(entry: &[u8], board: &Board, pieces: usize) -> Result<ImageReference, Fault> {
    let toc_offset = u64::from(be32(entry, 0).unwrap_or(u32::MAX));
    let piece = usize::try_from(toc_offset / TOC_ENTRY).unwrap_or(usize::MAX);
    if !toc_offset.is_multiple_of(TOC_ENTRY) || piece >= pieces {
        return Err(Fault::TocOffsetOutOfRange {
            board: board.label(),
            toc_offset,
            toc_size: pieces as u64 * TOC_ENTRY,
        });
    }
    Ok(ImageReference {
        piece,
        image_type: be16(entry, 4).unwrap_or(0),
        group: entry.get(7).copied().unwrap_or(0),
        tag: text(entry.get(8..).unwrap_or_default()),
    })
}

/// Whether an earlier board has the same PSID, so that this one is never found.
#[must_use]
pub fn is_repeat(boards: &[Board], position: usize) -> bool {
    let (before, psid) = match boards.get(position) {
        Some(board) if board.psid.is_some() => (boards.get(..position), &board.psid),
        _ => return false,
    };
    before
        .unwrap_or_default()
        .iter()
        .any(|board| &board.psid == psid)
}

/// A warning for each board that an earlier one with the same PSID hides.
#[must_use]
pub fn repeated(boards: &[Board]) -> Vec<String> {
    (0..boards.len())
        .filter(|&position| is_repeat(boards, position))
        .filter_map(|position| boards.get(position))
        .map(|board| {
            format!(
                "PSID {} is listed again as board {}; only the first counts",
                board.label(),
                board.position
            )
        })
        .collect()
}
