//! FS5 images: as FS4, but the boot component header says how long BOOT2 is, and IMAGE_INFO how
//! long the image (images-fs4 12).

use super::canvas::Canvas;
use super::device_area::Place;
use super::device_data;
use super::fs4::{self, BOOT_RECORD, LAYOUT_VERSION, TOOLS_AREA};
use super::hashes;
use super::payload::payload;
use super::sections::{self, kind};
use super::toc::{self, Table};
use super::{BuildError, Composition, ImageSpec};
use crate::image::crc::image_crc;
use crate::model::ImageFormat;

const BCH: usize = 0x1000;
const BOOT2: usize = 0x3000;
const BOOT2_SIZE: usize = 0x800;
const HASHES_TABLE: usize = BOOT2 + BOOT2_SIZE;
const ITOC: usize = 0x5000;
const SECTIONS: usize = ITOC + 2 * toc::PLACE;
/// Slot sizes a burn accepts (images 1.3).
const SLOT_LOG2: std::ops::RangeInclusive<u8> = 16..=25;
/// Place of the burn image size in IMAGE_INFO.
const BURN_SIZE: usize = 0x12c;

pub(super) fn compose(spec: &ImageSpec, place: Place) -> Result<Composition, BuildError> {
    spec.check_slot(SLOT_LOG2)?;
    let mut image = Canvas::new(SECTIONS, 0xff);
    fs4::put_head(&mut image, 2, spec.slot_log2);
    image.put(BCH, &boot_component());
    image.put(BOOT2, &payload("boot2", BOOT2_SIZE));
    let mut sections = sections::firmware(spec)?;
    let end = toc::end_of(SECTIONS, &sections)?;
    for section in &mut sections {
        if section.kind == kind::IMAGE_INFO {
            section.data[BURN_SIZE..BURN_SIZE + 4].copy_from_slice(&end.to_be_bytes());
        }
    }
    let placed = toc::place(&mut image, &sections, toc::fs4_entry)?;
    image.put(
        ITOC,
        &toc::table(Table::Itoc, LAYOUT_VERSION, &placed.entries),
    );
    image.put(HASHES_TABLE, &hashes::table(&sections));
    let mut pointers = [0; 16];
    pointers[0] = BOOT_RECORD as u32;
    pointers[1] = BOOT2 as u32;
    pointers[2] = ITOC as u32;
    pointers[3] = TOOLS_AREA as u32;
    pointers[6] = BCH as u32;
    pointers[10] = placed.address_of(kind::IMAGE_INFO);
    pointers[11] = placed.address_of(kind::IMAGE_SIGNATURE_512);
    pointers[12] = placed.address_of(kind::RSA_PUBLIC_KEY);
    pointers[13] = spec.security_version;
    pointers[15] = HASHES_TABLE as u32;
    fs4::put_pointers(&mut image, pointers, |pointer| {
        image_crc(&pointer.to_be_bytes())
    });
    let area = place.area(ImageFormat::Fs5, image.len() as u64);
    Ok(Composition {
        image: image.into_bytes(),
        device: device_data::with_dtoc(spec, &area, LAYOUT_VERSION)?,
        size: area.end,
    })
}

/// The NCORE boot component header, little-endian (images-fs4 12.2): not signed, not encrypted.
fn boot_component() -> Vec<u8> {
    const COMPONENT: usize = 0x1ee0;
    let length = (BOOT2_SIZE + hashes::SIZE) as u32;
    let mut header = Canvas::new(0x2000, 0);
    header.put(0, b"NVDA");
    header.put(COMPONENT, b"NCOR");
    header.put(COMPONENT + 4, &length.to_le_bytes());
    header.into_bytes()
}
