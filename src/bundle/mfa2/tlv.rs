//! Type-length-value structures and the groups they come in (bundles 2.2, 2.3).

use crate::bundle::error::Fault;
use crate::bytes::be16;

/// A group of TLVs.
pub const MULTI_PART: u8 = 0x01;
/// Package descriptor.
pub const PACKAGE: u8 = 0x02;
/// Device descriptor.
pub const DEVICE: u8 = 0x03;
/// Component descriptor.
pub const COMPONENT: u8 = 0x04;
/// Version and date.
pub const VERSION: u8 = 0x21;
/// Pointer of a device to a component.
pub const COMPONENT_POINTER: u8 = 0x22;
/// Source file name; published files use it for both digests.
pub const SOURCE_FILE: u8 = 0x27;
/// PSID.
pub const PSID: u8 = 0x2a;
/// SHA-256 of the whole file.
pub const SHA256_WHOLE: u8 = 0x2f;
/// SHA-256 of the descriptors.
pub const SHA256_DESCRIPTORS: u8 = 0x30;

const HEADER: usize = 4;
const MULTI_PART_PAYLOAD: usize = 4;

/// One TLV.
#[derive(Debug, Clone, Copy)]
pub struct Tlv<'a> {
    /// Type.
    pub kind: u8,
    /// Payload without header and padding.
    pub payload: &'a [u8],
    /// Where the payload starts in the file.
    pub offset: u64,
}

/// A multi-part TLV: a descriptor and its extensions, at least one child.
#[derive(Debug)]
pub struct Group<'a> {
    /// Where the group starts in the file.
    pub offset: u64,
    /// The first child, which says what the group describes.
    pub descriptor: Tlv<'a>,
    /// The other children.
    pub extensions: Vec<Tlv<'a>>,
}

impl<'a> Group<'a> {
    /// The extensions of one type.
    pub fn of_kind(&self, kind: u8) -> impl Iterator<Item = &Tlv<'a>> {
        self.extensions.iter().filter(move |tlv| tlv.kind == kind)
    }
}

/// Reads groups one after the other; never past the end of the bytes it is given.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from `offset` on.
    #[must_use]
    pub const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// Where the next TLV starts.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The next group.
    ///
    /// # Errors
    /// [`Fault::Truncated`]; [`Fault::BadMultiPart`] for another type or a total length that is
    /// not the sum of the children.
    pub fn group(&mut self) -> Result<Group<'a>, Fault> {
        let head = self.tlv("multi-part TLV")?;
        let bad = |reason: String| Fault::BadMultiPart {
            offset: head.offset - HEADER as u64,
            reason,
        };
        if head.kind != MULTI_PART || head.payload.len() != MULTI_PART_PAYLOAD {
            let found = (head.kind, head.payload.len());
            return Err(bad(format!(
                "type {:#04x} of {} bytes is no multi-part TLV",
                found.0, found.1
            )));
        }
        let extensions = be16(head.payload, 0).unwrap_or(0);
        let announced = usize::from(be16(head.payload, 2).unwrap_or(0));
        let descriptor = self.tlv("descriptor TLV")?;
        let mut spent = HEADER + descriptor.payload.len();
        let mut children = Vec::new();
        for _ in 0..extensions {
            let child = self.tlv("extension TLV")?;
            spent += HEADER + child.payload.len();
            children.push(child);
        }
        if spent != announced {
            return Err(bad(format!(
                "total length {announced}, but the children have {spent} bytes"
            )));
        }
        Ok(Group {
            offset: head.offset - HEADER as u64,
            descriptor,
            extensions: children,
        })
    }

    fn tlv(&mut self, structure: &'static str) -> Result<Tlv<'a>, Fault> {
        let start = self.offset.next_multiple_of(HEADER);
        let truncated = |wanted: usize| Fault::Truncated {
            structure,
            offset: start as u64,
            wanted: wanted as u64,
            end: self.bytes.len() as u64,
        };
        let rest = self.bytes.get(start..).unwrap_or_default();
        let (header, rest) = rest
            .split_first_chunk::<HEADER>()
            .ok_or_else(|| truncated(HEADER))?;
        let [version, kind, length @ ..] = *header;
        let length = usize::from(u16::from_be_bytes(length));
        let payload = rest
            .get(..length)
            .ok_or_else(|| truncated(HEADER + length))?;
        if version != 0 {
            return Err(Fault::UnsupportedVersion {
                format: "MFA2 TLV",
                found: version.to_string(),
            });
        }
        self.offset = (start + HEADER + length).next_multiple_of(HEADER);
        Ok(Tlv {
            kind,
            payload,
            offset: (start + HEADER) as u64,
        })
    }
}
