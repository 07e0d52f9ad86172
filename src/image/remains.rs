//! What is left of an image that does not boot because its start pattern was destroyed: a burn that
//! was broken off. It still says whose card it is on.

use super::info::ImageInfo;
use super::marker::{self, MARKER_SIZE, START_POSITIONS};
use super::verify::Depth;
use super::{ImageError, run_flash};
use crate::bytes::ByteSource;
use crate::model::ImageFormat;

/// What the first image without a whole start pattern says of itself that knows its card's
/// addresses. It is looked for at the start of the flash, and where most of a pattern stands.
///
/// # Errors
/// When the flash cannot be read there, or holds no such image.
pub fn remains(source: &dyn ByteSource, format: ImageFormat) -> Result<ImageInfo, ImageError> {
    let reading = |error| ImageError::read("what is left of a start pattern", error);
    let pattern = marker::of(format);
    for start in START_POSITIONS {
        if start + MARKER_SIZE > source.size() {
            break;
        }
        let head = source.read(start, MARKER_SIZE).map_err(reading)?;
        if start != 0 && head.get(4..) != pattern.get(4..) {
            continue;
        }
        match run_flash(source, start, format, Depth::Info).result {
            Ok((_, info)) if info.uids.is_some() && !info.blank_guids => return Ok(info),
            _ => {}
        }
    }
    Err(ImageError::NoMarker)
}
