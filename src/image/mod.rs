//! Firmware images: FS2, FS3, FS4, FS5 files and the same formats on a card's flash (images).
//!
//! [`query`] says what an image is, [`verify()`] whether every checksum in it holds, [`layout()`]
//! where everything is; [`component`] makes what a firmware-controlled update sends, [`whole`] what
//! a direct burn writes. All are the same walk: [`marker`] finds the image, one module a format
//! reads it. Nothing in an image is trusted: addresses are 64-bit and checked against the source,
//! every loop has a limit.

mod address;
mod boot2;
mod component;
mod contents;
pub mod crc;
mod device_info;
mod dtoc;
mod encrypted;
mod error;
mod fs2;
mod fs2_info;
mod fs3;
mod fs4;
mod fs5;
mod hw_pointers;
mod image_info;
pub mod info;
pub mod layout;
pub mod marker;
mod remains;
pub mod rom;
pub mod section;
mod security;
mod standing;
mod toc;
pub mod verify;
mod whole;

pub use component::{component, file_of_component, is_image_alone};
pub use error::ImageError;
pub use info::{HwId, ImageInfo, RomInfo, Security, SecurityAttribute, Uid, Uids};
pub use layout::{CrcPlace, Extent, Layout, Section, TocPlaces};
pub use marker::{Start, starts};
pub use remains::remains;
pub use standing::{Standing, standing};
pub use verify::{Banner, CheckResult, SectionCheck, Verification};
pub use whole::{Whole, whole, whole_at};

use crate::bytes::ByteSource;
use crate::model::ImageFormat;
use fs2::Arrangement;
use marker::Unmasked;
use verify::{Depth, Medium, Walk};

/// What a walk yields, with what it recorded on the way.
struct Outcome {
    result: Result<(Layout, ImageInfo), ImageError>,
    banner: Option<Banner>,
    lines: Vec<SectionCheck>,
}

/// What the image in a file says of itself. A raw dump of a flash is understood as well.
///
/// Headers, tables and the sections shown are checked; damage elsewhere is [`verify()`]'s business.
///
/// # Errors
/// When there is no image, more than one, or one that is damaged where this looks.
pub fn query(source: &dyn ByteSource) -> Result<ImageInfo, ImageError> {
    let start = start_in_file(source)?;
    let (_, info) = run_file(source, start, Depth::Info).result?;
    Ok(info)
}

/// What the image that boots from a card's flash says of itself: the lowest one that is good as
/// far as this looks. Reads no code: markers, headers, tables, info and ROM sections only.
///
/// # Errors
/// When the flash cannot be read or holds no good image of the chip's `format`; the error is that
/// of the lowest image.
pub fn query_flash(source: &dyn ByteSource, format: ImageFormat) -> Result<ImageInfo, ImageError> {
    let (_, info) = booting(source, format)?;
    Ok(info)
}

/// Where everything of the image is that boots from a card's flash; see [`query_flash`].
///
/// # Errors
/// As [`query_flash`].
pub fn flash_layout(source: &dyn ByteSource, format: ImageFormat) -> Result<Layout, ImageError> {
    let (layout, _) = booting(source, format)?;
    Ok(layout)
}

/// Where everything of the image at `start` of a flash is, and what it says of itself, whether a
/// card would boot it or another. Looks as far as [`query_flash`] does.
///
/// # Errors
/// When there is no marker, or no good image behind it.
pub fn flash_image_at(
    source: &dyn ByteSource,
    start: u64,
) -> Result<(Layout, ImageInfo), ImageError> {
    let format = marker::format_at(source, start)?.ok_or(ImageError::NoMarker)?;
    run_flash(source, start, format, Depth::Info).result
}

/// What an image without its marker says of itself, as MFA2 and PLDM packages carry it: the first
/// 16 bytes are FF, device data is absent. `hint` is the format the package tells; without it the
/// header's format byte decides.
///
/// # Errors
/// As [`query`], and when the first 16 bytes are not FF.
pub fn query_masked(
    source: &dyn ByteSource,
    hint: Option<ImageFormat>,
) -> Result<ImageInfo, ImageError> {
    let image = Unmasked::new(source, hint)?;
    let (_, info) = run(&image, 0, image.format(), Medium::Package, Depth::Info).result?;
    Ok(info)
}

/// Checks everything in an image file that can be checked. Images without their marker (as
/// packages carry them) are checked too.
#[must_use]
pub fn verify(bytes: &[u8]) -> Verification {
    if Unmasked::is_masked(&bytes) {
        return match Unmasked::new(&bytes, None) {
            Ok(image) => run(
                &image,
                0,
                image.format(),
                Medium::Package,
                Depth::Everything,
            )
            .into(),
            Err(failure) => Verification::failed(failure),
        };
    }
    match start_in_file(&bytes) {
        Ok(start) => run_file(&bytes, start, Depth::Everything).into(),
        Err(failure) => Verification::failed(failure),
    }
}

/// Checks everything of the image at `start` of a flash, device data included. Reads all of it.
#[must_use]
pub fn verify_flash(source: &dyn ByteSource, start: u64) -> Verification {
    match marker::format_at(source, start) {
        Ok(Some(format)) => run_flash(source, start, format, Depth::Everything).into(),
        Ok(None) => Verification::failed(ImageError::NoMarker),
        Err(failure) => Verification::failed(failure),
    }
}

/// Where everything of the image at `start` of a file is.
///
/// # Errors
/// As [`query`].
pub fn layout(source: &dyn ByteSource, start: u64) -> Result<Layout, ImageError> {
    let format = marker::format_at(source, start)?.ok_or(ImageError::NoMarker)?;
    let start = Start {
        address: start,
        format,
    };
    let (layout, _) = run_file(source, start, Depth::Info).result?;
    Ok(layout)
}

/// Finds the one image of a file, and refuses what is none with the reason (images 1.1).
fn start_in_file(source: &dyn ByteSource) -> Result<Start, ImageError> {
    let size = source.size();
    if size == 0 {
        return Err(ImageError::Empty);
    }
    if let Some(other) = other_file(source) {
        return Err(other);
    }
    if !size.is_multiple_of(4) {
        return Err(ImageError::OddSize { size });
    }
    let starts: Vec<Start> = marker::scan(source).collect::<Result<_, _>>()?;
    let Some(&first) = starts.first() else {
        return Err(ImageError::NoMarker);
    };
    let same = starts.iter().filter(|start| start.format == first.format);
    let same: Vec<&Start> = same.collect();
    let limit = match first.format {
        ImageFormat::Fs4 | ImageFormat::Fs5 => 1,
        ImageFormat::Fs2 => 2,
        ImageFormat::Fs3 => usize::MAX,
    };
    match same.as_slice() {
        [_, second, ..] if same.len() > limit => Err(ImageError::ManyImages {
            format: first.format,
            count: same.len(),
            second: second.address,
        }),
        _ => Ok(first),
    }
}

/// Files that are known to be something else.
fn other_file(source: &dyn ByteSource) -> Option<ImageError> {
    const KNOWN: [(&[u8], &str); 9] = [
        (b"MFAR", "an MFA archive"),
        (b"MLNX.MFA2.", "an MFA2 archive"),
        (b"MTCF", "cable firmware"),
        (&[0xcc, 0, 0xcc, 1], "a congestion-control component"),
        (&[0xf0, 0x18, 0x87, 0x8c], "a PLDM package"),
        (&[0x12, 0x44, 0xd2, 0x64], "a PLDM package"),
        (&[0x31, 0x19, 0xce, 0x2f], "a PLDM package"),
        (&[0x7b, 0x29, 0x1c, 0x99], "a PLDM package"),
        (b"PK\x03\x04", "a ZIP archive"),
    ];
    let head = source.read(0, source.size().min(16)).ok()?;
    let known = KNOWN.iter().find(|(magic, _)| head.starts_with(magic));
    if let Some((_, name)) = known {
        return Some(ImageError::OtherFile(name));
    }
    let fs1 = source.read(0x24, 4).is_ok_and(|bytes| *bytes == *b"ZDZD");
    fs1.then_some(ImageError::Fs1)
}

/// The image a flash boots: the lowest good one. Markers behind it are not read.
fn booting(
    source: &dyn ByteSource,
    format: ImageFormat,
) -> Result<(Layout, ImageInfo), ImageError> {
    let mut first_failure = None;
    for found in marker::scan(source) {
        let start = match found {
            Ok(start) if start.format == format => start,
            Ok(_) | Err(ImageError::UnknownFormat { .. }) => continue,
            Err(failure) => return Err(failure),
        };
        match run_flash(source, start.address, format, Depth::Info).result {
            Ok(good) => return Ok(good),
            Err(failure) => {
                first_failure.get_or_insert(failure);
            }
        }
    }
    Err(first_failure.unwrap_or(ImageError::NoMarker))
}

/// An image in a file. An FS2 file may be a raw dump of a flash; that shows when it is no good as
/// one piece, but good in chunks.
fn run_file(source: &dyn ByteSource, start: Start, depth: Depth) -> Outcome {
    let outcome = run(source, start.address, start.format, Medium::File, depth);
    if start.format == ImageFormat::Fs2 && outcome.result.is_err() {
        let mut walk = Walk::new(source, start.address, Medium::File, depth);
        let result = fs2::walk(&mut walk, Arrangement::Chunks);
        let chunked = Outcome::of(walk, result);
        if chunked.result.is_ok() {
            return chunked;
        }
    }
    outcome
}

fn run_flash(source: &dyn ByteSource, start: u64, format: ImageFormat, depth: Depth) -> Outcome {
    run(source, start, format, Medium::Flash, depth)
}

fn run(
    source: &dyn ByteSource,
    start: u64,
    format: ImageFormat,
    medium: Medium,
    depth: Depth,
) -> Outcome {
    let mut walk = Walk::new(source, start, medium, depth);
    let result = match (format, medium) {
        (ImageFormat::Fs2, Medium::File | Medium::Package) => {
            fs2::walk(&mut walk, Arrangement::OnePiece)
        }
        (ImageFormat::Fs2, Medium::Flash) => fs2::walk(&mut walk, Arrangement::Chunks),
        (ImageFormat::Fs3, _) => fs3::walk(&mut walk),
        (ImageFormat::Fs4, _) => fs4::walk(&mut walk),
        (ImageFormat::Fs5, _) => fs5::walk(&mut walk),
    };
    Outcome::of(walk, result)
}

impl Outcome {
    fn of(walk: Walk<'_>, result: Result<(Layout, ImageInfo), ImageError>) -> Self {
        let warnings = walk.warnings;
        Self {
            result: result.map(|(layout, info)| (layout, ImageInfo { warnings, ..info })),
            banner: walk.banner,
            lines: walk.lines,
        }
    }
}

impl From<Outcome> for Verification {
    fn from(outcome: Outcome) -> Self {
        let (failure, info) = match outcome.result {
            Ok((_, info)) => (None, Some(info)),
            Err(failure) => (Some(failure), None),
        };
        Self {
            banner: outcome.banner,
            lines: outcome.lines,
            failure,
            info,
        }
    }
}

impl Verification {
    fn failed(failure: ImageError) -> Self {
        Self {
            banner: None,
            lines: Vec::new(),
            failure: Some(failure),
            info: None,
        }
    }
}

#[cfg(test)]
mod tests;
