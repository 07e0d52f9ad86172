//! Containers made for tests.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make its files has to stop"
)]
#![allow(
    dead_code,
    reason = "every test binary uses another part of this module"
)]

use std::io::{Cursor, Write};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use zip::write::{SimpleFileOptions, ZipWriter};

/// A zip archive.
pub fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// An MFA2 package of one board (bundles 2).
pub struct Mfa2 {
    /// Its board.
    pub board: &'static str,
    /// Major, minor and the two bytes of the sub-minor as the descriptor stores them.
    pub stored: [u8; 4],
    /// Its image, as packages carry it.
    pub image: Vec<u8>,
}

impl Mfa2 {
    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let block = [b"#BIN.COMPONENT!#".as_slice(), &self.image].concat();
        let packed = xz(&block);
        let stamp = [&self.stored[..], b"\x20\x21\x12\x06\x0c\0\0\0"].concat();
        let size = u32::try_from(self.image.len()).unwrap().to_be_bytes();
        let component = [&[0; 12][..], &size].concat();
        let device = group(&[
            (3, b"".as_slice()),
            (0x2a, self.board.as_bytes()),
            (0x22, b"\0\x01\0\0\0\0\0\0"),
        ]);
        let component = group(&[(4, &component), (0x21, &stamp)]);
        let head = |whole: &[u8], descriptors: &[u8]| {
            let block_offset = 0x10 + 8 + 120 + device.len() + component.len();
            let numbers = [block_offset, packed.len(), 0, block.len()];
            let numbers = numbers.map(|n| u32::try_from(n).unwrap().to_be_bytes());
            let package = [
                b"\0\x01\0\x01",
                &numbers.concat()[..],
                b"\x01\0\0\0\0\0\0\0",
            ]
            .concat();
            let package = group(&[
                (2, &package),
                (0x21, &stamp),
                (0x27, whole),
                (0x27, descriptors),
            ]);
            [b"MLNX.MFA2.XZ.00!", &package[..], &device, &component].concat()
        };
        let blank = head(&[0; 32], &[0; 32]);
        let descriptors = Sha256::digest(&blank);
        let whole = Sha256::digest([&blank[..], &packed].concat());
        [head(&whole, &descriptors), packed].concat()
    }
}

/// A multi-part TLV with its children.
fn group(children: &[(u8, &[u8])]) -> Vec<u8> {
    let length = |n: usize| u16::try_from(n).unwrap().to_be_bytes();
    let total = children.iter().map(|(_, payload)| 4 + payload.len()).sum();
    let mut bytes = vec![0, 1, 0, 4];
    bytes.extend(length(children.len() - 1));
    bytes.extend(length(total));
    for (kind, payload) in children {
        bytes.extend([0, *kind]);
        bytes.extend(length(payload.len()));
        bytes.extend_from_slice(payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

/// An XZ stream.
pub fn xz(plain: &[u8]) -> Vec<u8> {
    use liblzma::stream::{Check, Stream};
    let encoder = Stream::new_easy_encoder(0, Check::Crc32).unwrap();
    let mut writer = liblzma::write::XzEncoder::new_stream(Vec::new(), encoder);
    writer.write_all(plain).unwrap();
    writer.finish().unwrap()
}

/// Whether `job` is done within `limit`. On a busy machine it may need several tries.
pub fn within(limit: Duration, mut job: impl FnMut()) -> bool {
    (0..5).any(|_| {
        let start = Instant::now();
        job();
        start.elapsed() < limit
    })
}
