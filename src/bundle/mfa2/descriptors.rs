//! The descriptors before the components block: package, devices, components
//! (bundles 2.4 to 2.6).

use super::stamp::Stamp;
use super::tlv::{self, Group, Tlv};
use crate::bundle::error::Fault;
use crate::bundle::limits;
use crate::bytes::{be16, be32};
use crate::identity::Psid;

/// Bytes in front of every component of the plain block.
pub const COMPONENT_MAGIC: &[u8; 16] = b"#BIN.COMPONENT!#";

const DIGEST: usize = 32;
const XZ: u8 = 1;

/// The package descriptor with its version and digests.
#[derive(Debug, Clone)]
pub struct Header {
    /// Number of component descriptors.
    pub components: u16,
    /// Number of device descriptors.
    pub devices: u16,
    /// Where the compressed components block starts in the file.
    pub block_offset: u64,
    /// Its size in the file, zero padding included.
    pub block_stored: u64,
    /// Its plain size.
    pub block_plain: u64,
    /// Version and time of packing.
    pub stamp: Stamp,
    /// The digest over the whole file and where it is stored.
    pub whole: Digest,
    /// The digest over the descriptors and where it is stored.
    pub descriptors: Digest,
}

/// A stored SHA-256 digest.
#[derive(Debug, Clone, Copy)]
pub struct Digest {
    /// Where its 32 bytes start in the file.
    pub offset: u64,
    /// The digest.
    pub value: [u8; DIGEST],
}

/// A board and the components for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The board.
    pub psid: Psid,
    /// Indices of its components.
    pub components: Vec<usize>,
}

/// One component of the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Component id for the device's update flow; 0 is the boot image.
    pub identifier: u16,
    /// Where its magic starts in the plain block.
    pub offset: u64,
    /// Bytes without the magic.
    pub size: u64,
    /// Version and date as the package says.
    pub stamp: Stamp,
}

impl Component {
    /// Where the component ends in the plain block.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset + COMPONENT_MAGIC.len() as u64 + self.size
    }
}

impl Header {
    /// Takes the package group apart.
    ///
    /// # Errors
    /// [`Fault::BadPackageDescriptor`], [`Fault::UnsupportedCompression`],
    /// [`Fault::LimitExceeded`].
    pub fn parse(group: &Group<'_>) -> Result<Self, Fault> {
        let bad = |reason: &'static str| Fault::BadPackageDescriptor {
            offset: group.offset,
            reason,
        };
        let descriptor = group.descriptor;
        let fields: &[u8; 28] = descriptor
            .payload
            .try_into()
            .ok()
            .filter(|_| descriptor.kind == tlv::PACKAGE)
            .ok_or_else(|| bad("the first TLV is no package descriptor of 28 bytes"))?;
        let [version, whole, descriptors, ..] = group.extensions.as_slice() else {
            return Err(bad("version and digests are missing"));
        };
        let stamp = Some(version)
            .filter(|tlv| tlv.kind == tlv::VERSION)
            .and_then(|tlv| Stamp::parse(tlv.payload))
            .ok_or_else(|| bad("the second TLV is no version of 12 bytes"))?;
        let whole = digest(whole, tlv::SHA256_WHOLE)
            .ok_or_else(|| bad("the third TLV is no SHA-256 digest"))?;
        let descriptors = digest(descriptors, tlv::SHA256_DESCRIPTORS)
            .ok_or_else(|| bad("the fourth TLV is no SHA-256 digest"))?;
        if fields[20] != XZ {
            return Err(Fault::UnsupportedCompression {
                found: fields[20].to_string(),
            });
        }
        let dword = |offset| u64::from(be32(fields, offset).unwrap_or(0));
        Ok(Self {
            components: be16(fields, 0).unwrap_or(0),
            devices: be16(fields, 2).unwrap_or(0),
            block_offset: limits::DESCRIPTORS.check(dword(4))?,
            block_stored: dword(8),
            block_plain: limits::PLAIN.check(dword(12) << 32 | dword(16))?,
            stamp,
            whole,
            descriptors,
        })
    }
}

/// Published files give both digests the type of a source file name (bundles 2.2).
fn digest(tlv: &Tlv<'_>, nominal: u8) -> Option<Digest> {
    let value = tlv.payload.try_into().ok()?;
    (tlv.kind == nominal || tlv.kind == tlv::SOURCE_FILE).then_some(Digest {
        offset: tlv.offset,
        value,
    })
}

/// Takes the group of device `index` apart; `components` is how many there are.
///
/// # Errors
/// [`Fault::BadDeviceDescriptor`], [`Fault::ComponentIndexOutOfRange`].
pub fn device(group: &Group<'_>, index: usize, components: u16) -> Result<Device, Fault> {
    let bad = |reason: &'static str| Fault::BadDeviceDescriptor {
        index,
        offset: group.offset,
        reason,
    };
    if group.descriptor.kind != tlv::DEVICE {
        return Err(bad("the first TLV is no device descriptor"));
    }
    let mut psids = group.of_kind(tlv::PSID);
    let psid = match (psids.next(), psids.next()) {
        (Some(only), None) => Psid::from_field(only.payload),
        _ => return Err(bad("there is not exactly one PSID")),
    }
    .ok_or_else(|| bad("the PSID is empty, too long or not printable"))?;
    let mut pointed = Vec::new();
    for pointer in group.of_kind(tlv::COMPONENT_POINTER) {
        let payload: &[u8; 8] = pointer
            .payload
            .try_into()
            .map_err(|_| bad("a component pointer has not 8 bytes"))?;
        let component = be16(payload, 2).unwrap_or(u16::MAX);
        if component >= components {
            return Err(Fault::ComponentIndexOutOfRange {
                owner: format!("device {index} ({psid})"),
                index: u64::from(component),
                count: u64::from(components),
            });
        }
        pointed.push(usize::from(component));
    }
    if pointed.is_empty() {
        return Err(bad("there is no component pointer"));
    }
    Ok(Device {
        psid,
        components: pointed,
    })
}

/// Takes the group of component `index` apart; `block_plain` is the size of the plain block.
///
/// # Errors
/// [`Fault::BadComponentDescriptor`], [`Fault::ComponentOutOfRange`], [`Fault::LimitExceeded`].
pub fn component(group: &Group<'_>, index: usize, block_plain: u64) -> Result<Component, Fault> {
    let bad = |reason: &'static str| Fault::BadComponentDescriptor {
        index,
        offset: group.offset,
        reason,
    };
    let descriptor = group.descriptor;
    let fields: &[u8; 16] = descriptor
        .payload
        .try_into()
        .ok()
        .filter(|_| descriptor.kind == tlv::COMPONENT)
        .ok_or_else(|| bad("the first TLV is no component descriptor of 16 bytes"))?;
    let stamp = group
        .of_kind(tlv::VERSION)
        .find_map(|tlv| Stamp::parse(tlv.payload))
        .ok_or_else(|| bad("there is no version of 12 bytes"))?;
    let dword = |offset| u64::from(be32(fields, offset).unwrap_or(0));
    let offset = dword(4) << 32 | dword(8);
    let size = limits::IMAGE.check(dword(12))?;
    let end = offset
        .checked_add(COMPONENT_MAGIC.len() as u64)
        .and_then(|start| start.checked_add(size));
    if end.is_none_or(|end| end > block_plain) {
        return Err(Fault::ComponentOutOfRange {
            index,
            offset,
            size,
            available: 0..block_plain,
        });
    }
    Ok(Component {
        identifier: be16(fields, 2).unwrap_or(0),
        offset,
        size,
        stamp,
    })
}
