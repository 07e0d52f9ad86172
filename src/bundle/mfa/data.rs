//! The DATA section: one plain block that pieces are cut from (bundles 1.10).

use std::ops::Range;

use super::gather::{self, Wanted};
use super::{Piece, Section};
use crate::bundle::content::Content;
use crate::bundle::error::Fault;
use crate::bundle::limits;
use crate::bundle::xz::Inflater;
use crate::bundle::xz::index::{self, Block};

/// What errors call the section.
pub const SECTION: &str = "DATA";

/// The bytes of `pieces` one after the other. `board` names them in errors.
///
/// # Errors
/// [`Fault::LimitExceeded`], [`Fault::DataOutOfRange`], [`Fault::Decompression`].
pub fn join(
    content: &Content,
    section: &Section,
    pieces: &[&Piece],
    board: &str,
) -> Result<Vec<u8>, Fault> {
    let total = pieces.iter().map(|piece| u64::from(piece.size)).sum();
    let total = usize::try_from(limits::IMAGE.check(total)?).unwrap_or(usize::MAX);
    let stored = section.stored(content.as_slice());
    if section.compressed {
        return inflated((stored, content), pieces, total, board);
    }
    let mut image = Vec::with_capacity(total);
    for piece in pieces {
        image.extend_from_slice(slice(stored, piece, board)?);
    }
    Ok(image)
}

/// A compressed section does not inflate to more than its pieces need. One whose index is damaged
/// passes: it is refused when it is read.
///
/// # Errors
/// [`Fault::LimitExceeded`].
pub fn check_idle(content: &Content, section: &Section, toc: &[Piece]) -> Result<(), Fault> {
    if !section.compressed {
        return Ok(());
    }
    let Ok(plain) = plain_size(section.stored(content.as_slice())) else {
        return Ok(());
    };
    let pieces = toc.iter().map(|piece| (piece.offset, piece.end()));
    limits::idle(plain, pieces)
}

/// What a compressed section inflates to, by its index.
///
/// # Errors
/// As [`index::blocks`].
pub fn plain_size(stored: &[u8]) -> Result<u64, Fault> {
    let blocks = index::blocks(SECTION, stored)?;
    Ok(blocks.last().map_or(0, |block| block.plain.end))
}

/// Makes the integrity checks of a compressed section.
///
/// # Errors
/// [`Fault::Decompression`], [`Fault::LimitExceeded`].
pub fn verify(content: &Content, section: &Section) -> Result<(), Fault> {
    if section.compressed {
        let stored = section.stored(content.as_slice());
        Inflater::new(SECTION, stored)?
            .metered(content.meter())
            .finish(plain_size(stored)?)?;
    }
    Ok(())
}

/// Hands the images to `visit`; a compressed section is checked to its end.
///
/// # Errors
/// As [`join`].
pub fn each(
    content: &Content,
    section: &Section,
    wanted: Vec<Wanted<'_>>,
    visit: &mut impl FnMut(usize, &[u8]),
) -> Result<(), Fault> {
    let stored = section.stored(content.as_slice());
    let (wanted, empty): (Vec<_>, Vec<_>) = wanted
        .into_iter()
        .partition(|(_, pieces, _)| !pieces.is_empty());
    for (index, ..) in empty {
        visit(index, &[]);
    }
    if section.compressed {
        return gather::each(stored, content.meter(), wanted, visit);
    }
    for (index, pieces, board) in wanted {
        match pieces.as_slice() {
            [piece] => {
                limits::IMAGE.check(u64::from(piece.size))?;
                visit(index, slice(stored, piece, &board.label())?);
            }
            _ => visit(index, &join(content, section, &pieces, &board.label())?),
        }
    }
    Ok(())
}

fn slice<'a>(stored: &'a [u8], piece: &Piece, board: &str) -> Result<&'a [u8], Fault> {
    let range = || {
        let start = usize::try_from(piece.offset).ok()?;
        let end = start.checked_add(usize::try_from(piece.size).ok()?)?;
        stored.get(start..end)
    };
    if piece.size == 0 {
        return Ok(&[]);
    }
    range().ok_or_else(|| out_of_range(piece, board, stored.len() as u64))
}

/// `piece` is not in a section of `available` bytes.
pub fn out_of_range(piece: &Piece, board: &str, available: u64) -> Fault {
    Fault::DataOutOfRange {
        board: board.to_owned(),
        offset: piece.offset,
        size: u64::from(piece.size),
        available,
    }
}

/// The pieces of a compressed section, read in order of their offsets in one forward pass from the
/// block the first is in to the end of the block the last is in; each lands at its place in the
/// image. Pieces that overlap in the section start another pass.
fn inflated(
    (stored, content): (&[u8], &Content),
    pieces: &[&Piece],
    total: usize,
    board: &str,
) -> Result<Vec<u8>, Fault> {
    let blocks = index::blocks(SECTION, stored)?;
    let plain_size = blocks.last().map_or(0, |block| block.plain.end);
    let places = places(pieces, plain_size, board)?;
    let (Some(first), Some(last)) = (places.first(), places.iter().max_by_key(|p| p.end)) else {
        return Ok(Vec::new());
    };
    let blocks: Vec<Block> = blocks
        .into_iter()
        .filter(|block| block.plain.end > first.start && block.plain.start < last.end)
        .collect();
    let (Some(start), Some(end)) = (
        blocks.first().map(|block| block.plain.start),
        blocks.last().map(|block| block.plain.end),
    ) else {
        return Ok(Vec::new());
    };
    limits::PLAIN.check(end - start)?;

    let mut image = vec![0; total];
    let open = || Ok(Inflater::of_blocks(SECTION, stored, &blocks)?.metered(content.meter()));
    let mut inflater = open()?;
    for place in &places {
        if place.start < start + inflater.produced() {
            inflater = open()?;
        }
        inflater.skip(place.start - start - inflater.produced())?;
        inflater.read_exact(image.get_mut(place.image.clone()).unwrap_or_default())?;
    }
    inflater.skip(end - start - inflater.produced())?;
    inflater.expect_end_of_blocks()?;
    Ok(image)
}

/// Where a piece comes from in the plain section, and where it goes in the image.
struct Place {
    start: u64,
    end: u64,
    image: Range<usize>,
}

/// The places of the pieces that have bytes, in order of their start; all inside the section.
fn places(pieces: &[&Piece], plain_size: u64, board: &str) -> Result<Vec<Place>, Fault> {
    let mut places = Vec::new();
    let mut at = 0;
    for piece in pieces.iter().filter(|piece| piece.size > 0) {
        let end = piece.end();
        if end > plain_size {
            return Err(out_of_range(piece, board, plain_size));
        }
        let image_end = at + usize::try_from(piece.size).unwrap_or(usize::MAX);
        places.push(Place {
            start: piece.offset,
            end,
            image: at..image_end,
        });
        at = image_end;
    }
    places.sort_by_key(|place| place.start);
    Ok(places)
}
