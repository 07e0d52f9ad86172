//! Setting checksums right, as far as the bytes are still what they should be.

use cxfw::bundle::signature::Signature;
use cxfw::bytes::be32;
use cxfw::image::crc::{hw_pointer_crc, image_crc};
use cxfw::model::ImageFormat;
use sha2::{Digest, Sha256};

/// What an entry says of a section whose CRC is in its own last dword.
const LAST_DWORD: u8 = 2;

/// Sets the checksums of a container right.
pub fn seal(bytes: &mut [u8]) {
    match Signature::of(bytes) {
        Signature::Mfa => {
            if let Some((covered, trailer)) = bytes.split_last_chunk_mut::<4>() {
                *trailer = crc32fast::hash(covered).to_be_bytes();
            }
        }
        Signature::Mfa2 => seal_mfa2(bytes),
        Signature::Pldm(revision) => seal_pldm(bytes, revision),
        _ => {}
    }
}

/// The checksum of the header and, in revision 4, that of the payload.
fn seal_pldm(bytes: &mut [u8], revision: u8) {
    let Some(&[low, high]) = bytes.get(17..19) else {
        return;
    };
    let size = usize::from(u16::from_le_bytes([low, high]));
    let checksums = if revision == 4 { 8 } else { 4 };
    let Some((header, payload)) = bytes.split_at_mut_checked(size) else {
        return;
    };
    let covered = header.split_at_mut_checked(size.saturating_sub(checksums));
    let Some((covered, stored)) = covered else {
        return;
    };
    let computed = [crc32fast::hash(covered), crc32fast::hash(payload)];
    let computed = computed.map(u32::to_le_bytes);
    for (to, from) in stored.iter_mut().zip(computed.as_flattened()) {
        *to = *from;
    }
}

/// Digests at the usual places, over descriptors and file.
fn seal_mfa2(bytes: &mut [u8]) {
    let places = [0x4c..0x6c, 0x70..0x90];
    if bytes.len() < 0x90 {
        return;
    }
    let (block, stored) = (number(bytes, 0x20), number(bytes, 0x24));
    for place in places.clone() {
        bytes[place].fill(0);
    }
    let digest = |end: usize| bytes.get(..end).map(Sha256::digest);
    let digests = [digest(block.saturating_add(stored)), digest(block)];
    for (place, digest) in places.into_iter().zip(digests) {
        if let Some(digest) = digest {
            bytes[place].copy_from_slice(&digest);
        }
    }
}

/// Sets the checksums of an image right: hardware pointers, BOOT2, tables and their sections, or
/// the chain of sections of FS2.
pub fn seal_image(bytes: &mut [u8]) {
    let starts = cxfw::image::starts(&&*bytes).unwrap_or_default();
    let starts = starts
        .into_iter()
        .filter_map(|start| Some((usize::try_from(start.address).ok()?, start.format)));
    // FS3 says in one bit whether there is a CRC, later formats in three where it is.
    let mut modes = 7;
    for (start, format) in starts {
        match format {
            ImageFormat::Fs2 => seal_chain(bytes, start),
            ImageFormat::Fs3 => {
                modes = 1;
                seal_stage(bytes, start + 0x38);
            }
            ImageFormat::Fs4 | ImageFormat::Fs5 => {
                seal_pointers(bytes, start);
                let boot2 = number(bytes, start + 0x20);
                seal_stage(bytes, start.saturating_add(boot2));
            }
        }
    }
    for table in tables(bytes) {
        seal_table(bytes, table, modes);
    }
}

/// Offsets of tables of contents.
pub fn tables(bytes: &[u8]) -> Vec<usize> {
    let is_table = |&at: &usize| be32(bytes, at + 4) == Some(0x0408_1516);
    (0..bytes.len()).step_by(0x100).filter(is_table).collect()
}

/// Sixteen pointers of eight bytes.
fn seal_pointers(bytes: &mut [u8], start: usize) {
    for at in (0..16).map(|index| start + 0x18 + 8 * index) {
        let (Some(value), Some(check)) = (be32(bytes, at), be32(bytes, at + 4)) else {
            return;
        };
        let [a, b, ..] = check.to_be_bytes();
        let crc = hw_pointer_crc(value, u16::from_be_bytes([a, b]));
        put(bytes, at + 6, &crc.to_be_bytes());
    }
}

/// A boot stage: four dwords more than its second dword says, the last of them the CRC. Returns
/// where it ends.
fn seal_stage(bytes: &mut [u8], at: usize) -> usize {
    let size = number(bytes, at.saturating_add(4))
        .saturating_add(4)
        .saturating_mul(4);
    let end = at.saturating_add(size);
    seal_last_dword(bytes, at, end);
    end
}

/// An FS2 image: BOOT2, the sections behind it, and the CRC over all of it.
fn seal_chain(bytes: &mut [u8], start: usize) {
    let mut at = seal_stage(bytes, start + 0x38);
    while at < bytes.len() {
        let size = number(bytes, at.saturating_add(4)).saturating_mul(4);
        let end = at.saturating_add(size).saturating_add(20);
        let next = start.saturating_add(number(bytes, at.saturating_add(12)));
        if end > bytes.len() {
            return;
        }
        seal_last_dword(bytes, at, end);
        at = end;
        if next != end {
            break;
        }
    }
    let covered = bytes.get(start..at).map(<[u8]>::to_vec);
    if let Some(mut covered) = covered.filter(|covered| covered.len() > 0x24) {
        covered[0x22..0x24].fill(0xff);
        put(bytes, start + 0x22, &image_crc(&covered).to_be_bytes());
    }
}

fn seal_last_dword(bytes: &mut [u8], from: usize, to: usize) {
    let Some(last) = to.checked_sub(4) else {
        return;
    };
    if let Some(crc) = bytes.get(from..last).map(image_crc) {
        put(bytes, last, &u32::from(crc).to_be_bytes());
    }
}

/// The header, and every entry with its section.
fn seal_table(bytes: &mut [u8], at: usize, modes: u8) {
    seal_record(bytes, at);
    for entry in (1..64).map(|index| at + 0x20 * index) {
        if bytes.get(entry).is_none_or(|&kind| kind == 0xff) {
            return;
        }
        let size = number(bytes, entry) & 0xff_fffc;
        let section = number(bytes, entry + 0x14) & 0x7fff_fffc;
        let section = section..section + size;
        let mode = bytes.get(entry + 0x19).map_or(0, |check| check & modes);
        match bytes.get(section.clone()).map(image_crc) {
            Some(_) if mode == LAST_DWORD => seal_last_dword(bytes, section.start, section.end),
            Some(crc) if mode == 0 => put(bytes, entry + 0x1a, &crc.to_be_bytes()),
            _ => {}
        }
        seal_record(bytes, entry);
    }
}

/// The CRC in the last dword of 32 bytes.
fn seal_record(bytes: &mut [u8], at: usize) {
    if let Some(crc) = bytes.get(at..at + 0x1c).map(image_crc) {
        put(bytes, at + 0x1e, &crc.to_be_bytes());
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(to) = bytes.get_mut(at..at.saturating_add(value.len())) {
        to.copy_from_slice(value);
    }
}

fn number(bytes: &[u8], at: usize) -> usize {
    be32(bytes, at).map_or(0, |dword| dword as usize)
}
