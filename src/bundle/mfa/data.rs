//! The DATA section: one plain block that pieces are cut from (bundles 1.10).

use super::{Piece, Section};
use crate::bundle::error::Fault;
use crate::bundle::limits;
use crate::bundle::xz::Inflater;

/// The bytes of `pieces` one after the other. `board` names them in errors.
///
/// # Errors
/// [`Fault::LimitExceeded`], [`Fault::DataOutOfRange`], [`Fault::Decompression`].
pub fn join(
    bytes: &[u8],
    section: &Section,
    pieces: &[&Piece],
    board: &str,
) -> Result<Vec<u8>, Fault> {
    let total = pieces.iter().map(|piece| u64::from(piece.size)).sum();
    let total = usize::try_from(limits::IMAGE.check(total)?).unwrap_or(usize::MAX);
    let stored = section.stored(bytes);
    if section.compressed {
        inflated(stored, pieces, total)
    } else {
        let mut image = Vec::with_capacity(total);
        for piece in pieces {
            image.extend_from_slice(slice(stored, piece, board)?);
        }
        Ok(image)
    }
}

/// Makes the integrity checks of a compressed section.
///
/// # Errors
/// [`Fault::Decompression`], [`Fault::LimitExceeded`].
pub fn verify(bytes: &[u8], section: &Section) -> Result<(), Fault> {
    if section.compressed {
        Inflater::new("DATA", section.stored(bytes))?.finish()?;
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
    range().ok_or_else(|| Fault::DataOutOfRange {
        board: board.to_owned(),
        offset: piece.offset,
        size: u64::from(piece.size),
        available: stored.len() as u64,
    })
}

/// One forward pass over the stream in order of offsets; each piece lands at its place in the
/// image. Pieces that overlap in the section start another pass.
fn inflated(stored: &[u8], pieces: &[&Piece], total: usize) -> Result<Vec<u8>, Fault> {
    let mut places: Vec<(&Piece, usize)> = Vec::new();
    let mut place = 0;
    for piece in pieces.iter().filter(|piece| piece.size > 0) {
        limits::PLAIN.check(piece.offset + u64::from(piece.size))?;
        places.push((piece, place));
        place += usize::try_from(piece.size).unwrap_or(usize::MAX);
    }
    places.sort_by_key(|(piece, _)| piece.offset);

    let mut image = vec![0; total];
    let mut inflater = Inflater::new("DATA", stored)?;
    for (piece, place) in places {
        if piece.offset < inflater.produced() {
            inflater = Inflater::new("DATA", stored)?;
        }
        inflater.skip(piece.offset - inflater.produced())?;
        let end = place.saturating_add(usize::try_from(piece.size).unwrap_or(usize::MAX));
        inflater.read_exact(image.get_mut(place..end).unwrap_or_default())?;
    }
    inflater.finish()?;
    Ok(image)
}
