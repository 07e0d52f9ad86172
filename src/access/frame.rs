//! The frame an access register travels in (device-access 3.4).
//!
//! | dword | content |
//! |---|---|
//! | 0 | operation TLV: type `[31:27]` = 1, length `[26:16]` = 4, status `[14:8]` |
//! | 1 | register id `[31:16]`, response `[15]`, method `[14:8]`, class `[7:0]` = 1 |
//! | 2, 3 | transaction id |
//! | 4 | register TLV: type `[31:27]` = 3, length `[26:16]` = 1 + register dwords |
//! | 5 … | register image |

use super::Method;
use crate::bytes::{be32, bits};

/// Dwords before the register image.
pub const HEADER_DWORDS: usize = 5;
/// Dwords of an answer that say how it went.
pub const HEAD_DWORDS: usize = 2;
/// Most bytes of a register image the length field can say.
pub const MAX_IMAGE: usize = 0x7fe * 4;

const OPERATION_TLV: u32 = 1 << 27 | 4 << 16;
const REGISTER_TLV: u32 = 3 << 27;
const REGISTER_CLASS: u32 = 1;

const fn method_code(method: Method) -> u32 {
    match method {
        Method::Read => 1,
        Method::Write => 2,
    }
}

/// The frame for a register image of whole dwords, at most [`MAX_IMAGE`] bytes.
pub fn build(id: u16, method: Method, transaction: u64, image: &[u8]) -> Vec<u32> {
    let dwords = image.len() / 4;
    let length = u32::try_from(dwords + 1).unwrap_or(0);
    let [a, b, c, d, e, f, g, h] = transaction.to_be_bytes();
    let mut frame = Vec::with_capacity(HEADER_DWORDS + dwords);
    frame.extend([
        OPERATION_TLV,
        u32::from(id) << 16 | method_code(method) << 8 | REGISTER_CLASS,
        u32::from_be_bytes([a, b, c, d]),
        u32::from_be_bytes([e, f, g, h]),
        REGISTER_TLV | length << 16,
    ]);
    frame.extend((0..dwords).map(|dword| be32(image, dword * 4).unwrap_or(0)));
    frame
}

/// What the first dwords of an answer say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Status of the operation TLV.
    pub status: u8,
    /// Register the answer is for.
    pub id: u16,
}

impl Head {
    /// Reads dwords 0 and 1.
    pub fn parse(dwords: [u32; HEAD_DWORDS]) -> Self {
        let [operation, register] = dwords;
        Self {
            status: bits(operation, 14, 8).to_le_bytes()[0],
            id: u16::try_from(bits(register, 31, 16)).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_of_mgir_is_framed_as_the_table_says() {
        let frame = build(0x9020, Method::Read, 0x1122_3344_5566_7788, &[0; 0xa0]);
        assert_eq!(frame.len(), 5 + 40);
        assert_eq!(
            frame[..6],
            [
                0x0804_0000,
                0x9020_0101,
                0x1122_3344,
                0x5566_7788,
                0x1829_0000,
                0
            ]
        );
    }

    #[test]
    fn a_write_carries_its_image_in_big_endian_dwords() {
        let frame = build(0x9062, Method::Write, 0, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(frame[1], 0x9062_0201);
        assert_eq!(frame[4..], [0x1803_0000, 0x0102_0304, 0x0506_0708]);
    }

    #[test]
    fn an_answer_says_status_and_register() {
        let head = Head::parse([0x0804_0800, 0x9063_8201]);
        assert_eq!(
            head,
            Head {
                status: 8,
                id: 0x9063
            }
        );
    }
}
