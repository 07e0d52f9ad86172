//! Images made for tests, whole and with defects.

mod damage;
mod flash;
mod mutation;
mod package;
mod recorded;
mod whole;

use std::io::Read;

use flate2::read::GzDecoder;

use super::crc::image_crc;
use super::*;
use crate::bytes::{be32, bits};

/// A fixture, unpacked.
fn fixture(name: &str) -> Vec<u8> {
    let packed: &[u8] = match name {
        "fs2-cx3" => include_bytes!("../../../fixtures/image/fs2-cx3.bin.gz"),
        "fs2-striped-odd" => include_bytes!("../../../fixtures/image/fs2-striped-odd.bin.gz"),
        "fs3-cx4lx" => include_bytes!("../../../fixtures/image/fs3-cx4lx.bin.gz"),
        "fs4-cx5" => include_bytes!("../../../fixtures/image/fs4-cx5.bin.gz"),
        "fs4-slot1" => include_bytes!("../../../fixtures/image/fs4-slot1.bin.gz"),
        "fs4-cx7" => include_bytes!("../../../fixtures/image/fs4-cx7.bin.gz"),
        "fs4-cx7-encrypted" => include_bytes!("../../../fixtures/image/fs4-cx7-encrypted.bin.gz"),
        "fs5-cx8" => include_bytes!("../../../fixtures/image/fs5-cx8.bin.gz"),
        other => panic!("no fixture {other}"),
    };
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Names of all fixtures.
const ALL: [&str; 8] = [
    "fs2-cx3",
    "fs2-striped-odd",
    "fs3-cx4lx",
    "fs4-cx5",
    "fs4-slot1",
    "fs4-cx7",
    "fs4-cx7-encrypted",
    "fs5-cx8",
];

fn put(bytes: &mut [u8], at: u64, dword: u32) {
    let at = usize::try_from(at).unwrap();
    bytes[at..at + 4].copy_from_slice(&dword.to_be_bytes());
}

fn get(bytes: &[u8], at: u64) -> u32 {
    be32(bytes, usize::try_from(at).unwrap()).unwrap()
}

/// Changes a table-of-contents entry and makes its CRC right again.
fn edit_entry(bytes: &mut [u8], entry: u64, offset: u64, dword: u32) {
    put(bytes, entry + offset, dword);
    let at = usize::try_from(entry).unwrap();
    let crc = image_crc(&bytes[at..at + 0x1c]);
    put(bytes, entry + 0x1c, u32::from(crc));
}

/// Changes a dword of a section and makes every CRC right again.
fn edit_section(bytes: &mut [u8], section: &Section, offset: u64, dword: u32) {
    put(bytes, section.physical + offset, dword);
    let at = usize::try_from(section.physical).unwrap();
    let size = usize::try_from(section.size).unwrap();
    match section.crc {
        CrcPlace::LastDword => {
            let crc = image_crc(&bytes[at..at + size - 4]);
            put(bytes, section.physical + section.size - 4, u32::from(crc));
        }
        CrcPlace::Entry { .. } => {
            let crc = u32::from(image_crc(&bytes[at..at + size]));
            let check = get(bytes, section.entry + 0x18);
            let high = bits(check, 31, 16) << 16;
            edit_entry(bytes, section.entry, 0x18, high | crc);
        }
        CrcPlace::None => {}
    }
}

fn section_of(bytes: &[u8], kind: u8) -> Section {
    let start = starts(&bytes).unwrap()[0].address;
    let layout = layout(&bytes, start).unwrap();
    layout.section(kind).unwrap().clone()
}

/// Why a verification refuses the image.
fn refusal(bytes: &[u8]) -> String {
    verify(bytes).failure.unwrap().to_string()
}
