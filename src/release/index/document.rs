//! The XML of an index; read by [`super::read`], written by [`super::write`].
//!
//! ```xml
//! <index version="1" serial="2021120600" date="2021-12-06">
//!   <release psid="MT_0000000010" device="ConnectX-5" branch="16.35" date="2021-12-06" minimum="16.26.1040">
//!     <description>…</description>
//!     <part-number>MCX555A-ECA_Ax</part-number>
//!     <version component="FW">16.35.4506</version>
//!     <file name="cx5/x.mfa" size="1234" sha256="…" image-sha256="…"/>
//!     <notes>…</notes>
//!   </release>
//! </index>
//! ```
//!
//! Elements and attributes nobody knows are passed over, so that a newer maker can add some. A
//! row that cannot be used is left out with a warning; a document that is no whole index is an
//! error with its place. There is no DTD, so there are no entities but XML's own.

use crate::bundle::ComponentVersion;
use crate::identity::Psid;
use crate::release::digest::Digest;
use crate::release::name::FilePath;
use crate::version::{Date, FwVersion};

/// Version of the format.
pub const FORMAT: &str = "1";
/// Largest document, in bytes.
pub const SIZE: u64 = 32 << 20;
/// Rows of a document.
pub const ROWS: usize = 100_000;
/// One text, in bytes; notes can be long.
pub const TEXT: usize = 64 << 10;

/// A document, as it says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Number that grows with every change.
    pub serial: u64,
    /// Date.
    pub date: Option<Date>,
    /// The rows that can be used.
    pub rows: Vec<Row>,
    /// Why others cannot, one sentence each.
    pub warnings: Vec<String>,
}

/// One release, without where its folder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Board.
    pub psid: Psid,
    /// Part numbers.
    pub part_numbers: Vec<String>,
    /// Chip.
    pub device: Option<String>,
    /// One line.
    pub description: Option<String>,
    /// Versions, firmware first.
    pub versions: Vec<ComponentVersion>,
    /// Release line.
    pub branch: Option<String>,
    /// Date of the image.
    pub date: Option<Date>,
    /// Version to have before.
    pub minimum: Option<FwVersion>,
    /// File.
    pub file: FilePath,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256.
    pub sha256: Digest,
    /// SHA-256 of the image in it.
    pub image_sha256: Option<Digest>,
    /// Release notes.
    pub notes: Option<String>,
}

impl Row {
    /// The firmware version.
    #[must_use]
    pub fn firmware(&self) -> Option<FwVersion> {
        let firmware = self.versions.iter().find(|version| version.kind == "FW");
        firmware.and_then(|version| version.firmware)
    }
}
