//! Device data that no table names any more, though it still lies on the flash: what is left when
//! other firmware or tools lost the table, and not the sections.
//!
//! It is looked for where the reference layouts have it (images-fs3 8, images-fs4 6.2). Without the
//! table there is no checksum for most of it. What counts instead is that the card's two records of
//! its addresses, DEV_INFO with its signature and MFG_INFO, agree in all 64 bytes. A card whose
//! addresses were changed since the factory is not found that way.

use crate::bytes::{ByteSource, be32, bits};
use crate::identity::{Guid, Mac, Psid};
use crate::image::crc::image_crc;
use crate::model::{ImageFormat, Model};

use super::device_area::{self, Contents, DEV_INFO_SIGNATURE, DeviceArea, Places};
use super::identity::RecoveryIdentity;

/// Bytes of the sections.
pub(super) const DEV_INFO_SIZE: u64 = 0x200;
pub(super) const MFG_INFO_SIZE: u64 = 0x140;
/// The addresses in both.
pub(super) const UIDS: std::ops::Range<usize> = 0x20..0x60;
/// Entries of them: the base MAC's on chips with base addresses, else that of port 1.
const BASE_MAC: usize = 1;
const PORT_MAC: usize = 2;

/// Most bytes of VPD: up to the end of MFG_INFO's sector.
pub(super) const VPD_LIMIT: u64 = 0x1000 - device_area::VPD_AFTER_MFG;
/// Tags of VPD: identifier, end, and what large tags have in common (PCI 3.0, appendix I).
const VPD_IDENTIFIER: u8 = 0x82;
const VPD_END: u8 = 0x78;
const VPD_LARGE: u8 = 0x80;

/// Device data without its table.
#[derive(Debug)]
pub(super) struct Leftover {
    /// Base GUID.
    pub(super) guid: Guid,
    /// Base MAC.
    pub(super) mac: Mac,
    /// Entries for an FS3 table; for FS4 the table to write.
    pub(super) area: DeviceArea,
}

impl Leftover {
    /// Looks for it; a flash that cannot be read has none.
    pub(super) fn find(flash: &dyn ByteSource, model: &Model) -> Option<Self> {
        let places = Places::of(model.format, flash.size());
        let from_end =
            |distance: u64, size| flash.read(flash.size().checked_sub(distance)?, size).ok();
        let mfg_info = from_end(places.mfg_info, MFG_INFO_SIZE)?;
        Psid::from_field(mfg_info.get(..16)?)?;
        let (at, dev_info) = places
            .dev_info_copies(model.format)
            .into_iter()
            .find_map(|at| {
                let bytes = from_end(at, DEV_INFO_SIZE)?;
                let agrees =
                    is_dev_info(&bytes, model.format) && bytes.get(UIDS) == mfg_info.get(UIDS);
                agrees.then_some((at, bytes))
            })?;
        let (guid, mac) = addresses(&mfg_info, model)?;
        let vpd_place = places.mfg_info.checked_sub(device_area::VPD_AFTER_MFG)?;
        let vpd = from_end(vpd_place, VPD_LIMIT).and_then(|bytes| {
            let end = vpd_end(&bytes)?;
            bytes.get(..end).map(<[u8]>::to_vec)
        });
        let contents = Contents {
            dev_info: dev_info.into_owned(),
            mfg_info: mfg_info.into_owned(),
            vpd: vpd.unwrap_or_default(),
        };
        let area = device_area::table_of(model.format, flash.size(), (&places, at), &contents)?;
        Some(Self { guid, mac, area })
    }

    /// It is of the card its owner says it is.
    pub(super) fn is_of(&self, told: &RecoveryIdentity) -> bool {
        (self.guid, self.mac) == (told.guid, told.mac)
    }
}

fn is_dev_info(bytes: &[u8], format: ImageFormat) -> bool {
    let checked = match format {
        ImageFormat::Fs3 => true,
        _ => {
            let stored = be32(bytes, 0x1fc).map(|dword| bits(dword, 15, 0));
            let crc = bytes.get(..0x1fc).map(image_crc).map(u32::from);
            stored == crc
        }
    };
    checked && bytes.starts_with(DEV_INFO_SIGNATURE)
}

/// Base GUID and MAC in MFG_INFO or DEV_INFO; `None` where one is not set, or is none a port can
/// have.
pub(super) fn addresses(info: &[u8], model: &Model) -> Option<(Guid, Mac)> {
    let entry = |index: usize| {
        let at = UIDS.start + index * 16 + 8;
        let field = info.get(at..at + 8)?;
        Some(u64::from_be_bytes(field.try_into().ok()?))
    };
    let mac = if model.has_base_addresses() {
        BASE_MAC
    } else {
        PORT_MAC
    };
    let (guid, mac) = (Guid::new(entry(0)?)?, Mac::new(entry(mac)?)?);
    RecoveryIdentity::new(guid, mac).check().ok()?;
    Some((guid, mac))
}

/// Where VPD ends, in whole dwords.
fn vpd_end(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&VPD_IDENTIFIER) {
        return None;
    }
    let mut at = 0;
    loop {
        match *bytes.get(at)? {
            VPD_END => break,
            large if large & VPD_LARGE != 0 => {
                let size = [*bytes.get(at + 1)?, *bytes.get(at + 2)?];
                at += 3 + usize::from(u16::from_le_bytes(size));
            }
            _ => return None,
        }
    }
    let end = (at + 1).next_multiple_of(4);
    (end <= bytes.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vpd_ends_with_its_end_tag_and_nowhere_else() {
        let vpd = [
            0x82, 2, 0, b'a', b'b', 0x90, 1, 0, 7, 0x78, 0xff, 0xff, 0xff,
        ];
        assert_eq!(vpd_end(&vpd), Some(12));
        assert_eq!(vpd_end(&vpd[..10]), None, "half a dword");
        assert_eq!(vpd_end(&vpd[..9]), None, "no end");
        assert_eq!(vpd_end(&[0xff; 16]), None);
        assert_eq!(vpd_end(&[0x82, 0xff, 0xff, 0]), None);
        assert_eq!(vpd_end(&[0x82, 0, 0, 0x01]), None, "another small tag");
    }
}
