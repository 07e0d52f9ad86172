//! Invented contents for the parts of an image nobody reads: code, boot stages, signatures.
//!
//! Deterministic, and never the same at two places, so that a block written to the wrong
//! address shows; yet repetitive inside a line, as code is, so that packing it is quick.

/// Bytes of one line of payload. The first eight differ in every line.
const LINE: usize = 256;

/// `size` bytes of payload for the part `name`.
pub(super) fn payload(name: &str, size: usize) -> Vec<u8> {
    let seed = seed(name);
    let body = line_body(seed);
    let mut bytes = Vec::with_capacity(size.next_multiple_of(LINE));
    let mut number = 0u64;
    while bytes.len() < size {
        bytes.extend_from_slice(&mix(seed ^ number).to_be_bytes());
        bytes.extend_from_slice(&body[8..]);
        number += 1;
    }
    bytes.truncate(size);
    bytes
}

fn line_body(seed: u64) -> [u8; LINE] {
    let mut body = [0; LINE];
    for (index, chunk) in body.chunks_exact_mut(8).enumerate() {
        chunk.copy_from_slice(&mix(seed.wrapping_add(index as u64)).to_be_bytes());
    }
    body
}

/// FNV-1a of the name.
fn seed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The output step of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lines_are_equal_and_the_same_name_gives_the_same_bytes() {
        let bytes = payload("main", 64 * 1024);
        assert_eq!(bytes, payload("main", 64 * 1024));
        let lines: std::collections::HashSet<_> = bytes.chunks(LINE).collect();
        assert_eq!(lines.len(), 256);
        assert_ne!(bytes, payload("boot", 64 * 1024));
    }
}
