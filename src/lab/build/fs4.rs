//! FS4 images: hardware pointers, tools area, BOOT2, ITOC; device data behind a DTOC
//! (images-fs4).

use super::boot2;
use super::canvas::Canvas;
use super::device_area::Place;
use super::device_data;
use super::hashes;
use super::payload::payload;
use super::sections::{self, kind};
use super::toc::{self, Placed, Table};
use super::{BuildError, Composition, ImageSpec};
use crate::image::crc::{hw_pointer_crc, image_crc};
use crate::image::marker::MARKER_B;
use crate::model::ImageFormat;

const FORMAT_WORD: usize = 0x10;
const POINTERS: usize = 0x18;
/// Where the boot record and the tools area are, in FS5 too.
pub(super) const BOOT_RECORD: usize = 0xa0;
pub(super) const TOOLS_AREA: usize = 0x500;
const BOOT2: usize = 0x1000;
const HASHES_TABLE: usize = 0x2000;
const ITOC: usize = 0x5000;
const SECTIONS: usize = ITOC + 2 * toc::PLACE;
/// The device data layout of images-fs4 6.2.
pub(super) const LAYOUT_VERSION: u8 = 1;
/// Slot sizes a burn accepts (images 1.3).
const SLOT_LOG2: std::ops::RangeInclusive<u8> = 16..=24;

pub(super) fn compose(spec: &ImageSpec, place: Place) -> Result<Composition, BuildError> {
    spec.check_slot(SLOT_LOG2)?;
    let mut image = Canvas::new(SECTIONS, 0xff);
    put_head(&mut image, 1, spec.slot_log2);
    image.put(BOOT2, &boot2::stage(0xe00));
    let sections = sections::firmware(spec)?;
    let placed = toc::place(&mut image, &sections, toc::fs4_entry)?;
    image.put(
        ITOC,
        &toc::table(Table::Itoc, LAYOUT_VERSION, &placed.entries),
    );
    if spec.has_hashes_table() {
        image.put(HASHES_TABLE, &hashes::table(&sections));
    }
    put_pointers(&mut image, pointers(spec, &placed), hw_crc);
    let area = place.area(ImageFormat::Fs4, image.len() as u64);
    Ok(Composition {
        image: image.into_bytes(),
        device: device_data::with_dtoc(spec, &area, LAYOUT_VERSION)?,
        size: area.end,
    })
}

/// Marker, format byte, boot record and tools area; also of FS5.
pub(super) fn put_head(image: &mut Canvas, format: u32, slot_log2: u8) {
    image.put(0, &MARKER_B);
    image.word(FORMAT_WORD, format << 24);
    image.word(FORMAT_WORD + 4, 0);
    image.put(BOOT_RECORD, &payload("boot record", 0x400));
    image.put(TOOLS_AREA, &tools_area(slot_log2));
}

/// The 16 hardware pointers, each with its CRC (images-fs4 2).
pub(super) fn put_pointers(image: &mut Canvas, pointers: [u32; 16], crc: fn(u32) -> u16) {
    for (index, pointer) in pointers.into_iter().enumerate() {
        image.word(POINTERS + 8 * index, pointer);
        image.word(POINTERS + 8 * index + 4, u32::from(crc(pointer)));
    }
}

fn hw_crc(pointer: u32) -> u16 {
    hw_pointer_crc(pointer, 0)
}

fn pointers(spec: &ImageSpec, placed: &Placed) -> [u32; 16] {
    let mut pointers = [0; 16];
    pointers[0] = BOOT_RECORD as u32;
    pointers[1] = BOOT2 as u32;
    pointers[2] = ITOC as u32;
    pointers[3] = TOOLS_AREA as u32;
    pointers[10] = placed.address_of(kind::IMAGE_INFO);
    pointers[11] = placed.address_of(kind::IMAGE_SIGNATURE_512);
    pointers[12] = placed.address_of(kind::RSA_PUBLIC_KEY);
    pointers[13] = spec.security_version;
    if spec.has_hashes_table() {
        pointers[15] = HASHES_TABLE as u32;
    }
    pointers
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
