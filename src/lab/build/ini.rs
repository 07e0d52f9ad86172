//! The board description inside an image: INI text in a zlib stream (images 6, command `dc`).

use super::ImageSpec;

/// The section contents, padded to whole dwords.
pub(super) fn section(spec: &ImageSpec) -> Vec<u8> {
    let text = format!(
        "[ADAPTER]\nPSID = {}\nName = {}\nDescription = {}\n",
        spec.psid, spec.part_number, spec.description
    );
    let mut bytes = zlib_stored(text.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A zlib stream of stored blocks: the text is a few hundred bytes, so packing it would gain
/// nothing.
fn zlib_stored(data: &[u8]) -> Vec<u8> {
    const HEADER: [u8; 2] = [0x78, 0x01];
    let mut stream = HEADER.to_vec();
    let mut blocks = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let len = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend_from_slice(&len.to_le_bytes());
        stream.extend_from_slice(&(!len).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream.extend_from_slice(&adler32(data).to_be_bytes());
    stream
}

fn adler32(data: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (low, high) = data.iter().fold((1, 0), |(low, high), &byte| {
        let low = (low + u32::from(byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    (high << 16) | low
}
