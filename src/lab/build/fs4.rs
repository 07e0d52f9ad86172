//! FS4 images: hardware pointers, tools area, BOOT2, ITOC; device data behind a DTOC
//! (images-fs4).

use sha2::{Digest, Sha512};

use super::canvas::{Canvas, word_of};
use super::crc::{hw_pointer_crc, image_crc};
use super::device_area::{DeviceArea, Place};
use super::fs2::boot2;
use super::fs3::{DeviceSection, absolute, erased_sections, vpd_section};
use super::payload::payload;
use super::sections::{self, DevInfoCopy, Section, kind};
use super::toc::{self, CrcPlace, Entry, Table};
use super::{BuildError, Composition, ImageSpec};
use crate::model::ImageFormat;

/// First 16 bytes of FS4 images (images 1.2).
const MARKER_B: [u8; 16] = [
    0x4d, 0x54, 0x46, 0x57, 0xab, 0xcd, 0xef, 0x00, 0xfa, 0xde, 0x12, 0x34, 0x56, 0x78, 0xde, 0xad,
];
const FORMAT_WORD: usize = 0x10;
const POINTERS: usize = 0x18;
const BOOT_RECORD: usize = 0xa0;
const TOOLS_AREA: usize = 0x500;
const BOOT2: usize = 0x1000;
const HASHES_TABLE: usize = 0x2000;
const ITOC: usize = 0x5000;
const SECTIONS: usize = ITOC + 2 * toc::PLACE;
/// The device data layout of images-fs4 6.2.
const LAYOUT_VERSION: u8 = 1;
/// Slot sizes a burn accepts (images 1.3).
const SLOT_LOG2: std::ops::RangeInclusive<u8> = 16..=24;
/// Hashes table, version 0: entries and bytes of a hash (images-fs4 7).
const HASHES: usize = 28;
const HASH_SIZE: usize = 64;

pub(super) fn compose(spec: &ImageSpec, place: Place) -> Result<Composition, BuildError> {
    if !SLOT_LOG2.contains(&spec.slot_log2) {
        return Err(BuildError::SlotSize {
            format: ImageFormat::Fs4,
            log2: spec.slot_log2,
            least: *SLOT_LOG2.start(),
            most: *SLOT_LOG2.end(),
        });
    }
    let mut image = Canvas::new(SECTIONS, 0xff);
    image.put(0, &MARKER_B);
    image.word(FORMAT_WORD, 1 << 24);
    image.word(FORMAT_WORD + 4, 0);
    image.put(BOOT_RECORD, &payload("boot record", 0x400));
    image.put(TOOLS_AREA, &tools_area(spec.slot_log2));
    image.put(BOOT2, &boot2(0xe00));
    let sections = sections::firmware(spec)?;
    let mut entries = Vec::new();
    let mut places = Vec::new();
    for section in &sections {
        image.align(toc::SECTION_ALIGNMENT);
        let address = word_of(image.len(), "section")?;
        entries.push(toc::fs4_entry(&Entry {
            kind: section.kind,
            data: &section.data,
            address,
            crc: CrcPlace::Entry,
        })?);
        places.push((section.kind, address));
        image.put(image.len(), &section.data);
    }
    image.put(ITOC, &toc::table(Table::Itoc, LAYOUT_VERSION, &entries));
    if spec.has_hashes_table() {
        image.put(HASHES_TABLE, &hashes_table(&sections));
    }
    image.put(POINTERS, &pointers(spec, &places));
    let area = place.area(ImageFormat::Fs4, image.len() as u64);
    Ok(Composition {
        image: image.into_bytes(),
        device: device_data(spec, &area)?,
        size: area.end,
    })
}

/// The 16 hardware pointers with their CRCs (images-fs4 2).
fn pointers(spec: &ImageSpec, places: &[(u8, u32)]) -> Vec<u8> {
    let section = |kind: u8| {
        places
            .iter()
            .find(|(found, _)| *found == kind)
            .map_or(0, |&(_, address)| address)
    };
    let mut pointers = [0u32; 16];
    pointers[0] = BOOT_RECORD as u32;
    pointers[1] = BOOT2 as u32;
    pointers[2] = ITOC as u32;
    pointers[3] = TOOLS_AREA as u32;
    pointers[10] = section(kind::IMAGE_INFO);
    pointers[11] = section(kind::IMAGE_SIGNATURE_512);
    pointers[12] = section(kind::RSA_PUBLIC_KEY);
    pointers[13] = spec.security_version;
    if spec.has_hashes_table() {
        pointers[15] = HASHES_TABLE as u32;
    }
    pointers
        .iter()
        .flat_map(|&pointer| {
            let crc = u32::from(hw_pointer_crc(pointer));
            [pointer.to_be_bytes(), crc.to_be_bytes()].concat()
        })
        .collect()
}

/// The tools area (images-fs4 3): area version 1.0, binary version 1.0.
fn tools_area(slot_log2: u8) -> Vec<u8> {
    let mut area = Canvas::new(0x40, 0);
    area.word(0x00, 0x0100);
    area.word(0x04, (u32::from(slot_log2) << 16) | 0x0100);
    let crc = image_crc(&area.bytes()[..0x3c]);
    area.word(0x3c, u32::from(crc));
    area.into_bytes()
}

/// The hashes table (images-fs4 7): SHA-512 of every section but keys and signatures.
fn hashes_table(sections: &[Section]) -> Vec<u8> {
    const HEAD: usize = 12;
    const HTOC: usize = 16 + HASHES * 8;
    const TAIL: usize = 8;
    const SHA_512: u32 = 1;
    let hashed: Vec<&Section> = sections
        .iter()
        .filter(|section| {
            !matches!(
                section.kind,
                kind::IMAGE_SIGNATURE_256
                    | kind::PUBLIC_KEYS_2048
                    | kind::IMAGE_SIGNATURE_512
                    | kind::PUBLIC_KEYS_4096
                    | kind::RSA_4096_SIGNATURES
            )
        })
        .collect();
    let mut table = Canvas::new(HEAD + HTOC + HASHES * HASH_SIZE + TAIL, 0);
    let words = (HTOC + HASHES * HASH_SIZE) / 4 + 1;
    table.word(0x04, words as u32);
    let crc = image_crc(&table.bytes()[..8]);
    table.word(0x08, u32::from(crc));
    table.word(
        0x10,
        ((HASH_SIZE as u32) << 16) | (SHA_512 << 8) | hashed.len() as u32,
    );
    for (index, section) in hashed.iter().enumerate() {
        let place = HTOC + index * HASH_SIZE;
        table.word(
            HEAD + 16 + index * 8,
            (u32::from(section.kind) << 16) | place as u32,
        );
        table.put(HEAD + place, &Sha512::digest(&section.data));
    }
    let crc_at = table.len() - 4;
    let crc = image_crc(&table.bytes()[..crc_at]);
    table.word(crc_at, u32::from(crc));
    table.into_bytes()
}

/// Device data and the DTOC that names it (images-fs4 6).
fn device_data(spec: &ImageSpec, area: &DeviceArea) -> Result<Vec<(u64, Vec<u8>)>, BuildError> {
    let mut sections = erased_sections(area);
    for (address, copy) in area
        .dev_info
        .into_iter()
        .zip([DevInfoCopy::Current, DevInfoCopy::Unused])
    {
        sections.push(DeviceSection {
            kind: kind::DEV_INFO,
            address,
            data: sections::dev_info(spec, &spec.device, copy)?,
            crc: CrcPlace::Section,
        });
    }
    sections.push(DeviceSection {
        kind: kind::MFG_INFO,
        address: area.mfg_info,
        data: sections::mfg_info(spec, &spec.device)?,
        crc: CrcPlace::Entry,
    });
    sections.push(vpd_section(spec, area));
    let mut entries = Vec::new();
    for section in &sections {
        entries.push(toc::fs4_entry(&Entry {
            kind: section.kind,
            data: &section.data,
            address: absolute(section.address)?,
            crc: section.crc,
        })?);
    }
    let mut device: Vec<(u64, Vec<u8>)> = sections
        .into_iter()
        .map(|section| (section.address, section.data))
        .collect();
    device.push((area.dtoc, toc::table(Table::Dtoc, LAYOUT_VERSION, &entries)));
    device.sort_by_key(|(address, _)| *address);
    Ok(device)
}
