//! What the headers of all formats share: the second boot stage, the binary version and the slot
//! size (images-fs2 3, images-fs3 2, images-fs4 3 and 4).

use std::borrow::Cow;

use super::ImageError;
use super::address::Space;
use super::layout::Extent;
use super::verify::{Medium, Walk};
use crate::bytes::{be32, bits};

/// Payload sizes a BOOT2 may have, in dwords.
const PAYLOAD: std::ops::RangeInclusive<u32> = 4..=0x10_0000;

/// Name in verify lines.
pub(super) const NAME: &str = "BOOT2";

/// Where the BOOT2 at `at` is, checked where the walk checks code.
pub(super) fn check(walk: &mut Walk<'_>, space: Space<'_>, at: u64) -> Result<Extent, ImageError> {
    let extent = extent(space, at)?;
    if walk.checks_code() {
        let bytes = space
            .read(at, extent.size)
            .map_err(|source| ImageError::read(NAME, source))?;
        let (covered, stored) = split_crc(NAME, at, &bytes)?;
        let shown = match walk.medium {
            Medium::File | Medium::Package => at,
            Medium::Flash => space.physical(at),
        };
        walk.demand(NAME, Extent::new(shown, extent.size), covered, stored)?;
    }
    Ok(extent)
}

/// Splits off the CRC dword behind BOOT2 or an FS2 section. Its upper half is part of it and 0:
/// chips compare whole dwords here.
pub(super) fn split_crc(
    name: impl Into<Cow<'static, str>>,
    address: u64,
    bytes: &[u8],
) -> Result<(&[u8], u16), ImageError> {
    let (covered, last) = bytes.split_last_chunk::<4>().unwrap_or((bytes, &[0; 4]));
    let dword = u32::from_be_bytes(*last);
    u16::try_from(dword)
        .map(|stored| (covered, stored))
        .map_err(|_| ImageError::Section {
            section: name.into(),
            address,
            reason: format!("its CRC dword is {dword:#010x}, whose upper half should be 0"),
        })
}

/// Where the BOOT2 at `at` ends, from its size dword.
fn extent(space: Space<'_>, at: u64) -> Result<Extent, ImageError> {
    let head = space
        .read(at, 8)
        .map_err(|source| ImageError::read(NAME, source))?;
    let dwords = be32(&head, 4).unwrap_or(0);
    let size = (u64::from(dwords) + 4) * 4;
    let fault = |reason| ImageError::Section {
        section: NAME.into(),
        address: at,
        reason,
    };
    if !PAYLOAD.contains(&dwords) {
        return Err(fault(format!("unexpected size of {dwords:#x} dwords")));
    }
    if !space.contains(at, size) {
        return Err(fault(format!("its {size:#x} bytes reach past the end")));
    }
    Ok(Extent::new(at, size))
}

/// Checks the binary version in the low half of `dword`: 0.0, or `minimum` to 1.x.
pub(super) fn binary_version(dword: u32, minimum: (u32, u32)) -> Result<(), ImageError> {
    let version = (bits(dword, 15, 8), bits(dword, 7, 0));
    if version == (0, 0) || (version >= minimum && version.0 <= 1) {
        return Ok(());
    }
    Err(ImageError::BinaryVersion {
        major: version.0,
        minor: version.1,
        minimum: if minimum == (1, 1) { "1.1" } else { "1.0" },
    })
}

/// The slot size that counts for an image at `start`: one built for 4 MiB slots may lie in the
/// second 8 MiB slot (images 1.3).
pub(super) const fn slot_log2(stated: u8, start: u64) -> u8 {
    if stated == 22 && start == 1 << 23 {
        23
    } else {
        stated
    }
}
