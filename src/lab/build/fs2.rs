//! FS2 images: header, BOOT2 and a chain of sections without gaps (images-fs2).

use super::boot2;
use super::canvas::{Canvas, padded_text, word_of};
use super::device_area::Place;
use super::ini;
use super::payload::payload;
use super::rom;
use super::{BuildError, Composition, ImageSpec};
use crate::image::crc::image_crc;
use crate::image::marker::MARKER_A;
use crate::image::section::fs2_kind::{GUID, IMAGE_INFO, ROM};
use crate::pci::MELLANOX;
use crate::version::{Date, FwVersion};

const HEADER_SIZE: usize = 0x38;
const IMAGE_CRC: usize = 0x20;
const FAILSAFE: usize = 0x28;
const INFO_POINTER: usize = 0x2c;
const IMAGE_SIZE: usize = 0x30;
const GUID_POINTER: usize = 0x34;
/// Chunk sizes the failsafe word has a code for.
const CHUNK_LOG2: std::ops::RangeInclusive<u8> = 16..=23;
/// A section has at most 4 MiB of data (images-fs2 4).
const MAX_SECTION: usize = 0x40_0000;
/// `next` of the last section.
const LAST: u32 = 0xff00_0000;

/// Section types beside those that readers look into (images-fs2 4).
const DDR: u32 = 1;
const CONFIGURATION: u32 = 2;
const FW_CONFIGURATION: u32 = 9;

pub(super) fn compose(spec: &ImageSpec, place: Place) -> Result<Composition, BuildError> {
    let mut image = Canvas::new(HEADER_SIZE, 0);
    image.put(0, &MARKER_A);
    image.word(FAILSAFE, failsafe_word(spec)?);
    image.put(HEADER_SIZE, &boot2::stage(0x400));
    let blank = spec.device.addresses.is_none();
    let sections = sections(spec)?;
    let count = sections.len();
    for (index, (kind, data)) in sections.into_iter().enumerate() {
        let start = image.len();
        if data.len() > MAX_SECTION {
            return Err(BuildError::DoesNotFit {
                what: "section",
                end: data.len() as u64,
                limit: MAX_SECTION as u64,
            });
        }
        let next = if index + 1 == count {
            LAST
        } else {
            word_of(start + 16 + data.len() + 4, "section")?
        };
        image.word(start, kind);
        image.word(start + 4, word_of(data.len() / 4, "section")?);
        image.word(start + 8, 0);
        image.word(start + 12, next);
        image.put(start + 16, &data);
        let crc = image_crc(&image.bytes()[start..]);
        let crc = if kind == GUID && blank { 0xffff } else { crc };
        image.word(image.len(), u32::from(crc));
        match kind {
            GUID => image.word(GUID_POINTER, word_of(start + 16, "GUID section")?),
            IMAGE_INFO => image.word(INFO_POINTER, summed(word_of(start + 16, "info section")?)),
            _ => {}
        }
    }
    image.word(IMAGE_SIZE, word_of(image.len(), "image")?);
    // The full-image CRC counts its own field as ones, and stays so with blank GUIDs.
    image.word(IMAGE_CRC, 0xffff);
    if !blank {
        let crc = image_crc(image.bytes());
        image.word(IMAGE_CRC, u32::from(crc));
    }
    let size = match place {
        Place::EndOfFile => image.len() as u64,
        Place::Flash(size) => size,
    };
    Ok(Composition {
        image: image.into_bytes(),
        device: Vec::new(),
        size,
    })
}

/// Failsafe, and log2 of the chunk size (images-fs2 2.1).
fn failsafe_word(spec: &ImageSpec) -> Result<u32, BuildError> {
    spec.check_slot(CHUNK_LOG2)?;
    Ok(summed(8 | u32::from(spec.slot_log2 - CHUNK_LOG2.start())))
}

/// `value`, of 24 bits, with a top byte that makes the byte sum 0.
fn summed(value: u32) -> u32 {
    let sum = value
        .to_be_bytes()
        .iter()
        .fold(0u8, |sum, &byte| sum.wrapping_add(byte));
    (u32::from(sum.wrapping_neg()) << 24) | value
}

fn sections(spec: &ImageSpec) -> Result<Vec<(u32, Vec<u8>)>, BuildError> {
    let code = usize::try_from(spec.code_size).unwrap_or(usize::MAX);
    if code > MAX_SECTION {
        return Err(BuildError::DoesNotFit {
            what: "code",
            end: spec.code_size,
            limit: MAX_SECTION as u64,
        });
    }
    let code = payload(
        &format!("main code {}", spec.version),
        code.next_multiple_of(4),
    );
    let mut sections = vec![(DDR, code)];
    if !spec.roms.is_empty() {
        sections.push((ROM, rom::section(&spec.roms, spec.pci_device())?));
    }
    sections.push((CONFIGURATION, payload("registers", 0x400)));
    sections.push((FW_CONFIGURATION, ini::section(spec)));
    sections.push((GUID, guids(spec)));
    sections.push((IMAGE_INFO, image_info(spec)?));
    Ok(sections)
}

/// Node, port 1, port 2, system image GUID, MAC of port 1 and 2 (images-fs2 5.1).
fn guids(spec: &ImageSpec) -> Vec<u8> {
    let Some(addresses) = &spec.device.addresses else {
        return vec![0xff; 6 * 8];
    };
    let guid = addresses.guid.value();
    let mac = addresses.mac.value();
    [guid, guid + 1, guid + 2, guid + 3, mac, mac + 1]
        .iter()
        .flat_map(|entry| entry.to_be_bytes())
        .collect()
}

/// The tag list (images-fs2 5.2).
fn image_info(spec: &ImageSpec) -> Result<Vec<u8>, BuildError> {
    let mut tags = Tags::default();
    tags.words(0, &[0]);
    tags.words(1, &version_words(spec.version));
    tags.words(2, &[bcd_time(spec.time), spec.date.to_bcd()]);
    tags.words(3, &[u32::from(spec.pci_device())]);
    tags.put(4, &padded_text(16, "PSID", spec.psid.as_str())?);
    tags.put(5, &padded_text(208, "VSD", &spec.vsd)?);
    if !spec.product_version.is_empty() {
        let text = padded_text(16, "product version", &spec.product_version)?;
        tags.put(7, &text);
    }
    tags.words(8, &[u32::from(MELLANOX)]);
    tags.words(9, &[1]);
    tags.words(10, &[spec.hw_word()]);
    tags.words(11, &version_words(FwVersion::new(2, 0, 0)));
    tags.words(13, &[0, 0]);
    // One configuration sector of 64 KiB, no pad.
    tags.words(19, &[1, 0, 6]);
    if !spec.prs_name.is_empty() {
        let size = (spec.prs_name.len() + 1).next_multiple_of(4).min(100);
        tags.put(20, &padded_text(size, "PRS name", &spec.prs_name)?);
    }
    tags.put(0xff, &[]);
    Ok(tags.bytes)
}

const fn version_words(version: FwVersion) -> [u32; 2] {
    [
        (version.major as u32) << 16,
        ((version.minor as u32) << 16) | version.subminor as u32,
    ]
}

/// Hour, minute, second as three BCD bytes, hour highest.
fn bcd_time((hour, minute, second): (u8, u8, u8)) -> u32 {
    let clock = Date {
        year: u16::from(hour),
        month: minute,
        day: second,
    };
    clock.to_bcd()
}

#[derive(Default)]
struct Tags {
    bytes: Vec<u8>,
}

impl Tags {
    /// `data` is a multiple of four bytes, below 16 MiB.
    fn put(&mut self, tag: u32, data: &[u8]) {
        let head = (tag << 24) | data.len() as u32;
        self.bytes.extend_from_slice(&head.to_be_bytes());
        self.bytes.extend_from_slice(data);
    }

    fn words(&mut self, tag: u32, words: &[u32]) {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        self.put(tag, &data);
    }
}
