//! The MAP section: boards, their metadata and the pieces of their images (bundles 1.4 to 1.6).

use std::borrow::Cow;
use std::collections::HashSet;
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
    metadata: Metadata,
    /// Image entries in the order of the file.
    pub images: Vec<ImageReference>,
}

/// Key and value pairs as stored, each string ended by a NUL: taken apart only when asked for, so
/// that metadata never takes more memory than the section it is in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Metadata {
    strings: Vec<u8>,
    pairs: usize,
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

    /// Key and value pairs in the order of the file. Keys tools know: `PN`, `DESCRIPTION`,
    /// `BOARD_REV`, `BRANCH`.
    pub fn metadata(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        let strings = self.metadata.strings.split(|&b| b == 0);
        let mut strings = strings.map(String::from_utf8_lossy);
        (0..self.metadata.pairs).map_while(move |_| Some((strings.next()?, strings.next()?)))
    }

    /// The value of a metadata key fit to be shown: the first exact match, not empty, no control characters, cut at
    /// [`limits::METADATA_VALUE`].
    #[must_use]
    pub fn shown(&self, key: &str) -> Option<String> {
        let (_, value) = self.metadata().find(|(name, _)| name == key)?;
        if value.is_empty() {
            return None;
        }
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
        metadata: Metadata::default(),
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
    board.metadata = Metadata::parse(metadata).map_err(|reason| Fault::BadMetadata {
        board: board.label(),
        reason,
    })?;
    board.images = images
        .chunks_exact(IMAGE_ENTRY)
        .map(|entry| image(entry, &board, pieces))
        .collect::<Result<_, _>>()?;
    Ok((board, size))
}

impl Metadata {
    /// Metadata of a board; raw metadata has no pairs (bundles 1.5). The error says what is wrong.
    fn parse(metadata: &[u8]) -> Result<Self, String> {
        if metadata.is_empty() {
            return Ok(Self::default());
        }
        let Some((header, strings)) = metadata.split_first_chunk::<4>() else {
            return Err(format!("{} bytes are no metadata header", metadata.len()));
        };
        if header[0] != KEY_VALUE_PAIRS {
            return Ok(Self::default());
        }
        let pairs = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let terminated = strings.iter().filter(|&&b| b == 0).count();
        if terminated < 2 * pairs {
            return Err(format!(
                "{pairs} pairs are announced, but only {terminated} terminated strings are there"
            ));
        }
        Ok(Self {
            strings: strings.to_vec(),
            pairs,
        })
    }
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

/// Positions of boards that an earlier one with the same PSID hides.
#[must_use]
pub fn repeats(boards: &[Board]) -> HashSet<usize> {
    let mut seen = HashSet::new();
    let named = boards.iter().filter(|board| board.psid.is_some());
    named
        .filter(|board| !seen.insert(&board.psid))
        .map(|board| board.position)
        .collect()
}
