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
        if bits(header, 7, 0) == u32::from(id) {
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
