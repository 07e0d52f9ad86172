//! What a firmware-controlled update sends: the image without its marker and without device data
//! (burn 7.4, images-fs3 7).
//!
//! The firmware writes the marker itself at the end, so an interrupted update leaves the running
//! image the only valid one. Device data stays the card's own.

use super::fs5::{BCH_MAGIC, BCH_SIZE};
use super::marker::{self, MARKER_SIZE, Unmasked};
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
    mask(&bytes, &layout_alone(bytes)?)
}

/// An image file of what a firmware handed out of its image, with its marker or ones in its place:
/// the marker stands, and device data, which belongs to the card, is left out.
///
/// An FS3 table whose device data was named between its sections has gaps now. In a file the first
/// one would end it, and closing them would break the signature, so such an image stays without its
/// marker, as packages carry it.
///
/// # Errors
/// [`ImageError::NoMarker`] when it begins with neither, else as [`component`].
pub fn file_of_component(mut bytes: Vec<u8>) -> Result<Vec<u8>, ImageError> {
    let start = bytes.get(..16).unwrap_or_default();
    if start == marker::MARKER_A || start == marker::MARKER_B {
        blank(&mut bytes, 0, MARKER_SIZE);
    }
    if !Unmasked::is_masked(&bytes) {
        return Err(ImageError::NoMarker);
    }
    let layout = layout_alone(&bytes)?;
    let mut file = mask(&bytes, &layout)?;
    if let Some(start) = file.first_chunk_mut() {
        *start = *marker::of(layout.format);
    }
    let sections = |layout: &Layout| layout.image_sections().count();
    if !layout_alone(&file).is_ok_and(|found| sections(&found) == sections(&layout)) {
        blank(&mut file, 0, MARKER_SIZE);
    }
    Ok(file)
}

/// Whether a file holds one image and nothing else: no flash, no device data.
#[must_use]
pub fn is_image_alone(bytes: &[u8]) -> bool {
    layout_alone(bytes).is_ok_and(|layout| {
        let wrapper = if is_wrapped(&bytes, &layout) {
            BCH_SIZE
        } else {
            0
        };
        let has_device_data = layout.sections.iter().any(|section| section.device_data);
        !has_device_data && layout.start == 0 && layout.size + wrapper == bytes.len() as u64
    })
}

/// The layout of an image in a file or, without its marker, in a package.
fn layout_alone(bytes: &[u8]) -> Result<Layout, ImageError> {
    let outcome = if Unmasked::is_masked(&bytes) {
        let image = Unmasked::new(&bytes, None)?;
        run(&image, 0, image.format(), Medium::Package, Depth::Info)
    } else {
        run_file(&bytes, start_in_file(&bytes)?, Depth::Info)
    };
    outcome.result.map(|(layout, _)| layout)
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
    let wrapped = is_wrapped(source, layout);
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

/// Whether the boot component header of FS5 follows the image.
fn is_wrapped(source: &dyn ByteSource, layout: &Layout) -> bool {
    let header = || layout.space(source).ok()?.read(layout.size, BCH_SIZE).ok();
    layout.format == ImageFormat::Fs5
        && header().is_some_and(|header| header.starts_with(&BCH_MAGIC))
}

/// Overwrites a range, as far as it is there, with FF.
fn blank(bytes: &mut [u8], at: u64, size: u64) {
    let (Ok(at), Ok(size)) = (usize::try_from(at), usize::try_from(size)) else {
        return;
    };
    let rest = bytes.get_mut(at..);
    if let Some(range) = rest.and_then(|rest| rest.get_mut(..size)) {
        range.fill(0xff);
    }
}
