//! The two checksums of firmware images (images 2).

const POLYNOMIAL: u16 = 0x100b;

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = (index as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ POLYNOMIAL
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

/// The image CRC, in its non-augmented form (images 2.1).
pub(super) fn image_crc(bytes: &[u8]) -> u16 {
    let crc = bytes.iter().fold(0xf6aa_u16, |crc, &byte| {
        (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)]
    });
    crc ^ 0xffff
}

/// The CRC of a hardware pointer whose CRC dword has a zero upper half (images 2.2).
pub(super) fn hw_pointer_crc(pointer: u32) -> u16 {
    const REFLECTED: u16 = 0xd008;
    let [a, b, c, d] = pointer.to_be_bytes();
    [a, b, c, d, 0, 0]
        .iter()
        .fold(0u16, |crc, &byte| {
            (0..8).fold(crc ^ u16::from(byte), |crc, _| {
                if crc & 1 == 0 {
                    crc >> 1
                } else {
                    (crc >> 1) ^ REFLECTED
                }
            })
        })
        .swap_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(image_crc(b"123456789"), 0x9ef2);
        assert_eq!(image_crc(&[]), 0x0955);
        assert_eq!(hw_pointer_crc(0xa0), 0x2e60);
        assert_eq!(hw_pointer_crc(0x0102_0304), 0xbc3c);
    }
}
