//! Where everything of an image is: what a burner writes, a chip boots from and a verifier checks.
//!
//! Two kinds of addresses: *contiguous* ones count the bytes of the image from its start;
//! *physical* ones are flash or file offsets (images 3).

use std::borrow::Cow;

use super::ImageError;
use super::address::{self, Space};
use super::toc::RECORD;
use crate::bytes::ByteSource;
use crate::model::ImageFormat;

/// A run of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

impl Extent {
    /// `size` bytes from `address`.
    #[must_use]
    pub const fn new(address: u64, size: u64) -> Self {
        Self { address, size }
    }

    /// The byte after the last one.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

/// Where the checksum of a section is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrcPlace {
    /// In the section's table-of-contents entry.
    Entry {
        /// The CRC stored there.
        stored: u16,
    },
    /// In the low half of the section's last dword, over everything before.
    LastDword,
    /// Nowhere.
    None,
}

/// One section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Type: a table-of-contents type byte (FS3 and later), a GPH type (FS2).
    pub kind: u32,
    /// Name as the vendor's tools print it.
    pub name: Cow<'static, str>,
    /// Contiguous address, or the physical one (see `absolute`).
    pub address: u64,
    /// `address` is physical, as device data's is, and does not move with the image's slot.
    pub absolute: bool,
    /// Physical address.
    pub physical: u64,
    /// Bytes. FS2: with the 16 bytes of GPH and the CRC dword.
    pub size: u64,
    /// Belongs to the device (addresses, VPD, configuration) and survives burning an image.
    pub device_data: bool,
    /// Where its CRC is.
    pub crc: CrcPlace,
    /// Lines of 64 bytes, each with a check dword of its own (FS4, FS5).
    pub cache_lines: bool,
    /// Contents are encrypted (FS4, FS5).
    pub encrypted: bool,
    /// Physical address of its table-of-contents entry (FS2: of its GPH).
    pub entry: u64,
}

impl Section {
    /// Where it is in the source, as long as it does not cross a chunk.
    #[must_use]
    pub const fn physical_extent(&self) -> Extent {
        Extent::new(self.physical, self.size)
    }
}

/// A table of contents with two places, of which one is valid at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TocPlaces {
    /// Contiguous address of the valid header.
    pub used: u64,
    /// Contiguous address of the other place.
    pub other: u64,
}

/// Everything of one image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Format.
    pub format: ImageFormat,
    /// Physical address of the image.
    pub start: u64,
    /// log2 of the slot (chunk) size; `None`: the image has no slots, or does not say.
    pub slot_log2: Option<u8>,
    /// Whether contiguous addresses go through chunks of the slot size in this source. Files of
    /// FS2 images are in one piece whatever their slot size.
    pub chunked: bool,
    /// Header: marker, version or pointers, up to BOOT2 (FS2, FS3) or the end of the pointers.
    pub header: Extent,
    /// Second boot stage (and third, FS2).
    pub boot2: Option<Extent>,
    /// Tools area (FS4, FS5).
    pub tools: Option<Extent>,
    /// Hashes table (FS4 from ConnectX-7 on, FS5).
    pub hashes: Option<Extent>,
    /// Image table of contents (FS3 and later; absent in encrypted images).
    pub itoc: Option<TocPlaces>,
    /// Physical address of the device table of contents (FS4, FS5; absent in reduced images).
    pub dtoc: Option<u64>,
    /// All sections, in table order.
    pub sections: Vec<Section>,
    /// Contiguous end of the last image section: the size of the image without device data.
    pub size: u64,
    /// Contents are encrypted: only header, pointers and info are readable.
    pub encrypted: bool,
    /// There is no device data.
    pub reduced: bool,
}

impl Layout {
    /// Physical address of a contiguous one.
    #[must_use]
    pub fn physical(&self, address: u64) -> u64 {
        match self.chunk_log2() {
            None => self.start.saturating_add(address),
            Some(log2) => address::chunked(address, self.start, log2),
        }
    }

    /// Physical address behind the image's last byte.
    #[must_use]
    pub fn physical_end(&self) -> u64 {
        match self.size.checked_sub(1) {
            None => self.physical(0),
            Some(last) => self.physical(last).saturating_add(1),
        }
    }

    /// Contiguous address of a physical one; `None` when it is not in this image's part of the
    /// source.
    #[must_use]
    pub fn contiguous(&self, physical: u64) -> Option<u64> {
        match self.chunk_log2() {
            None => physical.checked_sub(self.start),
            Some(log2) => address::unchunked(physical, self.start, log2),
        }
    }

    /// Where `len` bytes of the image from contiguous `address` lie, one extent a chunk.
    pub fn extents(&self, address: u64, len: u64) -> impl Iterator<Item = Extent> {
        let chunk = self.chunk_log2().map_or(u64::MAX, |log2| 1 << log2);
        let end = address.saturating_add(len);
        let mut at = address;
        std::iter::from_fn(move || {
            let size = (chunk - at % chunk).min(end.checked_sub(at)?);
            let extent = Extent::new(self.physical(at), size);
            at += size;
            (size > 0).then_some(extent)
        })
    }

    /// log2 of the chunk size, where there are chunks.
    fn chunk_log2(&self) -> Option<u8> {
        self.slot_log2.filter(|&log2| self.chunked && log2 != 0)
    }

    /// The image's bytes in `source`, by contiguous address.
    pub(super) fn space<'a>(&self, source: &'a dyn ByteSource) -> Result<Space<'a>, ImageError> {
        match self.chunk_log2() {
            None => Ok(Space::contiguous(source, self.start)),
            Some(log2) => Space::chunked(source, self.start, log2),
        }
    }

    /// Refuses an image whose parts lie over each other or behind its end, and device data that
    /// lies over the image: to burn it would destroy a part of it.
    pub(super) fn check_overlaps(&self) -> Result<(), ImageError> {
        let end = disjoint(self.parts())?;
        if end > self.size {
            return Err(ImageError::Header(format!(
                "a part of the image ends at {end:#x}, behind its end at {:#x}",
                self.size
            )));
        }
        let inside = |physical| self.contiguous(physical).is_some_and(|at| at < self.size);
        let fault = self.sections.iter().find(|section| {
            let extent = section.physical_extent();
            section.absolute
                && section.size != 0
                && (inside(extent.address) || inside(extent.end() - 1))
        });
        match fault {
            None => Ok(()),
            Some(section) => Err(ImageError::Overlap {
                first: "the image".into(),
                second: section.name.clone(),
                address: section.physical,
            }),
        }
    }

    /// Everything that has a place of its own in the image, by contiguous address.
    fn parts(&self) -> Vec<(Extent, Cow<'static, str>)> {
        let entries = self.image_sections().count() as u64;
        let itoc = self
            .itoc
            .map(|itoc| Extent::new(itoc.used, RECORD * (2 + entries)));
        let fixed = [
            ("header", Some(self.header)),
            ("BOOT2", self.boot2),
            ("TOOLS_AREA", self.tools),
            ("HASHES_TABLE", self.hashes),
            ("ITOC", itoc),
        ];
        let fixed = fixed
            .into_iter()
            .filter_map(|(name, extent)| Some((extent?, Cow::Borrowed(name))));
        let sections = self.sections.iter().filter(|section| !section.absolute);
        let sections = sections.map(|section| {
            let extent = Extent::new(section.address, section.size);
            (extent, section.name.clone())
        });
        fixed.chain(sections).collect()
    }

    /// The first section of a type.
    #[must_use]
    pub fn section(&self, kind: u8) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| section.kind == u32::from(kind))
    }

    /// Sections a burn writes.
    pub fn image_sections(&self) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(|section| !section.device_data)
    }
}

/// Checks that no two extents share a byte; returns the end of the last one.
fn disjoint(mut extents: Vec<(Extent, Cow<'static, str>)>) -> Result<u64, ImageError> {
    extents.retain(|(extent, _)| extent.size != 0);
    extents.sort_by_key(|(extent, _)| extent.address);
    let pairs = extents.iter().zip(extents.iter().skip(1));
    for ((before, first), (after, second)) in pairs {
        if before.end() > after.address {
            return Err(ImageError::Overlap {
                first: first.clone(),
                second: second.clone(),
                address: after.address,
            });
        }
    }
    Ok(extents.last().map_or(0, |(extent, _)| extent.end()))
}
