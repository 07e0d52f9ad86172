//! Makes firmware images and factory flash contents: valid in structure, invented in substance.
//!
//! A [`ImageSpec`] says what an image claims to be; [`build_image`] gives the file a vendor would
//! publish, [`flash_contents`] what a card's flash holds when it leaves the factory. The same spec
//! gives the same bytes. One file a format (`fs2` to `fs5`), one for each thing the
//! formats share; [`mfa`] packs images into a bundle.
//!
//! Layouts follow images, images-fs2, images-fs3 and images-fs4 (FS5 too). Code, keys and signatures are
//! made up: an image of this builder runs on simulated cards only.

mod boot2;
mod canvas;
mod device_area;
mod device_data;
mod flash;
mod fs2;
mod fs3;
mod fs4;
mod fs5;
mod hashes;
mod ini;
pub mod mfa;
mod payload;
mod rom;
mod sections;
mod spec;
mod toc;

pub use flash::{FlashContents, Slot, flash_contents};
pub use rom::{Rom, RomKind};
pub use spec::{Addresses, DeviceData, FileForm, ImageSpec, Security};

use crate::model::ImageFormat;
use device_area::Place;

/// A spec that describes no possible image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A text is longer than its field.
    #[error("{field} `{text}` is longer than its field of {limit} bytes")]
    TooLong {
        /// Name of the field.
        field: &'static str,
        /// The text.
        text: String,
        /// Bytes the field has.
        limit: usize,
    },
    /// A part ends behind the place it has.
    #[error("{what} ends at {end:#x}, but the room for it ends at {limit:#x}")]
    DoesNotFit {
        /// The part.
        what: &'static str,
        /// Where it would end, in bytes.
        end: u64,
        /// Where it must end.
        limit: u64,
    },
    /// The numbers of a ROM version do not fit its record.
    #[error("{kind:?} version {version:?} does not fit a ROM record (8, 8 and 16 bits)")]
    RomVersion {
        /// Which ROM.
        kind: RomKind,
        /// Its version.
        version: [u16; 3],
    },
    /// More ROMs than readers keep.
    #[error("{count} expansion ROMs; readers keep at most 5")]
    TooManyRoms {
        /// How many were asked for.
        count: usize,
    },
    /// A slot size the format has no code for.
    #[error("{format} has no code for slots of 2^{log2} bytes ({least} to {most})")]
    SlotSize {
        /// Format of the image.
        format: ImageFormat,
        /// The wish.
        log2: u8,
        /// Smallest log2.
        least: u8,
        /// Largest log2.
        most: u8,
    },
}

/// An image and its device data before they are laid into a file or a flash.
#[derive(Debug)]
struct Composition {
    /// The image from its first byte to the end of its last section; addresses are contiguous.
    image: Vec<u8>,
    /// Device data with absolute addresses, ascending; none in FS2.
    device: Vec<(u64, Vec<u8>)>,
    /// Size of the file or flash.
    size: u64,
}

fn compose(spec: &ImageSpec, place: Place) -> Result<Composition, BuildError> {
    match spec.model.format {
        ImageFormat::Fs2 => fs2::compose(spec, place),
        ImageFormat::Fs3 => fs3::compose(spec, place),
        ImageFormat::Fs4 => fs4::compose(spec, place),
        ImageFormat::Fs5 => fs5::compose(spec, place),
    }
}

/// The image as a file.
///
/// FS3 and later files end with their device data area, on a multiple of 64 KiB;
/// [`FileForm::Reduced`] leaves it away where the format can do without (FS4, FS5).
///
/// # Errors
/// [`BuildError`]: a part of the spec does not fit its field or the format.
pub fn build_image(spec: &ImageSpec) -> Result<Vec<u8>, BuildError> {
    let Composition {
        mut image,
        device,
        size,
    } = compose(spec, Place::EndOfFile)?;
    let reduced = match spec.model.format {
        ImageFormat::Fs2 => true,
        ImageFormat::Fs3 => false,
        ImageFormat::Fs4 | ImageFormat::Fs5 => spec.form == FileForm::Reduced,
    };
    if reduced {
        return Ok(image);
    }
    let size = usize::try_from(size).map_err(|_| BuildError::DoesNotFit {
        what: "device data",
        end: size,
        limit: usize::MAX as u64,
    })?;
    image.resize(size, 0xff);
    for (address, bytes) in device {
        // In range: the area was laid out to end at `size`.
        let start = usize::try_from(address).unwrap_or(size);
        image[start..start + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(image)
}

#[cfg(test)]
mod tests;
