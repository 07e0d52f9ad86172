//! Why an image is refused. Every message says where and what was expected; the file or device is
//! named by the caller.

use std::borrow::Cow;

use crate::bytes::ReadError;
use crate::model::ImageFormat;

/// An image that cannot be used as what it was taken for.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// Nothing there.
    #[error("the file is empty")]
    Empty,
    /// Images consist of dwords.
    #[error("its size, {size} bytes, is not a multiple of 4: not a firmware image, or cut off")]
    OddSize {
        /// Bytes.
        size: u64,
    },
    /// No marker at any place an image may start at.
    #[error("no firmware image found: no image marker at any possible start address")]
    NoMarker,
    /// A container or another kind of file.
    #[error("this is {0}, not a firmware image")]
    OtherFile(&'static str),
    /// First-generation image (InfiniHost).
    #[error("this is an FS1 image (InfiniHost); such chips are not supported")]
    Fs1,
    /// A format byte nobody knows.
    #[error("image at {start:#x}: unknown image format {byte}")]
    UnknownFormat {
        /// Physical address of the image.
        start: u64,
        /// The format byte.
        byte: u32,
    },
    /// More images than the format allows in a file.
    #[error(
        "{count} {format} image markers found (the second at {second:#x}); a file holds one image"
    )]
    ManyImages {
        /// Format.
        format: ImageFormat,
        /// Markers found.
        count: usize,
        /// Physical address of the second.
        second: u64,
    },
    /// A masked image was asked for, but the first 16 bytes are not all FF.
    #[error("the first 16 bytes are not FF: this is no masked image")]
    NotMasked,
    /// Something does not fit into the source, or the source failed.
    #[error("{what}: {source}")]
    Read {
        /// What was being read.
        what: Cow<'static, str>,
        /// Why it could not.
        source: ReadError,
    },
    /// A checksum over something everything else depends on.
    #[error(
        "{what} at {address:#x}: wrong CRC, {stored:#06x} stored, {calculated:#06x} calculated"
    )]
    Crc {
        /// What.
        what: Cow<'static, str>,
        /// Its address.
        address: u64,
        /// CRC in the image.
        stored: u16,
        /// CRC of the bytes.
        calculated: u16,
    },
    /// Sections whose checksum is wrong; the walk went on to find all of them.
    #[error("wrong CRC in {}", .0.join(", "))]
    Sections(Vec<String>),
    /// A table-of-contents entry with a wrong checksum.
    #[error("{toc} entry {index}: wrong CRC, {stored:#06x} stored, {calculated:#06x} calculated")]
    EntryCrc {
        /// `ITOC` or `DTOC`.
        toc: &'static str,
        /// Entry, from 0.
        index: usize,
        /// CRC in the entry.
        stored: u16,
        /// CRC of its bytes.
        calculated: u16,
    },
    /// An entry of the end type that is not blank.
    #[error(
        "{toc} entry {index} has the type of the end entry, but is not blank: the table is damaged"
    )]
    DirtyEnd {
        /// `ITOC` or `DTOC`.
        toc: &'static str,
        /// Entry, from 0.
        index: usize,
    },
    /// Two things at the same place.
    #[error("{first} and {second} overlap at {address:#x}")]
    Overlap {
        /// The one that starts first.
        first: Cow<'static, str>,
        /// The other.
        second: Cow<'static, str>,
        /// Where the other starts.
        address: u64,
    },
    /// The table of contents has no end.
    #[error("the {toc} has more than {limit} entries")]
    TooManyEntries {
        /// `ITOC` or `DTOC`.
        toc: &'static str,
        /// Entries allowed.
        limit: usize,
    },
    /// No table of contents where it should be.
    #[error("no valid {toc} header at {place}")]
    NoToc {
        /// `ITOC` or `DTOC`.
        toc: &'static str,
        /// The addresses that were looked at.
        place: String,
    },
    /// Slot size and start address contradict each other.
    #[error(
        "the image at {start:#x} says its slots have 2^{slot_log2} bytes, which puts no image there"
    )]
    SlotSize {
        /// Physical address of the image.
        start: u64,
        /// log2 of the slot size it claims.
        slot_log2: u8,
    },
    /// The image was built for newer or older tools.
    #[error("unsupported binary version {major}.{minor} (supported: {minimum} to 1.x)")]
    BinaryVersion {
        /// Major.
        major: u32,
        /// Minor.
        minor: u32,
        /// Lowest version supported.
        minimum: &'static str,
    },
    /// A section every image has is missing.
    #[error("no valid {0} section")]
    Missing(&'static str),
    /// A section in a version of its layout that nobody knows.
    #[error("{section}: unknown layout version {major}")]
    SectionVersion {
        /// Section name.
        section: &'static str,
        /// Its major version.
        major: u32,
    },
    /// A section shorter than the structure in it, or outside the image.
    #[error("{section} at {address:#x}: {reason}")]
    Section {
        /// Section name.
        section: Cow<'static, str>,
        /// Address as the image counts it.
        address: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The first supported hardware id is no chip we know.
    #[error("IMAGE_INFO: the image is for an unknown chip (hardware id {0:#x})")]
    UnknownChip(u16),
    /// The header contradicts itself.
    #[error("image header: {0}")]
    Header(String),
    /// The FS2 info section contradicts itself.
    #[error("Image Info section: {0}")]
    Info(String),
    /// FS2 image whose GUIDs were never set: the chip cannot boot it.
    #[error(
        "the GUIDs and MACs of this image are blank; a card cannot boot it before they are set"
    )]
    BlankGuids,
    /// The size of an encrypted image is not known.
    #[error(
        "the image looks encrypted (no ITOC at {itoc:#x}), but does not say its size: more likely it is damaged"
    )]
    NoSize {
        /// Address of the ITOC as the image counts it.
        itoc: u64,
    },
    /// The chip's firmware cannot be given this image.
    #[error(
        "{0} images cannot be sent to the running firmware; they are burned by direct flash access"
    )]
    NoComponent(ImageFormat),
}

impl ImageError {
    /// A failed read of `what`.
    pub(super) fn read(what: impl Into<Cow<'static, str>>, source: ReadError) -> Self {
        Self::Read {
            what: what.into(),
            source,
        }
    }
}
