//! FS2: the addresses and the VSD of the card travel in the image itself, so they are put into it
//! before it is burned (images-fs2 9). And the place the configuration has on the flash.

use std::ops::Range;

use crate::bytes::{ByteSource, be32};
use crate::image::crc::image_crc;
use crate::image::section::fs2_kind::{GUID, IMAGE_INFO};
use crate::image::{Section, Uids, Whole};

use super::error::Fault;
use super::found::Image;

/// Bytes of a section header (GPH); the data follows.
const GPH: usize = 16;
/// Offset of the full-image CRC, the low half of the dword at 0x20.
const IMAGE_CRC: Range<usize> = 0x22..0x24;

/// Tags of the Image Info section.
const VSD: u8 = 5;
const CONFIGURATION: u8 = 19;
const END: u8 = 0xff;

/// Configuration sectors are of this size unless the image says otherwise, and the area is never
/// larger.
const CONFIGURATION_LIMIT: u64 = 0x1_0000;

/// GUIDs before the MACs.
const GUIDS: usize = 4;
/// An unset MAC.
const NO_MAC: u64 = 0xffff_ffff_ffff;

/// Puts the card's addresses, and its VSD where it has one, into the image, and makes every
/// checksum right again.
pub(super) fn personalise(image: &mut Whole, entries: &[u64], vsd: Option<&[u8]>) {
    let entries = with_macs(entries);
    let Whole { bytes, layout, .. } = image;
    for section in &layout.sections {
        let Some(data) = data_range(section, bytes.len()) else {
            continue;
        };
        match (section.kind, vsd) {
            (GUID, _) => {
                for (field, entry) in bytes[data.clone()].chunks_exact_mut(8).zip(&entries) {
                    field.copy_from_slice(&entry.to_be_bytes());
                }
            }
            (IMAGE_INFO, Some(vsd)) => put_vsd(&mut bytes[data.clone()], vsd),
            _ => continue,
        }
        let crc = image_crc(&bytes[data.start - GPH..data.end]);
        bytes[data.end..data.end + 4].copy_from_slice(&u32::from(crc).to_be_bytes());
    }
    if let Some(field) = bytes.get_mut(IMAGE_CRC) {
        field.fill(0xff);
    }
    let crc = image_crc(bytes);
    if let Some(field) = bytes.get_mut(IMAGE_CRC) {
        field.copy_from_slice(&crc.to_be_bytes());
    }
}

/// Old images have no MACs, and blank ones stand for none: they follow from the port GUIDs
/// without their middle 16 bits (images-fs2 5.1).
fn with_macs(entries: &[u64]) -> Vec<u64> {
    let mut all = entries.to_vec();
    let blank = entries
        .get(GUIDS..)
        .unwrap_or_default()
        .iter()
        .all(|mac| mac & NO_MAC == NO_MAC);
    if blank && entries.len() >= GUIDS {
        all.truncate(GUIDS);
        let macs = entries[1..3]
            .iter()
            .map(|guid| ((guid >> 40) << 24) | (guid & 0xff_ffff));
        all.extend(macs);
    }
    all
}

/// Where the data of a section lies in the image, its CRC dword behind it.
fn data_range(section: &Section, len: usize) -> Option<Range<usize>> {
    let start = usize::try_from(section.address).ok()?;
    let end = start.checked_add(usize::try_from(section.size).ok()?)?;
    let data = start.checked_add(GPH)?..end.checked_sub(4)?;
    (data.start <= data.end && end <= len).then_some(data)
}

/// Writes the VSD into its tag, zeroes behind it.
fn put_vsd(info: &mut [u8], vsd: &[u8]) {
    let field = tag(info, VSD).and_then(|range| info.get_mut(range));
    let bytes = vsd.iter().copied().chain(std::iter::repeat(0));
    for (byte, new) in field.into_iter().flatten().zip(bytes) {
        *byte = new;
    }
}

/// What an FS2 image on the flash says of its card.
#[derive(Debug)]
pub(super) struct Owner {
    /// GUIDs and MACs; `None`: never set.
    pub(super) entries: Option<Vec<u64>>,
    /// VSD, as it is.
    pub(super) vsd: Option<Vec<u8>>,
    /// Its configuration area.
    pub(super) configuration: Configuration,
}

impl Owner {
    /// Reads the image's Image Info section again, for what a query does not keep.
    pub(super) fn read(flash: &dyn ByteSource, image: &Image) -> Result<Self, Fault> {
        let entries = match &image.info.uids {
            Some(Uids::Fs2 { entries }) if !image.info.blank_guids => Some(entries.clone()),
            _ => None,
        };
        let sections = &image.layout.sections;
        let info = match sections.iter().find(|s| s.kind == IMAGE_INFO) {
            Some(section) => read_section(flash, image, section)?,
            None => Vec::new(),
        };
        let info = info
            .get(GPH..info.len().saturating_sub(4))
            .unwrap_or_default();
        let vsd = tag(info, VSD).and_then(|range| info.get(range));
        Ok(Self {
            entries,
            vsd: vsd.map(<[u8]>::to_vec),
            configuration: Configuration::parse(info),
        })
    }
}

fn read_section(
    flash: &dyn ByteSource,
    image: &Image,
    section: &Section,
) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    // a chunk at a time: a section may cross into the next
    for extent in image.layout.extents(section.address, section.size) {
        bytes.extend_from_slice(&flash.read(extent.address, extent.size)?);
    }
    Ok(bytes)
}

/// Where the data of a tag is (images-fs2 5.2).
fn tag(info: &[u8], wanted: u8) -> Option<Range<usize>> {
    let mut at = 0;
    loop {
        let head = be32(info, at)?;
        let [tag, size @ ..] = head.to_be_bytes();
        let [high, middle, low] = size;
        let size = usize::try_from(u32::from_be_bytes([0, high, middle, low])).ok()?;
        let data = at + 4..at.checked_add(4)?.checked_add(size)?;
        if tag == wanted {
            return (data.end <= info.len()).then_some(data);
        }
        if tag == END {
            return None;
        }
        at = data.end;
    }
}

/// The configuration area an image wants in each half of the flash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Configuration {
    sectors: u64,
    pub(super) pad: u32,
    sector_size: Option<u64>,
}

impl Configuration {
    /// Of an image in one piece.
    pub(super) fn of_whole(image: &Whole) -> Self {
        let info = image.layout.sections.iter().find(|s| s.kind == IMAGE_INFO);
        info.and_then(|section| data_range(section, image.bytes.len()))
            .map_or_else(Self::default, |data| Self::parse(&image.bytes[data]))
    }

    fn parse(info: &[u8]) -> Self {
        let Some(range) = tag(info, CONFIGURATION) else {
            return Self::default();
        };
        let dword = |index: usize| {
            let at = range.start + index * 4;
            (at + 4 <= range.end).then(|| be32(info, at)).flatten()
        };
        Self {
            sectors: u64::from(dword(0).unwrap_or(0)),
            pad: dword(1).unwrap_or(0),
            // log2 of the sector size in KiB
            sector_size: dword(2).and_then(|log2| 0x400u64.checked_shl(log2)),
        }
    }

    /// Bytes at the end of each half of the flash that no image may lie in, when `self` is to
    /// follow `card` (images-fs2 9, step 6).
    pub(super) fn reserved(&self, card: &Self) -> u64 {
        let sector = self.sector_size.max(card.sector_size);
        let sector = sector.unwrap_or(CONFIGURATION_LIMIT);
        let sectors = self.sectors.max(card.sectors).saturating_mul(sector);
        let pad = u64::from(card.pad).saturating_mul(sector);
        sectors.min(CONFIGURATION_LIMIT).saturating_add(pad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macs_follow_from_port_guids_where_there_are_none() {
        let old = [
            0x0002_c903_0001_0000,
            0x0002_c903_0001_0001,
            0x0002_c903_0001_0002,
            0x0002_c903_0001_0003,
        ];
        let macs = [0x0002_c901_0001, 0x0002_c901_0002];
        assert_eq!(with_macs(&old)[4..], macs);
        let mut blank = old.to_vec();
        blank.extend([u64::MAX, NO_MAC]);
        assert_eq!(with_macs(&blank)[4..], macs);
        let mut set = old.to_vec();
        set.extend([1, 2]);
        assert_eq!(with_macs(&set), set);
        assert_eq!(with_macs(&[]), [0u64; 0]);
    }

    #[test]
    fn the_configuration_area_is_at_most_64_kib_and_its_pad() {
        let of = |sectors, pad, sector_size| Configuration {
            sectors,
            pad,
            sector_size,
        };
        let none = Configuration::default();
        assert_eq!(none.reserved(&none), 0);
        assert_eq!(of(1, 0, None).reserved(&none), 0x1_0000);
        assert_eq!(of(4, 0, Some(0x1000)).reserved(&none), 0x4000);
        assert_eq!(none.reserved(&of(2, 1, Some(0x1_0000))), 0x2_0000);
    }
}
