//! The package header: identity, release, and the lists of records and components
//! (bundles 3.2, 3.3).

use std::fmt;

use super::component::Component;
use super::fields::{self, Fields};
use super::record::{self, Record};
use crate::bundle::error::Fault;
use crate::bundle::signature::{PLDM_UUIDS, Signature};
use crate::bytes::{le16, le32};

/// Everything up to the package version string.
const FIXED: usize = 36;
const CHECKSUM: usize = 4;

/// When a package was released, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Released {
    /// Year, month 1 to 12, day.
    pub date: (u16, u8, u8),
    /// Hour, minute, second.
    pub time: (u8, u8, u8),
    /// Minutes the time is ahead of UTC.
    pub utc_offset: i16,
}

impl fmt::Display for Released {
    /// `2024-10-31 12:34:56`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date;
        let (hour, minute, second) = self.time;
        write!(
            f,
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        )
    }
}

/// The header, taken apart and checked by itself.
#[derive(Debug)]
pub struct Header {
    /// Format revision, 1 to 4.
    pub revision: u8,
    /// Bytes from the start of the file to the first component.
    pub size: u64,
    /// Release date and time.
    pub released: Released,
    /// Version of the package.
    pub version: String,
    /// Device id records.
    pub records: Vec<Record>,
    /// Components.
    pub components: Vec<Component>,
}

fn bad(field: &'static str, reason: impl Into<String>) -> Fault {
    Fault::BadHeader {
        field,
        reason: reason.into(),
    }
}

impl Header {
    /// Reads the header of the package in `bytes` and verifies the checksums.
    ///
    /// # Errors
    /// [`Fault::NotAPldmPackage`], [`Fault::Truncated`], [`Fault::BadHeader`],
    /// [`Fault::BadRecord`], [`Fault::CrcMismatch`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let revision = revision(bytes)?;
        let size = usize::from(le16(bytes, 17).unwrap_or(0));
        let header = bytes.get(..size).ok_or(Fault::Truncated {
            structure: "package header",
            offset: 0,
            wanted: size as u64,
            end: bytes.len() as u64,
        })?;
        let too_small = || {
            bad(
                "header size",
                format!("{size} bytes cannot hold the header"),
            )
        };
        let mut rest = Fields(header);
        let fixed = rest.take(FIXED).ok_or_else(too_small)?;
        let bitmap_bits = le16(fixed, 32).unwrap_or(0);
        if bitmap_bits == 0 || !bitmap_bits.is_multiple_of(8) {
            let reason = format!("{bitmap_bits} is no positive multiple of 8");
            return Err(bad("component bitmap length", reason));
        }
        let version = rest.take(usize::from(fixed[35])).ok_or_else(too_small)?;
        let records = records(&mut rest, revision, usize::from(bitmap_bits / 8))?;
        let components = components(&mut rest, revision, bitmap_bits)?;
        check_checksums(bytes, size, rest.0.len(), revision)?;
        Ok(Self {
            revision,
            size: size as u64,
            released: released(fixed),
            version: fields::string(fixed[34], version),
            records,
            components,
        })
    }
}

/// UUID and revision byte, which must agree; then the fixed part is known to be there.
fn revision(bytes: &[u8]) -> Result<u8, Fault> {
    let truncated = Fault::Truncated {
        structure: "package header",
        offset: 0,
        wanted: FIXED as u64,
        end: bytes.len() as u64,
    };
    let head = bytes.get(..16).unwrap_or(bytes);
    let Some(&(_, of_uuid)) = PLDM_UUIDS
        .iter()
        .find(|(uuid, _)| uuid.starts_with(head) && !head.is_empty())
    else {
        return Err(Fault::NotAPldmPackage {
            found: Signature::of(bytes).to_string(),
        });
    };
    let revision = match bytes.get(16) {
        Some(&revision) if bytes.len() >= FIXED => revision,
        _ => return Err(truncated),
    };
    if revision == of_uuid {
        Ok(revision)
    } else {
        let reason = format!("{revision}, but the UUID is that of revision {of_uuid}");
        Err(bad("format revision", reason))
    }
}

fn released(fixed: &[u8]) -> Released {
    let byte = |offset: usize| fixed.get(offset).copied().unwrap_or(0);
    Released {
        date: (le16(fixed, 29).unwrap_or(0), byte(28), byte(27)),
        time: (byte(26), byte(25), byte(24)),
        utc_offset: i16::from_le_bytes([byte(19), byte(20)]),
    }
}

/// Firmware device records; downstream device records (revision 2 on) are passed over.
fn records(rest: &mut Fields<'_>, revision: u8, bitmap: usize) -> Result<Vec<Record>, Fault> {
    let cut = || bad("record count", "the header ends before it");
    let count = usize::from(rest.u8().ok_or_else(cut)?);
    let records = (0..count)
        .map(|index| record::parse(rest, index, bitmap, revision >= 4))
        .collect::<Result<Vec<_>, _>>()?;
    if revision >= 2 {
        let downstream = usize::from(rest.u8().ok_or_else(cut)?);
        for index in 0..downstream {
            let length = le16(rest.0, 0).filter(|&length| length >= 2);
            length
                .and_then(|length| rest.take(usize::from(length)))
                .ok_or_else(|| Fault::BadRecord {
                    record: count + index,
                    reason: "the downstream device record does not fit".to_owned(),
                })?;
        }
    }
    Ok(records)
}

fn components(
    rest: &mut Fields<'_>,
    revision: u8,
    bitmap_bits: u16,
) -> Result<Vec<Component>, Fault> {
    let field = "component count";
    let count = rest
        .u16()
        .ok_or_else(|| bad(field, "the header ends before it"))?;
    if count > bitmap_bits {
        let reason = format!("{count}, but the bitmaps have {bitmap_bits} bits");
        return Err(bad(field, reason));
    }
    (0..count)
        .map(|index| {
            Component::parse(rest, revision >= 3).ok_or_else(|| {
                bad(
                    "component information",
                    format!("component {index} does not fit"),
                )
            })
        })
        .collect()
}

/// The header ends with its checksum and, in later revisions, that of the payload. Which of the
/// two cases it is, is told by the bytes that are `left` (bundles 3.2).
fn check_checksums(bytes: &[u8], size: usize, left: usize, revision: u8) -> Result<(), Fault> {
    let has_payload_checksum = left == 2 * CHECKSUM && revision >= 3;
    if left != CHECKSUM && !has_payload_checksum {
        let reason = format!("{left} bytes are left for the checksums");
        return Err(bad("header size", reason));
    }
    let covered = size - left;
    check_crc("package header", bytes.get(..covered), le32(bytes, covered))?;
    if has_payload_checksum {
        let stored = le32(bytes, covered + CHECKSUM);
        check_crc("package payload", bytes.get(size..), stored)?;
    }
    Ok(())
}

fn check_crc(what: &'static str, covered: Option<&[u8]>, stored: Option<u32>) -> Result<(), Fault> {
    let computed = crc32fast::hash(covered.unwrap_or_default());
    match stored {
        Some(stored) if stored == computed => Ok(()),
        stored => Err(Fault::CrcMismatch {
            what,
            stored: stored.unwrap_or(0),
            computed,
        }),
    }
}
