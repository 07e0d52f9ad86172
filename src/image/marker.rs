//! Where an image starts: the two 16-byte markers and the places they may be at (images 1.2).
//!
//! The marker is the last thing a burn writes and the first it destroys, so an image whose marker
//! stands is complete. A flash that can hold two images has two places; the lowest one that
//! holds a good image is booted.

use std::borrow::Cow;

use super::ImageError;
use crate::bytes::{ByteSource, ReadError, be32, bits};
use crate::model::ImageFormat;

/// First 16 bytes of an FS2 or FS3 image.
pub const MARKER_A: [u8; 16] = [
    0x4d, 0x54, 0x46, 0x57, 0x8c, 0xdf, 0xd0, 0x00, 0xde, 0xad, 0x92, 0x70, 0x41, 0x54, 0xbe, 0xef,
];

/// First 16 bytes of an FS4 or FS5 image.
pub const MARKER_B: [u8; 16] = [
    0x4d, 0x54, 0x46, 0x57, 0xab, 0xcd, 0xef, 0x00, 0xfa, 0xde, 0x12, 0x34, 0x56, 0x78, 0xde, 0xad,
];

/// Bytes of a marker.
pub const MARKER_SIZE: u64 = 16;

/// Physical addresses an image may start at, in the order a boot ROM tries them.
pub const START_POSITIONS: [u64; 11] = [
    0, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000, 0x80_0000,
    0x100_0000, 0x200_0000,
];

/// A marker that stands, and what kind of image follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Physical address of the marker.
    pub address: u64,
    /// Format the image says it has.
    pub format: ImageFormat,
}

/// The marker images of this format begin with.
#[must_use]
pub const fn of(format: ImageFormat) -> &'static [u8; 16] {
    match format {
        ImageFormat::Fs2 | ImageFormat::Fs3 => &MARKER_A,
        ImageFormat::Fs4 | ImageFormat::Fs5 => &MARKER_B,
    }
}

/// All images whose marker stands, lowest first; those of a format nobody knows are left out. At
/// most eleven reads of 16 bytes and one dword for each marker found.
///
/// # Errors
/// When the source cannot be read.
pub fn starts(source: &dyn ByteSource) -> Result<Vec<Start>, ImageError> {
    scan(source)
        .filter(|found| !matches!(found, Err(ImageError::UnknownFormat { .. })))
        .collect()
}

/// What is at each place where a marker stands.
pub(super) fn scan(source: &dyn ByteSource) -> impl Iterator<Item = Result<Start, ImageError>> {
    START_POSITIONS
        .into_iter()
        .take_while(|address| address + MARKER_SIZE <= source.size())
        .filter_map(|address| {
            let format = format_at(source, address).transpose()?;
            Some(format.map(|format| Start { address, format }))
        })
}

/// The format of the image whose marker is at `address`; `None` when there is no marker.
pub(super) fn format_at(
    source: &dyn ByteSource,
    address: u64,
) -> Result<Option<ImageFormat>, ImageError> {
    let reading = |source| ImageError::read("image header", source);
    let marker = source.read(address, MARKER_SIZE).map_err(reading)?;
    if *marker == MARKER_B {
        let byte = bits(source.dword(address + 0x10).map_err(reading)?, 31, 24);
        return match byte {
            1 => Ok(Some(ImageFormat::Fs4)),
            2 => Ok(Some(ImageFormat::Fs5)),
            _ => Err(ImageError::UnknownFormat {
                start: address,
                byte,
            }),
        };
    }
    if *marker == MARKER_A {
        let byte = bits(source.dword(address + 0x24).map_err(reading)?, 31, 24);
        return Ok(Some(if byte == 3 {
            ImageFormat::Fs3
        } else {
            ImageFormat::Fs2
        }));
    }
    Ok(None)
}

/// An image whose marker was replaced by sixteen FF, as packages carry it (bundles 2.9), read as
/// if the marker stood.
pub(super) struct Unmasked<'a> {
    inner: &'a dyn ByteSource,
    format: ImageFormat,
}

impl<'a> Unmasked<'a> {
    /// What the sixteen bytes of a masked image are.
    const MASK: [u8; 16] = [0xff; 16];

    /// Puts the marker back over the first 16 bytes of a masked image. `hint` is the format the
    /// package names; without it the format byte of the header decides.
    pub(super) fn new(
        inner: &'a dyn ByteSource,
        hint: Option<ImageFormat>,
    ) -> Result<Self, ImageError> {
        let reading = |source| ImageError::read("header of a masked image", source);
        let header = inner.read(0, 0x28).map_err(reading)?;
        if !header.starts_with(&Self::MASK) {
            return Err(ImageError::NotMasked);
        }
        let newer = be32(&header, 0x10).map(|dword| bits(dword, 31, 24));
        let older = be32(&header, 0x24).map(|dword| bits(dword, 31, 24));
        let format = match (hint, newer, older) {
            (Some(format), _, _) => format,
            (None, Some(1), _) => ImageFormat::Fs4,
            (None, Some(2), _) => ImageFormat::Fs5,
            (None, _, Some(3)) => ImageFormat::Fs3,
            (None, _, _) => return Err(ImageError::NoMarker),
        };
        Ok(Self { inner, format })
    }

    /// Whether the source begins like a masked image.
    pub(super) fn is_masked(source: &dyn ByteSource) -> bool {
        source
            .read(0, MARKER_SIZE)
            .is_ok_and(|bytes| *bytes == Self::MASK)
    }

    /// The format of the image.
    pub(super) const fn format(&self) -> ImageFormat {
        self.format
    }
}

impl ByteSource for Unmasked<'_> {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        let bytes = self.inner.read(offset, len)?;
        if offset >= MARKER_SIZE || len == 0 {
            return Ok(bytes);
        }
        let mut bytes = bytes.into_owned();
        let skip = usize::try_from(offset).unwrap_or(0);
        for (to, from) in bytes.iter_mut().zip(of(self.format).iter().skip(skip)) {
            *to = *from;
        }
        Ok(Cow::Owned(bytes))
    }
}
