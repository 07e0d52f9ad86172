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
        self.with_block(block.len(), &xz(&block))
    }

    /// The file with this block, said to inflate to `plain` bytes.
    pub fn with_block(&self, plain: usize, packed: &[u8]) -> Vec<u8> {
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
            let numbers = [block_offset, packed.len(), 0, plain];
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
        let whole = Sha256::digest([&blank[..], packed].concat());
        [&head(&whole, &descriptors)[..], packed].concat()
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
    xz_of(plain, 1)
}

/// An XZ stream of the same bytes again and again.
pub fn xz_of(plain: &[u8], times: usize) -> Vec<u8> {
    use liblzma::stream::{Check, Stream};
    let encoder = Stream::new_easy_encoder(0, Check::Crc32).unwrap();
    let mut writer = liblzma::write::XzEncoder::new_stream(Vec::new(), encoder);
    for _ in 0..times {
        writer.write_all(plain).unwrap();
    }
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

/// A piece of an MFA v1 archive: its bytes are at `offset` of the plain DATA section.
pub struct Piece {
    /// Sub-image type.
    pub kind: u16,
    /// First plain byte.
    pub offset: u64,
    /// Bytes.
    pub size: u32,
}

/// An MFA v1 archive (bundles 1): boards with the numbers of the pieces their images are joined of,
/// and the stored DATA section, an XZ stream.
pub fn mfa1(boards: &[(String, Vec<u32>)], pieces: &[Piece], stored: &[u8]) -> Vec<u8> {
    let mut map = Vec::new();
    for (board, of_board) in boards {
        let mut head = vec![0; 36];
        head[..board.len()].copy_from_slice(board.as_bytes());
        head[32] = u8::try_from(of_board.len()).unwrap();
        map.extend(head);
        for (group, piece) in (0u8..).zip(of_board) {
            map.extend((24 * piece).to_be_bytes());
            map.extend([0, 1, 0, group]);
            map.extend([0; 32]);
        }
    }
    let mut toc = Vec::new();
    for piece in pieces {
        toc.extend(
            u32::try_from(piece.offset & 0xffff_ffff)
                .unwrap()
                .to_be_bytes(),
        );
        toc.extend(piece.size.to_be_bytes());
        toc.extend(piece.kind.to_be_bytes());
        toc.extend([0, 3, 0, 14, 0, 32, 3, 242, 0, 0]);
        toc.extend(u16::try_from(piece.offset >> 32).unwrap().to_be_bytes());
        toc.extend([0; 2]);
    }
    let mut bytes = b"MFAR\0\0\0\x01\0\0\0\0\0\0\0\0".to_vec();
    for (kind, packed, stored) in [(1, 0, &map[..]), (2, 0, &toc), (3, 1, stored)] {
        bytes.extend([kind, 0, 0, packed]);
        bytes.extend(u32::try_from(stored.len()).unwrap().to_be_bytes());
        bytes.extend(stored);
    }
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes
}
