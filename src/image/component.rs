//! What a firmware-controlled update sends: the image without its marker and without device data
//! (burn 7.4, images-fs3 7).
//!
//! The firmware writes the marker itself at the end, so an interrupted update leaves the running
//! image the only valid one. Device data stays the card's own.

use super::fs5::{BCH_MAGIC, BCH_SIZE};
use super::marker::{MARKER_SIZE, Unmasked};
use super::toc::RECORD;
use super::verify::{Depth, Medium};
use super::{ImageError, Layout, run, run_file, start_in_file};
use crate::bytes::ByteSource;
use crate::model::ImageFormat;

/// The bytes to send of an image file, or of an image that a package carries masked already.
/// Whether the running firmware would take it says [`super::Security::firmware_controlled`].
///
/// # Errors
/// When the bytes are no good image (as [`super::query`]; verify it before), or of a format that
/// is not burned by the firmware (FS2).
pub fn component(bytes: &[u8]) -> Result<Vec<u8>, ImageError> {
    if Unmasked::is_masked(&bytes) {
        let image = Unmasked::new(&bytes, None)?;
        let (layout, _) = run(&image, 0, image.format(), Medium::Package, Depth::Info).result?;
        return mask(&image, &layout);
    }
    let start = start_in_file(&bytes)?;
    let (layout, _) = run_file(&bytes, start, Depth::Info).result?;
    mask(&bytes, &layout)
}

fn mask(source: &dyn ByteSource, layout: &Layout) -> Result<Vec<u8>, ImageError> {
    if layout.format == ImageFormat::Fs2 {
        return Err(ImageError::NoComponent(layout.format));
    }
    let space = layout.space(source)?;
    let read = |size| {
        space
            .read(0, size)
            .map_err(|fault| ImageError::read("image", fault))
    };
    let wrapped = layout.format == ImageFormat::Fs5
        && space
            .read(layout.size, BCH_SIZE)
            .is_ok_and(|header| header.starts_with(&BCH_MAGIC));
    let size = layout.size + if wrapped { BCH_SIZE } else { 0 };
    let mut bytes = read(size)?.into_owned();
    blank(&mut bytes, 0, MARKER_SIZE);
    if layout.format == ImageFormat::Fs3 {
        let device = layout.sections.iter().filter(|section| section.device_data);
        for entry in device.filter_map(|section| layout.contiguous(section.entry)) {
            blank(&mut bytes, entry, RECORD);
        }
    }
    Ok(bytes)
}

/// Overwrites a range, as far as it is there, with FF.
fn blank(bytes: &mut [u8], at: u64, size: u64) {
    let (Ok(at), Ok(size)) = (usize::try_from(at), usize::try_from(size)) else {
        return;
    };
    if let Some(range) = bytes.get_mut(at..at + size) {
        range.fill(0xff);
    }
}
