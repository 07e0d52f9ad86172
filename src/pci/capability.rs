//! The classic capability list of configuration space.

use super::{ConfigError, ConfigSpace};
use crate::bytes::bits;

/// Dword with the status register; bit 20 says that there is a capability list.
const STATUS: u16 = 0x04;

/// Dword whose low byte points to the first capability.
const POINTER: u16 = 0x34;

/// Capabilities live behind the header.
const FIRST: u16 = 0x40;

/// As many dword-aligned capabilities as fit into 0x40 to 0xff; a longer list is a loop.
const MOST: usize = 48;

/// Offset of the first capability with this id; `None` when the function has none. The walk
/// stays inside 0x40 to 0xff and ends in a looping list (device-access 2.1).
///
/// # Errors
/// [`ConfigError::Gone`] when the function answers all ones, else as [`ConfigSpace::read`].
pub fn find(config: &dyn ConfigSpace, id: u8) -> Result<Option<u16>, ConfigError> {
    find_by(config, |_, header| bits(header, 7, 0) == u32::from(id))
}

/// As [`find`], for the first capability whose offset and header dword (id `[7:0]`, next
/// `[15:8]`) are accepted.
///
/// # Errors
/// As [`find`].
pub fn find_by(
    config: &dyn ConfigSpace,
    accept: impl Fn(u16, u32) -> bool,
) -> Result<Option<u16>, ConfigError> {
    let status = config.read(STATUS)?;
    if status == u32::MAX {
        return Err(ConfigError::Gone {
            device: config.device(),
            offset: STATUS,
        });
    }
    if bits(status, 20, 20) == 0 {
        return Ok(None);
    }
    let mut at = pointer(config.read(POINTER)?, 0);
    for _ in 0..MOST {
        if at < FIRST {
            return Ok(None);
        }
        let header = config.read(at)?;
        if accept(at, header) {
            return Ok(Some(at));
        }
        at = pointer(header, 8);
    }
    Ok(None)
}

/// The offset in the byte at bit `shift`; its two low bits are reserved.
fn pointer(dword: u32, shift: u32) -> u16 {
    let [low, ..] = (dword >> shift).to_le_bytes();
    u16::from(low & 0xfc)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 256 bytes of configuration space, as dwords.
    struct Space([u32; 64]);

    impl ConfigSpace for Space {
        fn read(&self, offset: u16) -> Result<u32, ConfigError> {
            Ok(self.0[usize::from(offset) / 4])
        }

        fn write(&self, offset: u16, _value: u32) -> Result<(), ConfigError> {
            panic!("a walk wrote to {offset:#x}");
        }

        fn device(&self) -> String {
            "0000:03:00.0".to_owned()
        }
    }

    /// A list starting at `first`, with these header dwords.
    fn space(first: u32, headers: &[(usize, u32)]) -> Space {
        let mut dwords = [0; 64];
        dwords[1] = 1 << 20;
        dwords[13] = first;
        for &(offset, header) in headers {
            dwords[offset / 4] = header;
        }
        Space(dwords)
    }

    #[test]
    fn a_capability_is_found_behind_others() {
        let list = space(0x60, &[(0x60, 0x9c10), (0x9c, 0x4005), (0x40, 0x0009)]);
        assert_eq!(find(&list, 0x09).unwrap(), Some(0x40));
        assert_eq!(find(&list, 0x03).unwrap(), None);
    }

    #[test]
    fn a_list_that_loops_or_leaves_the_space_has_an_end() {
        let circle = space(0x60, &[(0x60, 0x6010)]);
        assert_eq!(find(&circle, 0x09).unwrap(), None);
        let into_header = space(0x60, &[(0x60, 0x0410)]);
        assert_eq!(find(&into_header, 0x09).unwrap(), None);
        let at_the_end = space(0xff, &[(0xfc, 0xff10)]);
        assert_eq!(find(&at_the_end, 0x09).unwrap(), None);
    }

    #[test]
    fn without_the_status_bit_there_is_no_list() {
        let mut list = space(0x60, &[(0x60, 0x0009)]);
        list.0[1] = 0;
        assert_eq!(find(&list, 0x09).unwrap(), None);
    }

    #[test]
    fn a_function_that_left_the_bus_is_not_one_without_capabilities() {
        let error = find(&Space([u32::MAX; 64]), 0x09).unwrap_err();
        assert!(matches!(error, ConfigError::Gone { .. }));
    }
}
