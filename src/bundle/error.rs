//! What can be wrong with a bundle: a [`Fault`] found in some bytes, and the [`BundleError`] that
//! names the file it was found in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::limits::Limit;
use crate::identity::Psid;
use crate::image::ImageError;

/// A fault, and the file it is in.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}{}: {fault}", file.display(), self.inside())]
pub struct BundleError {
    /// The file or folder.
    pub file: PathBuf,
    /// The member, where the file is an archive.
    pub member: Option<Box<str>>,
    /// The board of the image, where only one image of the file is meant.
    pub board: Option<Box<Psid>>,
    /// What is wrong. Part of this error's own text, so no `source` of it.
    pub fault: Fault,
}

impl BundleError {
    /// Which member, which image.
    fn inside(&self) -> String {
        let member = self.member.as_deref().map(printable);
        let parts = member
            .into_iter()
            .chain(self.board.as_ref().map(ToString::to_string));
        in_parentheses(&parts.collect::<Vec<_>>().join(", "))
    }

    /// `fault`, found in `file`.
    #[must_use]
    pub fn new(file: &Path, fault: Fault) -> Self {
        Self {
            file: file.to_owned(),
            member: None,
            board: None,
            fault,
        }
    }

    /// The class of the fault, see [`Fault::class`].
    #[must_use]
    pub fn class(&self) -> &'static str {
        self.fault.class()
    }
}

/// What is wrong with some bytes. [`Fault::class`] is the class of bundles chapter 6, with a
/// few more for what that chapter leaves out: `io`, `empty`, `not_a_file`, `member_not_found`,
/// `entry_not_found`, `bad_image` and `wrong_board`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// The operating system refused: the file is missing, unreadable, on a failing disk.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// A device, FIFO or socket where a file is expected.
    #[error("not a regular file")]
    NotAFile,
    /// Data ran out.
    #[error("{structure} at {offset:#x} needs {wanted} bytes, but the data ends at {end:#x}")]
    Truncated {
        /// What was being read.
        structure: &'static str,
        /// Where it starts, from the start of the file or inflated section.
        offset: u64,
        /// Bytes it needs.
        wanted: u64,
        /// Where the data ends.
        end: u64,
    },
    /// No MFA v1 archive.
    #[error("not an MFA archive, but {found}")]
    NotAnMfa {
        /// What it is.
        found: String,
    },
    /// No MFA2 package.
    #[error("not an MFA2 package, but {found}")]
    NotAnMfa2 {
        /// What it is.
        found: String,
    },
    /// No PLDM package.
    #[error("not a PLDM firmware package, but {found}")]
    NotAPldmPackage {
        /// What it is.
        found: String,
    },
    /// A format version this program does not know.
    #[error("{format} version {found} is not supported")]
    UnsupportedVersion {
        /// Of what.
        format: &'static str,
        /// The version.
        found: String,
    },
    /// A compression this program does not know.
    #[error("compression type {found} is not supported")]
    UnsupportedCompression {
        /// As the file says.
        found: String,
    },
    /// A CRC does not fit the bytes.
    #[error("{what}: stored CRC is {stored:#010x}, computed {computed:#010x}; the file is damaged")]
    CrcMismatch {
        /// Which CRC.
        what: &'static str,
        /// In the file.
        stored: u32,
        /// Over the bytes.
        computed: u32,
    },
    /// A SHA-256 digest does not fit the bytes.
    #[error("the {which} SHA-256 digest does not match; the file is damaged")]
    DigestMismatch {
        /// Which digest.
        which: &'static str,
    },
    /// MFA v1: sections in another order, or unknown ones.
    #[error("section at {offset:#x} has type {found}, expected {expected}")]
    BadSectionType {
        /// Of the section header.
        offset: u64,
        /// The type that belongs there.
        expected: u8,
        /// The type that is there.
        found: u8,
    },
    /// MFA v1: the TOC is no whole number of entries.
    #[error("the TOC section has {size} bytes, which is not a multiple of 24")]
    BadTocSize {
        /// Plain size.
        size: u64,
    },
    /// MFA v1: a board's entry does not fit the MAP section.
    #[error(
        "{what} of board {board} at MAP offset {offset:#x} needs {wanted} bytes, {available} are left"
    )]
    MapTruncated {
        /// PSID, or the position of a board without one.
        board: String,
        /// Which part.
        what: &'static str,
        /// Offset inside the plain MAP section.
        offset: u64,
        /// Bytes needed.
        wanted: u64,
        /// Bytes left.
        available: u64,
    },
    /// MFA v1: metadata that cannot be taken apart.
    #[error("metadata of board {board}: {reason}")]
    BadMetadata {
        /// PSID, or the position of a board without one.
        board: String,
        /// What is wrong.
        reason: String,
    },
    /// MFA v1: an image points outside the TOC.
    #[error(
        "board {board}: TOC offset {toc_offset:#x} is no entry of a TOC of {toc_size:#x} bytes"
    )]
    TocOffsetOutOfRange {
        /// PSID, or the position of a board without one.
        board: String,
        /// The offset.
        toc_offset: u64,
        /// Plain size of the TOC.
        toc_size: u64,
    },
    /// MFA v1: a piece of an image lies outside the DATA section.
    #[error(
        "board {board}: {size} bytes at DATA offset {offset:#x} are outside a section of {available:#x} bytes"
    )]
    DataOutOfRange {
        /// PSID, or the position of a board without one.
        board: String,
        /// Offset inside the plain DATA section.
        offset: u64,
        /// Bytes.
        size: u64,
        /// Plain size of the section.
        available: u64,
    },
    /// MFA2: a group of TLVs is not what its header says.
    #[error("multi-part TLV at {offset:#x}: {reason}")]
    BadMultiPart {
        /// Of the group.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// MFA2: the package descriptor is not as it must be.
    #[error("package descriptor at {offset:#x}: {reason}")]
    BadPackageDescriptor {
        /// Of the group.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// MFA2: a device descriptor is not as it must be.
    #[error("device descriptor {index} at {offset:#x}: {reason}")]
    BadDeviceDescriptor {
        /// Which.
        index: usize,
        /// Of the group.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// MFA2: a component descriptor is not as it must be.
    #[error("component descriptor {index} at {offset:#x}: {reason}")]
    BadComponentDescriptor {
        /// Which.
        index: usize,
        /// Of the group, or of the component in the block where that is what is wrong.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// A board refers to a component that does not exist.
    #[error("{owner} refers to component {index}, there are {count}")]
    ComponentIndexOutOfRange {
        /// Who refers to it.
        owner: String,
        /// The index.
        index: u64,
        /// How many components there are.
        count: u64,
    },
    /// A component lies outside the file or block it is part of.
    #[error(
        "component {index}: {size} bytes at {offset:#x} are outside {:#x}..{:#x}",
        available.start, available.end
    )]
    ComponentOutOfRange {
        /// Which.
        index: usize,
        /// Where it starts.
        offset: u64,
        /// Its bytes.
        size: u64,
        /// Where components can be.
        available: std::ops::Range<u64>,
    },
    /// MFA2: a component does not start with its magic.
    #[error("component {index} at block offset {offset:#x} does not start with #BIN.COMPONENT!#")]
    BadComponentMagic {
        /// Which.
        index: usize,
        /// In the plain block.
        offset: u64,
    },
    /// PLDM: a field of the package header is not as it must be.
    #[error("package header, {field}: {reason}")]
    BadHeader {
        /// Which field.
        field: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// PLDM: a device id record is not as it must be.
    #[error("device id record {record}: {reason}")]
    BadRecord {
        /// Which, counted from 0; downstream device records follow the others.
        record: usize,
        /// What is wrong.
        reason: String,
    },
    /// A compressed section does not inflate.
    #[error("{section} section does not inflate: {reason}")]
    Decompression {
        /// Which.
        section: &'static str,
        /// What the decoder says.
        reason: String,
    },
    /// More than this program allows a file to ask for.
    #[error("{} is {found}, at most {} is allowed", limit.what, limit.allowed)]
    LimitExceeded {
        /// Which limit.
        limit: Limit,
        /// What the file asks for.
        found: u64,
    },
    /// No image for this board.
    #[error("no image for PSID {psid}; {}", exists("PSIDs", present))]
    PsidNotFound {
        /// The board asked for.
        psid: String,
        /// The boards there are.
        present: Vec<String>,
    },
    /// The board is there, but not with this kind of image or tag.
    #[error("PSID {psid} has no image of {asked}; {}", exists("images", present))]
    ImageNotFound {
        /// The board.
        psid: String,
        /// What was asked for.
        asked: String,
        /// What there is.
        present: Vec<String>,
    },
    /// The board is there, but not with this component.
    #[error(
        "PSID {psid} has no component {identifier:#06x}; {}",
        exists("components", present)
    )]
    ComponentNotFound {
        /// The board.
        psid: String,
        /// What was asked for.
        identifier: u16,
        /// What there is.
        present: Vec<String>,
    },
    /// Zip: the archive or a member is damaged.
    #[error("zip archive{}: {reason}", in_parentheses(&printable(member)))]
    ZipCorrupt {
        /// The member, empty for the archive itself.
        member: String,
        /// What is wrong.
        reason: String,
    },
    /// Zip: a member whose name would leave the folder it is extracted to.
    #[error("the archive has a member with an unsafe name: {}", printable(member))]
    UnsafeName {
        /// The name.
        member: String,
    },
    /// Zip: several members are firmware and none was named.
    #[error(
        "several members are firmware, one has to be named; {}",
        exists("members", members)
    )]
    Ambiguous {
        /// Their names.
        members: Vec<String>,
    },
    /// Zip: no member of this name is firmware.
    #[error(
        "no firmware member {}; {}",
        printable(name),
        exists("members", present)
    )]
    MemberNotFound {
        /// The name asked for.
        name: String,
        /// The firmware members there are.
        present: Vec<String>,
    },
    /// The image itself is damaged or of a kind nobody knows.
    #[error("{0}")]
    Image(Arc<ImageError>),
    /// The image is for another board than the one it is listed under.
    #[error("the image listed for PSID {listed} is for {found}")]
    WrongBoard {
        /// What the container says.
        listed: String,
        /// What the image says.
        found: String,
    },
    /// No firmware at all.
    #[error("{found}")]
    NoFirmware {
        /// What it is instead.
        found: String,
    },
    /// An index that is none of the bundle's entries.
    #[error("entry {index} does not exist, there are {count}")]
    EntryNotFound {
        /// Asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
}

impl Fault {
    /// The operating system refused to do `action` (an infinitive).
    pub fn io(action: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::Io {
            action,
            source: Arc::new(source),
        }
    }

    /// The error class of bundles chapter 6.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Io { .. } => "io",
            Self::Empty => "empty",
            Self::NotAFile => "not_a_file",
            Self::Truncated { .. } => "truncated",
            Self::NotAnMfa { .. } => "not_an_mfa",
            Self::NotAnMfa2 { .. } => "not_an_mfa2",
            Self::NotAPldmPackage { .. } => "not_a_pldm_package",
            Self::UnsupportedVersion { .. } => "unsupported_version",
            Self::UnsupportedCompression { .. } => "unsupported_compression",
            Self::CrcMismatch { .. } => "crc_mismatch",
            Self::DigestMismatch { .. } => "digest_mismatch",
            Self::BadSectionType { .. } => "bad_section_type",
            Self::BadTocSize { .. } => "bad_toc_size",
            Self::MapTruncated { .. } => "map_truncated",
            Self::BadMetadata { .. } => "bad_metadata",
            Self::TocOffsetOutOfRange { .. } => "toc_offset_out_of_range",
            Self::DataOutOfRange { .. } => "data_out_of_range",
            Self::BadMultiPart { .. } => "bad_multi_part",
            Self::BadPackageDescriptor { .. } => "bad_package_descriptor",
            Self::BadDeviceDescriptor { .. } => "bad_device_descriptor",
            Self::BadComponentDescriptor { .. } => "bad_component_descriptor",
            Self::ComponentIndexOutOfRange { .. } => "component_index_out_of_range",
            Self::ComponentOutOfRange { .. } => "component_out_of_range",
            Self::BadComponentMagic { .. } => "bad_component_magic",
            Self::BadHeader { .. } => "bad_header",
            Self::BadRecord { .. } => "bad_record",
            Self::Decompression { .. } => "decompression",
            Self::LimitExceeded { .. } => "limit_exceeded",
            Self::PsidNotFound { .. } => "psid_not_found",
            Self::ImageNotFound { .. } => "image_not_found",
            Self::ComponentNotFound { .. } => "component_not_found",
            Self::ZipCorrupt { .. } => "zip_corrupt",
            Self::UnsafeName { .. } => "unsafe_name",
            Self::Ambiguous { .. } => "ambiguous",
            Self::MemberNotFound { .. } => "member_not_found",
            Self::Image(_) => "bad_image",
            Self::WrongBoard { .. } => "wrong_board",
            Self::NoFirmware { .. } => "no_firmware",
            Self::EntryNotFound { .. } => "entry_not_found",
        }
    }
}

/// At most this many names are listed in a message.
const NAMES_SHOWN: usize = 8;

fn exists(what: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("there are no {what}");
    }
    let shown: Vec<String> = names
        .iter()
        .take(NAMES_SHOWN)
        .map(|name| printable(name))
        .collect();
    let rest = names.len() - shown.len();
    let more = if rest > 0 {
        format!(" and {rest} more")
    } else {
        String::new()
    };
    format!("{what} there are: {}{more}", shown.join(", "))
}

/// `text` with everything that could drive a terminal replaced by `?`.
fn in_parentheses(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(" ({text})")
    }
}

fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_file_and_the_member_without_control_characters() {
        let error = BundleError {
            member: Some("a\x1b[2Jb.bin".into()),
            ..BundleError::new(Path::new("x.zip"), Fault::Empty)
        };
        assert_eq!(error.to_string(), "x.zip (a?[2Jb.bin): the file is empty");
    }

    #[test]
    fn a_missing_psid_is_answered_with_the_ones_that_exist() {
        let present: Vec<String> = (0..10).map(|n| format!("T{n}")).collect();
        let fault = Fault::PsidNotFound {
            psid: "MT_1".to_owned(),
            present,
        };
        assert_eq!(
            fault.to_string(),
            "no image for PSID MT_1; PSIDs there are: T0, T1, T2, T3, T4, T5, T6, T7 and 2 more"
        );
    }
}
