//! What a check of an image found, object by object, and the state of a walk over one.
//!
//! Query and verify are the same walk (images 6): a query looks only into the sections it shows,
//! a verification into everything. The [`Walk`] keeps what was found so far, so that a walk that
//! fails half way still tells what was good.

use std::borrow::Cow;

use super::ImageError;
use super::crc::image_crc;
use super::info::ImageInfo;
use super::layout::Extent;
use crate::bytes::ByteSource;

/// What is announced before the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Banner {
    /// FS2 image.
    Fs2 {
        /// Physical address of the image.
        start: u64,
        /// Chunk size; `None`: not failsafe, no chunks.
        chunk: Option<u64>,
    },
    /// FS3 image.
    Fs3,
    /// FS4 image.
    Fs4,
    /// FS5 image.
    Fs5,
}

/// How one object's checksum is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckResult {
    /// Right.
    Ok,
    /// The object has none.
    Ignored,
    /// FS2 with blank GUIDs: all ones, as the factory leaves it.
    Blank,
    /// Wrong.
    Wrong {
        /// CRC in the image.
        stored: u16,
        /// CRC of the bytes.
        calculated: u16,
    },
}

/// One checked object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionCheck {
    /// Name as the vendor's tools print it.
    pub name: Cow<'static, str>,
    /// Address: physical for sections of FS3 and later, contiguous for FS2 and BOOT2.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Result.
    pub result: CheckResult,
}

/// The whole check of one image.
#[derive(Debug)]
pub struct Verification {
    /// What kind of image was found; `None` when none was, and for encrypted images, of which
    /// only the device data can be checked.
    pub banner: Option<Banner>,
    /// Every object checked, in order.
    pub lines: Vec<SectionCheck>,
    /// Why the image must not be burned; `None`: it is good.
    pub failure: Option<ImageError>,
    /// What the image says of itself, as far as it could be read.
    pub info: Option<ImageInfo>,
}

impl Verification {
    /// Whether every check passed.
    #[must_use]
    pub const fn passed(&self) -> bool {
        self.failure.is_none()
    }
}

/// What an image lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Medium {
    /// A file: one piece, quick to read.
    File,
    /// An image file as packages carry it: one piece, without marker and device data.
    Package,
    /// A flash, or a raw dump of one: chunks of two images, device data at the end, and every read
    /// may go through a slow gateway.
    Flash,
}

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Headers, tables and the section that says the version.
    Version,
    /// Headers, tables and the sections a query shows.
    Info,
    /// Every byte that has a checksum.
    Everything,
}

/// A walk over one image.
pub(super) struct Walk<'a> {
    pub(super) source: &'a dyn ByteSource,
    /// Physical address of the image.
    pub(super) start: u64,
    pub(super) medium: Medium,
    pub(super) depth: Depth,
    pub(super) banner: Option<Banner>,
    pub(super) lines: Vec<SectionCheck>,
    pub(super) warnings: Vec<String>,
    wrong: Vec<String>,
}

impl<'a> Walk<'a> {
    pub(super) const fn new(
        source: &'a dyn ByteSource,
        start: u64,
        medium: Medium,
        depth: Depth,
    ) -> Self {
        Self {
            source,
            start,
            medium,
            depth,
            banner: None,
            lines: Vec::new(),
            warnings: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Whether code that no query shows is read and checked: always in a file, where it costs
    /// nothing, on a flash only by a verification.
    pub(super) fn checks_code(&self) -> bool {
        self.medium != Medium::Flash || self.depth == Depth::Everything
    }

    pub(super) fn record(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        extent: Extent,
        result: CheckResult,
    ) {
        self.lines.push(SectionCheck {
            name: name.into(),
            address: extent.address,
            size: extent.size,
            result,
        });
    }

    /// Checks `covered` against `stored` and records it. Something that everything else depends
    /// on: wrong is the end of the walk.
    pub(super) fn demand(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        extent: Extent,
        covered: &[u8],
        stored: u16,
    ) -> Result<(), ImageError> {
        let name = name.into();
        let calculated = image_crc(covered);
        if calculated == stored {
            self.record(name, extent, CheckResult::Ok);
            return Ok(());
        }
        self.record(
            name.clone(),
            extent,
            CheckResult::Wrong { stored, calculated },
        );
        Err(ImageError::Crc {
            what: name,
            address: extent.address,
            stored,
            calculated,
        })
    }

    /// Checks a section and records it. A wrong CRC ends a query; a verification goes on to find
    /// the others and fails in [`Walk::conclude`]. Returns whether it was right.
    pub(super) fn check(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        extent: Extent,
        covered: &[u8],
        stored: u16,
    ) -> Result<bool, ImageError> {
        match self.demand(name, extent, covered, stored) {
            Ok(()) => Ok(true),
            Err(fault) if self.depth != Depth::Everything => Err(fault),
            Err(ImageError::Crc { what, address, .. }) => {
                self.wrong.push(format!("{what} at {address:#x}"));
                Ok(false)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Fails when a section checked so far was wrong.
    pub(super) fn conclude(&mut self) -> Result<(), ImageError> {
        if self.wrong.is_empty() {
            return Ok(());
        }
        Err(ImageError::Sections(std::mem::take(&mut self.wrong)))
    }

    /// [`Walk::conclude`] after the device data. DEV_INFO whose copies are all wrong counts as
    /// missing, which says more than the list of wrong sections.
    pub(super) fn conclude_device_data(
        &mut self,
        missing: Option<ImageError>,
    ) -> Result<(), ImageError> {
        match missing {
            Some(fault) => self.device_data_fault(fault),
            None => self.conclude(),
        }
    }

    /// Something is wrong with the device data. A file with such a fault is broken. On a card the
    /// image itself can still be told, which is worth more to the user than a refusal: there it
    /// becomes a warning.
    pub(super) fn device_data_fault(&mut self, fault: ImageError) -> Result<(), ImageError> {
        if self.medium == Medium::Flash && self.depth != Depth::Everything {
            self.warnings.push(format!("device data: {fault}"));
            return Ok(());
        }
        Err(fault)
    }
}
