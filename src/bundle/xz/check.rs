//! The CRC-32 of the blocks of a stream, computed as they are read. The decoder could do it, but
//! takes as long for that as for inflating.

use std::collections::VecDeque;

use super::index::Block;
use crate::bytes::le32;

/// In the stream flags: blocks end in a CRC-32.
const CRC_32: u8 = 1;
/// Where the check of blocks is told in a stream header.
const CHECK_FLAG: usize = 7;

/// What is still to be checked of a run of blocks.
#[derive(Debug)]
pub struct BlockChecks {
    /// Plain bytes to come and stored CRC of each block.
    blocks: VecDeque<(u64, u32)>,
    crc: crc32fast::Hasher,
}

/// The bytes of a block are not those its CRC was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongCrc;

impl BlockChecks {
    /// For `blocks` of `stream`; `None` when its blocks have no CRC-32.
    pub fn new(stream: &[u8], blocks: &[Block]) -> Option<Self> {
        if *stream.get(CHECK_FLAG)? != CRC_32 {
            return None;
        }
        let stored = |block: &Block| {
            let size = block.plain.end - block.plain.start;
            Some((size, le32(stream, block.stored.end.checked_sub(4)?)?))
        };
        Some(Self {
            blocks: blocks.iter().map(stored).collect::<Option<_>>()?,
            crc: crc32fast::Hasher::new(),
        })
    }

    /// Takes the next plain bytes, and checks every block that ends with them. Bytes behind the last
    /// block are the decoder's business: it refuses a stream that does not fit its index.
    pub fn update(&mut self, mut bytes: &[u8]) -> Result<(), WrongCrc> {
        while let Some((left, stored)) = self.blocks.front_mut() {
            let here = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
            let (of_block, rest) = bytes.split_at(here);
            self.crc.update(of_block);
            *left -= of_block.len() as u64;
            if *left > 0 {
                return Ok(());
            }
            let computed = std::mem::take(&mut self.crc).finalize();
            if computed != *stored {
                return Err(WrongCrc);
            }
            self.blocks.pop_front();
            bytes = rest;
        }
        Ok(())
    }
}
