//! The two checksums of firmware images (images 2).
//!
//! The *image CRC* guards nearly everything: 16 bits, polynomial 0x100b, most significant bit
//! first. It is computed sixteen bytes a step from tables made at compile time, since verifying
//! an image means reading all of it. The *hardware-pointer CRC* guards the FS4 and FS5 pointers.

/// Polynomial of both checksums.
const POLYNOMIAL: u16 = 0x100b;

/// Register before the first byte, in the form that takes each byte at the top. It equals the
/// register 0xffff of the definition, which shifts 16 more zero bits at the end (images 2.1).
const INITIAL: u16 = 0xf6aa;

/// Bytes a step.
const LANES: usize = 16;

/// `TABLES[k][b]`: what byte `b`, followed by `k` zero bytes, leaves in the register.
static TABLES: [[u16; 256]; LANES] = tables();

const fn tables() -> [[u16; 256]; LANES] {
    let mut tables = [[0u16; 256]; LANES];
    let mut byte = 0;
    while byte < 256 {
        let mut register = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            let carry = register & 0x8000 != 0;
            register <<= 1;
            if carry {
                register ^= POLYNOMIAL;
            }
            bit += 1;
        }
        tables[0][byte] = register;
        byte += 1;
    }
    let mut lane = 1;
    while lane < LANES {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[lane - 1][byte];
            tables[lane][byte] = (before << 8) ^ tables[0][(before >> 8) as usize];
            byte += 1;
        }
        lane += 1;
    }
    tables
}

/// An image CRC that is fed piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageCrc(u16);

impl Default for ImageCrc {
    fn default() -> Self {
        Self(INITIAL)
    }
}

impl ImageCrc {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let (steps, rest) = bytes.as_chunks::<LANES>();
        for step in steps {
            self.0 = step_of(self.0, step);
        }
        for &byte in rest {
            let [top, low] = self.0.to_be_bytes();
            self.0 = (u16::from(low) << 8) ^ TABLES[0][usize::from(top ^ byte)];
        }
    }

    /// The CRC of all bytes taken so far.
    #[must_use]
    pub const fn value(self) -> u16 {
        !self.0
    }
}

/// One step: the register goes into the first two bytes, every byte through its own table.
fn step_of(register: u16, step: &[u8; LANES]) -> u16 {
    let [top, low] = register.to_be_bytes();
    let through = |lane: usize, byte: u8| TABLES[LANES - 1 - lane][usize::from(byte)];
    let mut next = through(0, step[0] ^ top) ^ through(1, step[1] ^ low);
    let mut lane = 2;
    while lane < LANES {
        next ^= through(lane, step[lane]);
        lane += 1;
    }
    next
}

/// The image CRC of `bytes` (images 2.1). Images checksum whole dwords.
#[must_use]
pub fn image_crc(bytes: &[u8]) -> u16 {
    let mut crc = ImageCrc::default();
    crc.update(bytes);
    crc.value()
}

/// The hardware CRC of an FS4 or FS5 pointer: over the pointer and the upper half of the dword
/// that holds the CRC (images 2.2).
#[must_use]
pub fn hw_pointer_crc(pointer: u32, upper: u16) -> u16 {
    const REFLECTED: u16 = POLYNOMIAL.reverse_bits();
    let mut register = 0u16;
    for byte in pointer.to_be_bytes().into_iter().chain(upper.to_be_bytes()) {
        register ^= u16::from(byte);
        for _ in 0..8 {
            let carry = register & 1 != 0;
            register >>= 1;
            if carry {
                register ^= REFLECTED;
            }
        }
    }
    register.swap_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::marker::{MARKER_A, MARKER_B};
    use super::*;
    use proptest::prelude::*;

    /// The definition word for word: bits shifted in from the right, 16 zero bits at the end.
    fn by_definition(bytes: &[u8]) -> u16 {
        let mut register = 0xffffu16;
        let bits = bytes
            .iter()
            .chain(&[0, 0])
            .flat_map(|&byte| (0..8).rev().map(move |bit| (byte >> bit) & 1));
        for bit in bits {
            let carry = register & 0x8000 != 0;
            register = (register << 1) | u16::from(bit);
            if carry {
                register ^= POLYNOMIAL;
            }
        }
        register ^ 0xffff
    }

    #[test]
    fn the_image_crc_has_its_published_values() {
        let all: Vec<u8> = (0..=255).collect();
        let table: &[(&[u8], u16)] = &[
            (b"", 0x0955),
            (&[0; 4], 0x0009),
            (&[0xff; 4], 0xc41a),
            (b"12345678", 0xb2ad),
            (b"123456789", 0x9ef2),
            (b"1234567890ab", 0xed6f),
            (&MARKER_A, 0xd3d0),
            (&MARKER_B, 0xb7bf),
            (&all, 0xa4be),
        ];
        for &(bytes, crc) in table {
            assert_eq!(image_crc(bytes), crc, "{bytes:x?}");
        }
    }

    #[test]
    fn the_hardware_crc_has_its_published_values() {
        for (pointer, crc) in [
            (0, 0),
            (0xa0, 0x2e60),
            (0x500, 0x8359),
            (0x1000, 0xeb67),
            (0x5000, 0x5658),
            (0x0102_0304, 0xbc3c),
        ] {
            assert_eq!(hw_pointer_crc(pointer, 0), crc, "{pointer:#x}");
        }
    }

    proptest! {
        #[test]
        fn tables_and_definition_agree(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(image_crc(&bytes), by_definition(&bytes));
        }

        #[test]
        fn pieces_give_the_crc_of_the_whole(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            cut in 0usize..100,
        ) {
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            let mut crc = ImageCrc::default();
            crc.update(head);
            crc.update(tail);
            prop_assert_eq!(crc.value(), image_crc(&bytes));
        }
    }
}
