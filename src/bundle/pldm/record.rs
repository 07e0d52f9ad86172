//! Device id records: which devices get which components (bundles 3.4, 3.5).

use super::fields::{self, Fields};
use crate::bundle::error::Fault;
use crate::bytes::{le16, le32, text};
use crate::identity::Psid;

const VENDOR_DEFINED: u16 = 0xffff;

/// One record: a kind of device and the components for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The board, where the record names one.
    pub psid: Option<Psid>,
    /// PCI vendor id.
    pub vendor: Option<u16>,
    /// PCI device id, as the driver sees it.
    pub device: Option<u16>,
    /// PCI subsystem vendor id.
    pub subsystem_vendor: Option<u16>,
    /// PCI subsystem id.
    pub subsystem: Option<u16>,
    /// Value of the `recovery` descriptor, on recovery records.
    pub recovery: Option<String>,
    /// Value of the `APSKU` descriptor.
    pub apsku: Option<u32>,
    /// Version of the set of components.
    pub set_version: String,
    /// Components that apply, by index.
    pub components: Vec<usize>,
}

/// Reads the record at the front of `fields`. `bitmap` is the size of the component bitmap in
/// bytes, `manifest` tells whether the package revision has reference manifests.
///
/// # Errors
/// [`Fault::BadRecord`] naming record `index` and the part that does not fit.
pub fn parse(
    fields: &mut Fields<'_>,
    index: usize,
    bitmap: usize,
    manifest: bool,
) -> Result<Record, Fault> {
    let bad = |reason: &str| Fault::BadRecord {
        record: index,
        reason: reason.to_owned(),
    };
    let length = usize::from(le16(fields.0, 0).ok_or_else(|| bad("its length is cut off"))?);
    let bytes = fields
        .take(length)
        .ok_or_else(|| bad("it is longer than the header"))?;
    let mut rest = Fields(bytes);
    let head = Head::parse(&mut rest, manifest).ok_or_else(|| bad("it is too short"))?;
    let components = rest
        .take(bitmap)
        .ok_or_else(|| bad("the component bitmap does not fit"))?;
    let set_version = rest
        .take(head.set_version_length)
        .ok_or_else(|| bad("the set version does not fit"))?;
    let mut record = Record {
        components: bits(components),
        set_version: fields::string(head.set_version_type, set_version),
        ..Record::default()
    };
    for _ in 0..head.descriptors {
        record.descriptor(&mut rest, index)?;
    }
    if rest.0.len() != head.package_data + head.manifest {
        return Err(bad("its parts do not add up to its length"));
    }
    Ok(record)
}

/// The fixed fields at the front of a record.
struct Head {
    descriptors: u8,
    set_version_type: u8,
    set_version_length: usize,
    package_data: usize,
    manifest: usize,
}

impl Head {
    fn parse(fields: &mut Fields<'_>, manifest: bool) -> Option<Self> {
        fields.u16()?; // record length
        let descriptors = fields.u8()?;
        fields.u32()?; // update option flags
        Some(Self {
            descriptors,
            set_version_type: fields.u8()?,
            set_version_length: usize::from(fields.u8()?),
            package_data: usize::from(fields.u16()?),
            manifest: if manifest { fields.length32()? } else { 0 },
        })
    }
}

impl Record {
    /// Takes in the next descriptor.
    fn descriptor(&mut self, fields: &mut Fields<'_>, index: usize) -> Result<(), Fault> {
        let bad = |reason: String| Fault::BadRecord {
            record: index,
            reason,
        };
        let short = || bad("a descriptor does not fit".to_owned());
        let kind = fields.u16().ok_or_else(short)?;
        let length = usize::from(fields.u16().ok_or_else(short)?);
        let data = fields.take(length).ok_or_else(short)?;
        if exact_length(kind).is_some_and(|exact| exact != length) || length == 0 {
            return Err(bad(format!(
                "a descriptor of type {kind:#06x} cannot have {length} bytes"
            )));
        }
        match kind {
            0x0000 => self.vendor = le16(data, 0),
            0x0100 => self.device = le16(data, 0),
            0x0101 => self.subsystem_vendor = le16(data, 0),
            0x0102 => self.subsystem = le16(data, 0),
            VENDOR_DEFINED => self
                .vendor_defined(data)
                .map_err(|reason| bad(reason.to_owned()))?,
            _ => {}
        }
        Ok(())
    }

    /// Takes in a vendor-defined descriptor: title type, title length, title, value.
    fn vendor_defined(&mut self, data: &[u8]) -> Result<(), &'static str> {
        let mut fields = Fields(data);
        let title = fields.u8().and_then(|_| {
            let length = usize::from(fields.u8()?);
            fields.take(length)
        });
        let title = title.ok_or("a vendor title is longer than its descriptor")?;
        let value = fields.0;
        match title {
            b"PSID" => {
                let empty = value.first().is_none_or(|&b| b == 0);
                if self.psid.is_some() {
                    return Err("there are two PSIDs");
                }
                self.psid = Psid::from_field(value);
                if self.psid.is_none() && !empty {
                    return Err("the PSID is too long or not printable");
                }
            }
            b"recovery" => self.recovery = Some(text(value)),
            b"APSKU" => {
                self.apsku = le32(value, 0).filter(|_| value.len() == 4);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Length of a descriptor's data where its type has a fixed one (bundles 3.5).
const fn exact_length(kind: u16) -> Option<usize> {
    Some(match kind {
        0x0103 => 1,
        0x0000 | 0x0100 | 0x0101 | 0x0102 => 2,
        0x0003 | 0x0005 => 3,
        0x0001 | 0x0004 | 0x0104 | 0x0105 | 0x0109 => 4,
        0x0006 => 8,
        0x0107 => 10,
        0x0002 | 0x0108 => 16,
        0x0106 => 40,
        _ => return None,
    })
}

/// Numbers of the set bits, bit 0 of byte 0 first.
fn bits(bitmap: &[u8]) -> Vec<usize> {
    let is_set = |&bit: &usize| {
        bitmap
            .get(bit / 8)
            .is_some_and(|byte| byte >> (bit % 8) & 1 != 0)
    };
    (0..bitmap.len() * 8).filter(is_set).collect()
}
