//! NOR flash: programming only clears bits, erasing sets whole blocks to ones.
//!
//! The file holds every bit inverted: erased flash is zero, a hole in a sparse file, and
//! programming ORs bits in.

use std::sync::atomic::{AtomicU32, Ordering};

use super::map::Map;

/// Smallest unit that can be erased, in bytes.
pub const SUBSECTOR: u32 = 0x1000;
/// Usual unit of erasing, in bytes.
pub const SECTOR: u32 = 0x1_0000;
/// Unit of programming: an address inside it wraps at its end.
pub const PAGE: u32 = 0x100;

/// A flash part. Addresses are bytes; what lies beyond the end reads erased and takes nothing.
#[derive(Debug)]
pub struct Flash {
    map: Map,
    size: u32,
}

impl Flash {
    /// The flash in `map`, which is a multiple of [`SECTOR`] long.
    pub fn new(map: Map, size: u32) -> Self {
        Self { map, size }
    }

    /// Bytes.
    pub const fn size(&self) -> u32 {
        self.size
    }

    fn cell(&self, address: u32) -> Option<&AtomicU32> {
        self.map.cells().get(usize::try_from(address / 4).ok()?)
    }

    /// The big-endian dword at `address` (its low two bits are ignored).
    pub fn dword(&self, address: u32) -> u32 {
        self.cell(address)
            .map_or(u32::MAX, |cell| !u32::from_be(cell.load(Ordering::Relaxed)))
    }

    /// `len` bytes from `address`.
    pub fn read(&self, address: u32, len: u32) -> Vec<u8> {
        let end = u64::from(address) + u64::from(len);
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
        let mut at = u64::from(address & !3);
        while at < end {
            let dword = u32::try_from(at).map_or(u32::MAX, |at| self.dword(at));
            bytes.extend_from_slice(&dword.to_be_bytes());
            at += 4;
        }
        bytes.drain(..lane(address));
        bytes.truncate(usize::try_from(len).unwrap_or(0));
        bytes
    }

    /// Programs `bytes` at `address`: clears the bits that are 0 in `bytes`. Returns whether
    /// every byte then is as wanted; false means that some bit would have needed an erase. Bytes
    /// of ones want nothing: tools pad with them.
    pub fn program(&self, address: u32, bytes: &[u8]) -> bool {
        let mut clean = true;
        let mut at = address;
        let mut rest = bytes;
        while !rest.is_empty() {
            let first = lane(at);
            let count = rest.len().min(4 - first);
            let (now, later) = rest.split_at(count);
            let mut dword = [0xff; 4];
            dword[first..first + count].copy_from_slice(now);
            clean &= self.program_dword(at, dword);
            rest = later;
            // a part ends long before 4 GiB; past the end `cell` answers nothing
            at = at.saturating_add(u32::try_from(count).unwrap_or(4));
        }
        clean
    }

    fn program_dword(&self, address: u32, wanted: [u8; 4]) -> bool {
        let Some(cell) = self.cell(address) else {
            return true;
        };
        let old = cell.load(Ordering::Relaxed);
        let new = old | (!u32::from_be_bytes(wanted)).to_be();
        if new != old {
            cell.store(new, Ordering::Relaxed);
        }
        let stored = (!u32::from_be(new)).to_be_bytes();
        wanted
            .iter()
            .zip(stored)
            .all(|(&wanted, stored)| wanted == 0xff || wanted == stored)
    }

    /// Sets bytes as if the part had been erased around them: what only a factory does.
    pub fn overwrite(&self, address: u32, bytes: &[u8]) {
        let mut at = address;
        let mut rest = bytes;
        while !rest.is_empty() {
            let first = lane(at);
            let count = rest.len().min(4 - first);
            let (now, later) = rest.split_at(count);
            let mut dword = self.dword(at).to_be_bytes();
            dword[first..first + count].copy_from_slice(now);
            if let Some(cell) = self.cell(at) {
                let value = (!u32::from_be_bytes(dword)).to_be();
                if value != cell.load(Ordering::Relaxed) {
                    cell.store(value, Ordering::Relaxed);
                }
            }
            rest = later;
            at = at.saturating_add(u32::try_from(count).unwrap_or(4));
        }
    }

    /// Erases the block of `size` bytes (a power of two) that `address` lies in. Returns whether
    /// anything was there to erase.
    pub fn erase(&self, address: u32, size: u32) -> bool {
        let start = address & !(size - 1);
        let first = usize::try_from(start / 4).unwrap_or(usize::MAX);
        let count = usize::try_from(size / 4).unwrap_or(0);
        let mut dirty = false;
        for cell in self.map.cells().iter().skip(first).take(count) {
            // looking first keeps the holes of the sparse file
            if cell.load(Ordering::Relaxed) != 0 {
                cell.store(0, Ordering::Relaxed);
                dirty = true;
            }
        }
        dirty
    }
}

/// Place of a byte inside its dword.
const fn lane(address: u32) -> usize {
    (address & 3) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn blank(dir: &tempfile::TempDir) -> Flash {
        let size = 4 * SECTOR;
        let map = Map::open(&dir.path().join("flash.bin"), size.into()).unwrap();
        Flash::new(map, size)
    }

    #[test]
    fn a_new_part_is_erased_and_takes_no_room_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let flash = blank(&dir);
        assert_eq!(flash.read(0x1fff, 3), [0xff; 3]);
        assert!(!flash.erase(0, SECTOR));
        let file = std::fs::metadata(dir.path().join("flash.bin")).unwrap();
        assert_eq!(file.len(), u64::from(4 * SECTOR));
        assert!(file.blocks() * 512 < u64::from(SECTOR));
    }

    #[test]
    fn programming_only_clears_bits() {
        let dir = tempfile::tempdir().unwrap();
        let flash = blank(&dir);
        assert!(flash.program(0x101, &[0x0f, 0x12, 0x34, 0x56, 0x78]));
        assert_eq!(
            flash.read(0x100, 7),
            [0xff, 0x0f, 0x12, 0x34, 0x56, 0x78, 0xff]
        );
        assert!(flash.program(0x101, &[0x0e]));
        assert!(flash.program(0x101, &[0xff, 0xff, 0x30]));
        assert_eq!(flash.read(0x103, 1), [0x30]);
        assert!(!flash.program(0x101, &[0xf0]));
        assert_eq!(flash.read(0x101, 1), [0]);
        assert_eq!(flash.read(0x102, 1), [0x12]);
    }

    #[test]
    fn erasing_takes_the_whole_block_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let flash = blank(&dir);
        for address in [0xfff, 0x1000, 0x1fff, 0x2000] {
            flash.program(address, &[0]);
        }
        assert!(flash.erase(0x1234, SUBSECTOR));
        assert_eq!(flash.read(0xfff, 1), [0]);
        assert_eq!(flash.read(0x1000, 0x1000), vec![0xff; 0x1000]);
        assert_eq!(flash.read(0x2000, 1), [0]);
    }

    #[test]
    fn beyond_the_end_there_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let flash = blank(&dir);
        let end = flash.size();
        assert!(flash.program(end - 2, &[0, 0, 0, 0]));
        assert_eq!(flash.read(end - 2, 4), [0, 0, 0xff, 0xff]);
        assert_eq!(flash.read(u32::MAX, 4), [0xff; 4]);
    }
}
