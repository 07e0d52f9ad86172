//! The index at the end of an XZ stream: where its blocks are, so that reading can start in the
//! middle (bundles 1.10).

use std::ops::Range;

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

/// The blocks of the single stream in `input`, which zero padding may follow.
///
/// Nothing is allocated for a count that the index has no room for, and the blocks fill the stream
/// exactly.
///
/// # Errors
/// What is wrong with footer or index.
pub fn blocks(input: &[u8]) -> Result<Vec<Block>, &'static str> {
    let end = input.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
    let footer_start = end
        .checked_sub(STREAM_HEADER)
        .ok_or("there is no stream footer")?;
    let index_size = index_size(input.get(footer_start..end).unwrap_or_default())?;
    let index_start = footer_start
        .checked_sub(index_size)
        .ok_or("the index is larger than the stream")?;
    let index = input.get(index_start..footer_start).unwrap_or_default();
    let blocks = records(index)?;
    let blocks_end = blocks
        .last()
        .map_or(STREAM_HEADER, |block| block.stored.end);
    if blocks_end != index_start {
        return Err("the index does not match the stream");
    }
    Ok(blocks)
}

/// Size of the index, from the footer: CRC-32, size in words less one, flags, "YZ".
fn index_size(footer: &[u8]) -> Result<usize, &'static str> {
    let covered = footer.get(4..10).unwrap_or_default();
    if !footer.ends_with(b"YZ") || le32(footer, 0) != Some(crc32fast::hash(covered)) {
        return Err("the stream footer is damaged");
    }
    le32(footer, 4)
        .and_then(|words| usize::try_from(words).ok()?.checked_add(1)?.checked_mul(4))
        .ok_or("the stream footer is damaged")
}

/// The records of an index: marker, count, sizes of each block, padding, CRC-32.
fn records(index: &[u8]) -> Result<Vec<Block>, &'static str> {
    const DAMAGED: &str = "the stream's index is damaged";
    let (fields, crc) = index.split_last_chunk::<4>().ok_or(DAMAGED)?;
    if u32::from_le_bytes(*crc) != crc32fast::hash(fields) {
        return Err(DAMAGED);
    }
    let mut rest = fields.strip_prefix(&[0]).ok_or(DAMAGED)?;
    let count = number(&mut rest).ok_or(DAMAGED)?;
    // A record takes two bytes at least.
    if count > rest.len() as u64 / 2 {
        return Err("the stream's index announces more blocks than it has room for");
    }
    let mut blocks: Vec<Block> = Vec::new();
    for _ in 0..count {
        let record = block(&mut rest, blocks.last());
        blocks.push(record.ok_or(DAMAGED)?);
    }
    if rest.len() >= 4 || rest.iter().any(|&b| b != 0) {
        return Err(DAMAGED);
    }
    Ok(blocks)
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
mod tests {
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
        let blocks = blocks(&packed).unwrap();
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[0].stored.start, STREAM_HEADER);
        assert_eq!(blocks[0].plain, 0..1000);
        assert_eq!(blocks[1].plain, 1000..1500);
        assert_eq!(blocks[0].stored.end, blocks[1].stored.start);
    }

    #[test]
    fn a_flipped_byte_of_footer_or_index_is_found() {
        let packed = stream_of_blocks(&[&[1; 1000], &[2; 500]]);
        let index_start = blocks(&packed).unwrap()[1].stored.end;
        for at in index_start..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x10;
            assert!(blocks(&damaged).is_err(), "byte {at}");
        }
        for empty in [&[][..], &[0; 64]] {
            assert!(blocks(empty).is_err());
        }
    }
}
