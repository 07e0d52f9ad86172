//! The hashes table of images for chips with the newest secure boot (images-fs4 7).

use sha2::{Digest, Sha512};

use super::canvas::Canvas;
use super::sections::{Section, kind};
use crate::image::crc::image_crc;

/// Entries of a version 0 table.
const HASHES: usize = 28;
/// Bytes of a hash.
const HASH_SIZE: usize = 64;
/// Bytes before the table of hashes, of that table's header and entries, and at the end.
const HEAD: usize = 12;
const HTOC_HEADER: usize = 16;
const HTOC: usize = HTOC_HEADER + HASHES * 8;
const TAIL: usize = 8;
/// Bytes of the table.
pub(super) const SIZE: usize = HEAD + HTOC + HASHES * HASH_SIZE + TAIL;

/// The table: SHA-512 of every section but keys and signatures.
pub(super) fn table(sections: &[Section]) -> Vec<u8> {
    const SHA_512: u32 = 1;
    let hashed: Vec<&Section> = sections
        .iter()
        .filter(|section| is_hashed(section.kind))
        .collect();
    let mut table = Canvas::new(SIZE, 0);
    let words = (HTOC + HASHES * HASH_SIZE) / 4 + 1;
    table.word(0x04, words as u32);
    let crc = image_crc(&table.bytes()[..8]);
    table.word(0x08, u32::from(crc));
    table.word(
        HEAD + 4,
        ((HASH_SIZE as u32) << 16) | (SHA_512 << 8) | hashed.len() as u32,
    );
    for (index, section) in hashed.iter().enumerate() {
        let place = HTOC + index * HASH_SIZE;
        table.word(
            HEAD + HTOC_HEADER + index * 8,
            (u32::from(section.kind) << 16) | place as u32,
        );
        table.put(HEAD + place, &Sha512::digest(&section.data));
    }
    let crc = image_crc(&table.bytes()[..SIZE - 4]);
    table.word(SIZE - 4, u32::from(crc));
    table.into_bytes()
}

const fn is_hashed(section: u8) -> bool {
    !matches!(
        section,
        kind::IMAGE_SIGNATURE_256
            | kind::PUBLIC_KEYS_2048
            | kind::IMAGE_SIGNATURE_512
            | kind::PUBLIC_KEYS_4096
            | kind::RSA_4096_SIGNATURES
    )
}
