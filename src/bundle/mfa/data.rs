//! The DATA section: one plain block that pieces are cut from (bundles 1.10).

use std::ops::Range;

use super::{Board, Piece, Section};
use crate::bundle::content::Content;
use crate::bundle::error::Fault;
use crate::bundle::limits;
use crate::bundle::xz::Inflater;
use crate::bundle::xz::index::{self, Block};

/// What errors call the section.
const SECTION: &str = "DATA";

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

/// Makes the integrity checks of a compressed section.
///
/// # Errors
/// [`Fault::Decompression`], [`Fault::LimitExceeded`].
pub fn verify(content: &Content, section: &Section) -> Result<(), Fault> {
    if section.compressed {
        Inflater::new(SECTION, section.stored(content.as_slice()))?
            .metered(content.meter())
            .finish()?;
    }
    Ok(())
}

/// An image that lies in one piece: index of its entry, the piece, the board it is for.
pub type Wanted<'a> = (usize, &'a Piece, &'a Board);

/// Hands the images to `visit`, inflating a compressed section once, whole. Returns those that
/// start before the end of the one in front of them: they need a pass of their own.
///
/// # Errors
/// As [`join`].
pub fn walk<'a>(
    content: &Content,
    section: &Section,
    mut wanted: Vec<Wanted<'a>>,
    visit: &mut impl FnMut(usize, &[u8]),
) -> Result<Vec<Wanted<'a>>, Fault> {
    let stored = section.stored(content.as_slice());
    if !section.compressed {
        for (index, piece, board) in wanted {
            limits::IMAGE.check(u64::from(piece.size))?;
            visit(index, slice(stored, piece, &board.label())?);
        }
        return Ok(Vec::new());
    }
    wanted.sort_by_key(|(_, piece, _)| (piece.offset, piece.size));
    let mut inflater = Inflater::new(SECTION, stored)?.metered(content.meter());
    let mut left = Vec::new();
    let mut last: Option<(&Piece, Vec<u8>)> = None;
    for (index, piece, board) in wanted {
        // Boards may share an image.
        if let Some((_, image)) = last
            .as_ref()
            .filter(|(l, _)| (l.offset, l.size) == (piece.offset, piece.size))
        {
            visit(index, image);
            continue;
        }
        let Some(distance) = piece.offset.checked_sub(inflater.produced()) else {
            left.push((index, piece, board));
            continue;
        };
        limits::PLAIN.check(piece.offset)?;
        inflater.skip(distance)?;
        let image = inflater.read_vec(limits::IMAGE.check(u64::from(piece.size))?)?;
        visit(index, &image);
        last = Some((piece, image));
    }
    inflater.finish()?;
    Ok(left)
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

fn out_of_range(piece: &Piece, board: &str, available: u64) -> Fault {
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
        let end = piece.offset + u64::from(piece.size);
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
