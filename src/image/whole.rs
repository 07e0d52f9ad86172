//! An image taken out of what it came in: a file, a package, a flash. What a direct burn writes is
//! made of it.

use super::marker::{self, Unmasked};
use super::verify::{Depth, Medium};
use super::{ImageError, ImageInfo, Layout, Outcome, run, run_file, run_flash, start_in_file};
use crate::bytes::ByteSource;

/// An image in one piece.
#[derive(Debug, Clone)]
pub struct Whole {
    /// Its bytes by contiguous address, marker included, to the end of its last section; device
    /// data behind that is left out.
    pub bytes: Vec<u8>,
    /// Where everything is, in the source it was taken from: contiguous addresses are those of
    /// [`Whole::bytes`].
    pub layout: Layout,
    /// What it says of itself.
    pub info: ImageInfo,
}

/// The image of a file or package, checked as a whole.
///
/// # Errors
/// As [`super::verify()`] fails, except that the addresses of an FS2 image may be blank
/// ([`ImageInfo::blank_guids`]): a burn sets them.
pub fn whole(bytes: &[u8]) -> Result<Whole, ImageError> {
    if Unmasked::is_masked(&bytes) {
        let image = Unmasked::new(&bytes, None)?;
        let checked = |depth| run(&image, 0, image.format(), Medium::Package, depth);
        return Whole::take(&image, checked);
    }
    let start = start_in_file(&bytes)?;
    Whole::take(&bytes, |depth| run_file(&bytes, start, depth))
}

/// The image at `start` of a flash, checked as a whole with its device data. Reads all of it.
///
/// # Errors
/// As [`super::verify_flash`] fails, with the same exception as [`whole`].
pub fn whole_at(source: &dyn ByteSource, start: u64) -> Result<Whole, ImageError> {
    let format = marker::format_at(source, start)?.ok_or(ImageError::NoMarker)?;
    Whole::take(source, |depth| run_flash(source, start, format, depth))
}

impl Whole {
    fn take(source: &dyn ByteSource, walk: impl Fn(Depth) -> Outcome) -> Result<Self, ImageError> {
        match walk(Depth::Everything).result {
            Ok(_) | Err(ImageError::BlankGuids) => {}
            Err(failure) => return Err(failure),
        }
        let (layout, info) = walk(Depth::Info).result?;
        let bytes = layout
            .space(source)?
            .read(0, layout.size)
            .map_err(|fault| ImageError::read("image", fault))?
            .into_owned();
        Ok(Self {
            bytes,
            layout,
            info,
        })
    }
}
