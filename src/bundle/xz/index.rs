//! The index at the end of an XZ stream: where its blocks are, so that reading can start in the
//! middle (bundles 1.10).

use std::ops::Range;

use crate::bundle::error::Fault;
use crate::bundle::limits;
use crate::bytes::le32;

/// Size of a stream's header, and of its footer.
pub const STREAM_HEADER: usize = 12;

/// One block: where it lies in the stream, and which plain bytes it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// In the stream, padding included.
    pub stored: Range<usize>,
    /// Of the plain bytes.
    pub plain: Range<u64>,
}

/// The blocks of the single stream in `input`, which zero padding may follow; `section` is what
/// errors call it.
///
/// Nothing is allocated for a count that the index has no room for, and the blocks fill the stream
/// exactly.
///
/// # Errors
/// [`Fault::Decompression`], [`Fault::LimitExceeded`] above [`limits::BLOCKS`].
pub fn blocks(section: &'static str, input: &[u8]) -> Result<Vec<Block>, Fault> {
    let damaged = |reason: &str| Fault::Decompression {
        section,
        reason: reason.to_owned(),
    };
    let end = input.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
    let footer_start = end
        .checked_sub(STREAM_HEADER)
        .ok_or_else(|| damaged("there is no stream footer"))?;
    let footer = input.get(footer_start..end).unwrap_or_default();
    let index_size = index_size(footer).ok_or_else(|| damaged("the stream footer is damaged"))?;
    let index_start = footer_start
        .checked_sub(index_size)
        .ok_or_else(|| damaged("the index is larger than the stream"))?;
    let index = input.get(index_start..footer_start).unwrap_or_default();
    let damaged_index = || damaged("the index of the stream is damaged");
    let (count, records) = count(index).ok_or_else(damaged_index)?;
    let blocks = records_of(limits::BLOCKS.check(count)?, records).ok_or_else(damaged_index)?;
    let blocks_end = blocks.last().map_or(STREAM_HEADER, |b| b.stored.end);
    if blocks_end != index_start {
        return Err(damaged("the index does not match the stream"));
    }
    Ok(blocks)
}

/// Size of the index, from the footer: CRC-32, size in words less one, flags, "YZ".
fn index_size(footer: &[u8]) -> Option<usize> {
    let covered = footer.get(4..10)?;
    if !footer.ends_with(b"YZ") || le32(footer, 0)? != crc32fast::hash(covered) {
        return None;
    }
    let words = usize::try_from(le32(footer, 4)?).ok()?;
    words.checked_add(1)?.checked_mul(4)
}

/// The number of records of an index, for which there is room, and the bytes of the records:
/// marker, count, records, padding, CRC-32.
fn count(index: &[u8]) -> Option<(u64, &[u8])> {
    let (fields, crc) = index.split_last_chunk::<4>()?;
    if u32::from_le_bytes(*crc) != crc32fast::hash(fields) {
        return None;
    }
    let mut rest = fields.strip_prefix(&[0])?;
    let count = number(&mut rest)?;
    // A record takes two bytes at least.
    (count <= rest.len() as u64 / 2).then_some((count, rest))
}

fn records_of(count: u64, mut rest: &[u8]) -> Option<Vec<Block>> {
    let mut blocks: Vec<Block> = Vec::new();
    for _ in 0..count {
        let record = block(&mut rest, blocks.last())?;
        blocks.push(record);
    }
    let padded = rest.len() < 4 && rest.iter().all(|&b| b == 0);
    padded.then_some(blocks)
}

fn block(rest: &mut &[u8], before: Option<&Block>) -> Option<Block> {
    let stored = usize::try_from(number(rest)?).ok()?;
    let plain = number(rest)?;
    let stored_start = before.map_or(STREAM_HEADER, |block| block.stored.end);
    let plain_start = before.map_or(0, |block| block.plain.end);
    let stored_end = stored_start
        .checked_add(stored)?
        .checked_next_multiple_of(4)?;
    Some(Block {
        stored: stored_start..stored_end,
        plain: plain_start..plain_start.checked_add(plain)?,
    })
}

/// An XZ variable-length number: seven bits a byte, lowest first, at most 63 bits.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use liblzma::stream::{Action, Check, Stream};

    /// A stream of a block for each piece.
    pub fn stream_of_blocks(pieces: &[&[u8]]) -> Vec<u8> {
        let mut encoder = Stream::new_easy_encoder(0, Check::Crc32).unwrap();
        let mut packed = Vec::with_capacity(1 << 20);
        for piece in pieces {
            encoder
                .process_vec(piece, &mut packed, Action::FullFlush)
                .unwrap();
        }
        encoder
            .process_vec(&[], &mut packed, Action::Finish)
            .unwrap();
        packed
    }

    #[test]
    fn the_blocks_of_a_stream_are_found_behind_padding() {
        let mut packed = stream_of_blocks(&[&[1; 1000], &[2; 500]]);
        packed.extend([0; 8]);
        let blocks = blocks("DATA", &packed).unwrap();
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[0].stored.start, STREAM_HEADER);
        assert_eq!(blocks[0].plain, 0..1000);
        assert_eq!(blocks[1].plain, 1000..1500);
        assert_eq!(blocks[0].stored.end, blocks[1].stored.start);
    }

    #[test]
    fn a_flipped_byte_of_footer_or_index_is_found() {
        let packed = stream_of_blocks(&[&[1; 1000], &[2; 500]]);
        let index_start = blocks("DATA", &packed).unwrap()[1].stored.end;
        for at in index_start..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x10;
            assert!(blocks("DATA", &damaged).is_err(), "byte {at}");
        }
        for empty in [&[][..], &[0; 64]] {
            assert!(blocks("DATA", empty).is_err());
        }
    }
}
