//! What a flash operation leaves behind when power goes in the middle of it.
//!
//! A part that loses power in a program or erase leaves cells in any state between old and new
//! (some parts program a block to zeros before they erase it), so anything may be read from what
//! was being changed, and nothing else is touched. The three ways here are the corners of that.

use std::fmt;

use crate::lab::chip::flash::Flash;

/// How far a flash operation got when power was lost in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Torn {
    /// Not begun: the operations before it are whole.
    #[default]
    Whole,
    /// Only the front half of the bytes was changed.
    Front,
    /// Only the back half of the bytes was changed.
    Back,
    /// A program cleared some of the bits it should; an erase left noise.
    Garbled,
}

impl Torn {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Whole, Self::Front, Self::Back, Self::Garbled];

    /// Programs what this leaves of `bytes` at `address`.
    pub(in crate::lab::chip) fn program(self, flash: &Flash, address: u32, bytes: &[u8]) {
        let (front, back) = bytes.split_at(bytes.len() / 2);
        match self {
            Self::Whole => {}
            Self::Front => {
                flash.program(address, front);
            }
            Self::Back => {
                flash.program(address + length(front), back);
            }
            Self::Garbled => {
                let some: Vec<u8> = (address..)
                    .zip(bytes)
                    .map(|(at, byte)| byte | noise(at))
                    .collect();
                flash.program(address, &some);
            }
        }
    }

    /// Erases what this leaves of the block of `size` bytes around `address`.
    pub(in crate::lab::chip) fn erase(self, flash: &Flash, address: u32, size: u32) {
        let start = address & !(size - 1);
        let half = size / 2;
        match self {
            Self::Whole => {}
            Self::Front => {
                flash.erase(start, half);
            }
            Self::Back => {
                flash.erase(start + half, half);
            }
            Self::Garbled => {
                let bytes: Vec<u8> = (start..start + size).map(noise).collect();
                flash.overwrite(start, &bytes);
            }
        }
    }
}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "before it",
            Self::Front => "front half done",
            Self::Back => "back half done",
            Self::Garbled => "garbled",
        })
    }
}

/// Sizes here are those of a block at most.
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(0)
}

/// A byte that looks random and is the same every time (the finalizer of SplitMix64).
pub(super) fn noise(seed: u32) -> u8 {
    let mut x = (u64::from(seed) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)).to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::chip::flash::{SECTOR, SUBSECTOR};
    use crate::lab::chip::map::Map;

    fn flash_of(byte: u8) -> (Flash, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let map = Map::open(&dir.path().join("flash.bin"), SECTOR.into()).unwrap();
        let flash = Flash::new(map, SECTOR);
        flash.overwrite(0, &[byte; SECTOR as usize]);
        (flash, dir)
    }

    #[test]
    fn a_torn_program_clears_only_some_of_its_bits() {
        for (torn, expected) in [
            (Torn::Whole, [0xff, 0xff, 0xff, 0xff]),
            (Torn::Front, [0x12, 0x34, 0xff, 0xff]),
            (Torn::Back, [0xff, 0xff, 0x56, 0x78]),
        ] {
            let (flash, _dir) = flash_of(0xff);
            torn.program(&flash, 0x100, &[0x12, 0x34, 0x56, 0x78]);
            assert_eq!(flash.read(0x100, 4), expected, "{torn}");
        }
        let (flash, _dir) = flash_of(0xff);
        Torn::Garbled.program(&flash, 0x100, &[0; 16]);
        let found = flash.read(0x100, 16);
        assert!(found.iter().any(|&byte| byte != 0) && found.iter().any(|&byte| byte != 0xff));
    }

    #[test]
    fn a_torn_erase_leaves_old_bytes_or_noise_and_touches_nothing_else() {
        for torn in Torn::ALL {
            let (flash, _dir) = flash_of(0x5a);
            torn.erase(&flash, SUBSECTOR + 0x10, SUBSECTOR);
            let block = flash.read(SUBSECTOR, SUBSECTOR);
            let erased = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0xff);
            let (front, back) = block.split_at(block.len() / 2);
            assert_eq!(erased(front), torn == Torn::Front, "{torn}");
            assert_eq!(erased(back), torn == Torn::Back, "{torn}");
            assert_eq!(flash.read(SUBSECTOR - 1, 1), [0x5a]);
            assert_eq!(flash.read(2 * SUBSECTOR, 1), [0x5a]);
        }
    }
}
