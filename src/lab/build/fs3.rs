//! FS3 images: header, BOOT2, ITOC; device data entries in the same ITOC (images-fs3).

use super::boot2;
use super::canvas::Canvas;
use super::device_area::Place;
use super::device_data;
use super::sections;
use super::toc::{self, Placed, Table};
use super::{BuildError, Composition, ImageSpec};
use crate::image::marker::MARKER_A;
use crate::model::ImageFormat;

const VERSION_WORD: usize = 0x24;
const BOOT2: usize = 0x38;
const ITOC: usize = 0x1000;
const SECTIONS: usize = ITOC + 2 * toc::PLACE;
/// Slot sizes a burn accepts (images 1.3).
const SLOT_LOG2: std::ops::RangeInclusive<u8> = 16..=24;

pub(super) fn compose(spec: &ImageSpec, place: Place) -> Result<Composition, BuildError> {
    spec.check_slot(SLOT_LOG2)?;
    let mut image = Canvas::new(SECTIONS, 0xff);
    image.put(0, &[0; BOOT2]);
    image.put(0, &MARKER_A);
    // Format 3, binary version 1.1.
    image.word(
        VERSION_WORD,
        (3 << 24) | (u32::from(spec.slot_log2) << 16) | 0x0101,
    );
    image.put(BOOT2, &boot2::stage(0xc00));
    let Placed { mut entries, .. } =
        toc::place(&mut image, &sections::firmware(spec)?, toc::fs3_image_entry)?;
    let area = place.area(ImageFormat::Fs3, image.len() as u64);
    let device = device_data::fs3_sections(spec, &area)?;
    for section in &device {
        entries.push(toc::fs3_device_entry(&section.entry()?)?);
    }
    image.put(ITOC, &toc::table(Table::Itoc, 0, &entries));
    Ok(Composition {
        image: image.into_bytes(),
        device: device_data::into_runs(device),
        size: area.end,
    })
}
