//! FS2 images: ConnectX-3, ConnectX-3 Pro and older (images-fs2).
//!
//! Header, BOOT2 and a chain of sections, each behind a header (GPH) that names its successor. All
//! parts follow each other without gaps; one CRC covers the whole. Files hold the image in one
//! piece although it says it is failsafe; on flash it lies in chunks.

use std::borrow::Cow;

use super::ImageError;
use super::address::Space;
use super::boot2;
use super::crc::{ImageCrc, image_crc};
use super::fs2_info::{self, InfoTags};
use super::info::ImageInfo;
use super::layout::{CrcPlace, Extent, Layout, Section};
use super::section::{self, fs2_kind};
use super::toc::low_half;
use super::verify::{Banner, CheckResult, Depth, Medium, Walk};
use crate::bytes::{be32, bits};
use crate::model::ImageFormat;

/// Bytes before BOOT2.
const HEADER_SIZE: u64 = 0x38;

/// Bytes of a section header.
const GPH_SIZE: u64 = 16;

/// Bytes of a section around its data: GPH and CRC dword.
const FRAME: u64 = GPH_SIZE + 4;

/// Largest section.
const MAX_SECTION: u64 = 0x40_0000;

/// Sections of one image; released ones have a few dozen.
const MAX_SECTIONS: usize = 1024;

/// `next` of the last section (0 as well).
const LAST: u32 = 0xff00_0000;

/// What stands for a CRC while the GUIDs are blank.
const BLANK_CRC: u16 = 0xffff;

/// How the image lies in its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// One piece: an image file.
    OnePiece,
    /// Chunks of the slot size: a flash or a raw dump of one.
    Chunks,
}

/// A section of the chain, with its bytes where the walk read them.
struct Link<'a> {
    section: Section,
    bytes: Option<Cow<'a, [u8]>>,
    next: u64,
}

/// What the chain holds that matters afterwards.
#[derive(Default)]
struct Parts<'a> {
    guid: Option<(u64, Cow<'a, [u8]>)>,
    info: Option<(u64, Cow<'a, [u8]>)>,
    rom: Option<Cow<'a, [u8]>>,
    crc: ImageCrc,
}

/// Reads the image of `walk`.
pub(super) fn walk(
    walk: &mut Walk<'_>,
    arrangement: Arrangement,
) -> Result<(Layout, ImageInfo), ImageError> {
    let header = Space::contiguous(walk.source, walk.start)
        .read(0, HEADER_SIZE)
        .map_err(|source| ImageError::read("image header", source))?;
    let slot_log2 = failsafe(&header, walk.start)?;
    walk.banner = Some(Banner::Fs2 {
        start: walk.start,
        chunk: slot_log2.map(|log2| 1 << log2),
    });
    let chunked = arrangement == Arrangement::Chunks && slot_log2.is_some();
    let space = match slot_log2 {
        Some(log2) if chunked => Space::chunked(walk.source, walk.start, log2)?,
        _ => Space::contiguous(walk.source, walk.start),
    };
    let mut parts = Parts::default();
    parts.crc.update(&with_blank_crc(&header));
    let boot2 = boot_stages(walk, space, &mut parts)?;
    let mut layout = Layout {
        format: ImageFormat::Fs2,
        start: walk.start,
        slot_log2,
        chunked,
        header: Extent::new(0, HEADER_SIZE),
        boot2: Some(boot2),
        tools: None,
        hashes: None,
        itoc: None,
        dtoc: None,
        sections: Vec::new(),
        size: boot2.end(),
        encrypted: false,
        reduced: false,
    };
    chain(walk, space, &mut layout, &mut parts)?;
    let (tags, guids) = pointed(&header, &parts)?;
    let blank = guids_are_blank(&parts);
    full_image(walk, &header, &layout, (&parts, &tags, blank))?;
    if blank && walk.depth == Depth::Everything {
        return Err(ImageError::BlankGuids);
    }
    let info = tags.into_info(&layout, guids, parts.rom.as_deref().map(data), blank);
    Ok((layout, info))
}

/// Reads the failsafe dword: log2 of the chunk size, or `None` for an image without chunks.
fn failsafe(header: &[u8], start: u64) -> Result<Option<u8>, ImageError> {
    let dword = be32(header, 0x28).unwrap_or(0);
    if !sums_to_zero(dword) {
        return Err(ImageError::Header(format!(
            "failsafe dword {dword:#010x} at 0x28: its bytes do not sum to 0"
        )));
    }
    let slot_log2 =
        (bits(dword, 3, 3) == 1).then(|| 16 + super::image_info::u8_of(bits(dword, 2, 0)));
    let fits = match slot_log2 {
        None => start == 0,
        Some(log2) => start == 0 || start == 1 << log2,
    };
    if fits {
        Ok(slot_log2)
    } else {
        Err(ImageError::SlotSize {
            start,
            slot_log2: slot_log2.unwrap_or(0),
        })
    }
}

fn sums_to_zero(dword: u32) -> bool {
    dword.to_be_bytes().into_iter().fold(0u8, u8::wrapping_add) == 0
}

/// The header as the full-image CRC takes it: its own field all ones.
fn with_blank_crc(header: &[u8]) -> Vec<u8> {
    let mut header = header.to_vec();
    if let Some(field) = header.get_mut(0x22..0x24) {
        field.fill(0xff);
    }
    header
}

/// BOOT2, and once a second stage behind it: what is there is no section when its type is
/// unknown.
fn boot_stages<'a>(
    walk: &mut Walk<'a>,
    space: Space<'a>,
    parts: &mut Parts<'a>,
) -> Result<Extent, ImageError> {
    let mut stages = boot2::check(walk, space, HEADER_SIZE)?;
    let kind = dword(space, stages.end())?;
    if !(1..=fs2_kind::LAST).contains(&kind) {
        let second = boot2::check(walk, space, stages.end())?;
        stages.size += second.size;
    }
    if walk.checks_code() {
        let bytes = space
            .read(stages.address, stages.size)
            .map_err(|source| ImageError::read(boot2::NAME, source))?;
        parts.crc.update(&bytes);
    }
    Ok(stages)
}

fn dword(space: Space<'_>, at: u64) -> Result<u32, ImageError> {
    let bytes = space
        .read(at, 4)
        .map_err(|source| ImageError::read("section header", source))?;
    Ok(be32(&bytes, 0).unwrap_or(0))
}

/// Follows the chain of sections. Every section lies behind the one before.
fn chain<'a>(
    walk: &mut Walk<'a>,
    space: Space<'a>,
    layout: &mut Layout,
    parts: &mut Parts<'a>,
) -> Result<(), ImageError> {
    let mut at = layout.size;
    for _ in 0..MAX_SECTIONS {
        let link = link(walk, space, at)?;
        layout.size = link.section.address + link.section.size;
        let next = link.next;
        layout.sections.push(link.section.clone());
        parts.take(walk, link)?;
        match next {
            0 => return Ok(()),
            next if next < layout.size => {
                return Err(ImageError::Header(format!(
                    "the section after the one at {at:#x} is said to be at {next:#x}, before its end"
                )));
            }
            next => at = next,
        }
    }
    Err(ImageError::Header(format!(
        "more than {MAX_SECTIONS} sections"
    )))
}

/// Reads the GPH at `at`, and the section where the walk wants it.
fn link<'a>(walk: &Walk<'a>, space: Space<'a>, at: u64) -> Result<Link<'a>, ImageError> {
    let gph = space
        .read(at, GPH_SIZE)
        .map_err(|source| ImageError::read(format!("section header at {at:#x}"), source))?;
    let field = |offset| be32(&gph, offset).unwrap_or(0);
    let kind = field(0);
    let name = section::fs2_name(kind);
    let units = u64::from(field(4));
    let data = if kind == fs2_kind::EMT_SERVICE {
        units.next_multiple_of(4)
    } else {
        units * 4
    };
    let fault = |reason| ImageError::Section {
        section: name.clone(),
        address: at,
        reason,
    };
    if data > MAX_SECTION {
        return Err(fault(format!(
            "{data:#x} bytes are more than a section has"
        )));
    }
    let size = data + FRAME;
    if !space.contains(at, size) {
        return Err(fault(format!("its {size:#x} bytes reach past the end")));
    }
    let shown = matches!(kind, fs2_kind::GUID | fs2_kind::IMAGE_INFO | fs2_kind::ROM);
    let bytes = if shown || walk.checks_code() {
        let read = space.read(at, size);
        Some(read.map_err(|source| ImageError::read(name.clone(), source))?)
    } else {
        None
    };
    Ok(Link {
        section: Section {
            kind,
            name,
            address: at,
            absolute: false,
            physical: space.physical(at),
            size,
            device_data: false,
            crc: CrcPlace::LastDword,
            cache_lines: false,
            encrypted: false,
            entry: space.physical(at),
        },
        bytes,
        next: match field(12) {
            LAST => 0,
            next => u64::from(next),
        },
    })
}

impl<'a> Parts<'a> {
    /// Checks a section that was read and keeps what matters of it.
    fn take(&mut self, walk: &mut Walk<'_>, link: Link<'a>) -> Result<(), ImageError> {
        let Some(bytes) = link.bytes else {
            return Ok(());
        };
        let section = link.section;
        let (covered, stored) = boot2::split_crc(section.name.clone(), section.address, &bytes)?;
        let extent = Extent::new(section.address, section.size);
        let data = covered.get(16..).unwrap_or_default();
        let blank = section.kind == fs2_kind::GUID
            && stored == BLANK_CRC
            && data.get(..8).is_some_and(is_blank);
        if blank {
            walk.record(section.name, extent, CheckResult::Blank);
        } else {
            walk.demand(section.name, extent, covered, stored)?;
        }
        self.crc.update(covered);
        self.crc
            .update(&u32::from(image_crc(covered)).to_be_bytes());
        let data_at = section.address + GPH_SIZE;
        match section.kind {
            fs2_kind::GUID => self.guid = Some((data_at, bytes)),
            fs2_kind::IMAGE_INFO => self.info = Some((data_at, bytes)),
            fs2_kind::ROM => self.rom = Some(bytes),
            _ => {}
        }
        Ok(())
    }
}

/// The data of a section that was read whole.
fn data(bytes: &[u8]) -> &[u8] {
    bytes
        .get(16..bytes.len().saturating_sub(4))
        .unwrap_or_default()
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0xff)
}

/// Info tags and GUID entries, through the header's pointers. Both must point at the data of
/// their section.
fn pointed(header: &[u8], parts: &Parts<'_>) -> Result<(InfoTags, Vec<u64>), ImageError> {
    let info_pointer = be32(header, 0x2c).unwrap_or(0);
    if !sums_to_zero(info_pointer) {
        return Err(ImageError::Header(format!(
            "info pointer {info_pointer:#010x} at 0x2c: its bytes do not sum to 0"
        )));
    }
    let info_at = u64::from(bits(info_pointer, 23, 0));
    if info_at == 0 {
        return Err(ImageError::Missing("Image Info"));
    }
    let info = at_pointer(parts.info.as_ref(), info_at, "Image Info")?;
    let guid_at = u64::from(be32(header, 0x34).unwrap_or(0));
    let guids = at_pointer(parts.guid.as_ref(), guid_at, "GUID")?;
    Ok((InfoTags::parse(info)?, fs2_info::guid_entries(guids)))
}

fn at_pointer<'s>(
    part: Option<&'s (u64, Cow<'_, [u8]>)>,
    pointer: u64,
    name: &'static str,
) -> Result<&'s [u8], ImageError> {
    match part {
        Some((at, bytes)) if *at == pointer => Ok(data(bytes)),
        Some((at, _)) => Err(ImageError::Header(format!(
            "the {name} pointer says {pointer:#x}, but the section's data is at {at:#x}"
        ))),
        None => Err(ImageError::Missing(name)),
    }
}

/// GUIDs as the factory leaves them: all ones, with all ones for a CRC.
fn guids_are_blank(parts: &Parts<'_>) -> bool {
    parts.guid.as_ref().is_some_and(|(_, bytes)| {
        let crc = bytes
            .last_chunk::<4>()
            .copied()
            .map_or(0, u32::from_be_bytes);
        low_half(crc) == BLANK_CRC && is_blank(data(bytes))
    })
}

/// The CRC over everything, which images have from the time on that they name their generator.
fn full_image(
    walk: &mut Walk<'_>,
    header: &[u8],
    layout: &Layout,
    (parts, tags, blank): (&Parts<'_>, &InfoTags, bool),
) -> Result<(), ImageError> {
    const NAME: &str = "Full Image";
    if !tags.has_mic_version() || !walk.checks_code() {
        return Ok(());
    }
    let extent = Extent::new(0, layout.size);
    let stored = low_half(be32(header, 0x20).unwrap_or(0));
    let calculated = parts.crc.value();
    if blank && stored == BLANK_CRC {
        walk.record(NAME, extent, CheckResult::Blank);
        return Ok(());
    }
    if stored == calculated {
        walk.record(NAME, extent, CheckResult::Ok);
        return Ok(());
    }
    walk.record(NAME, extent, CheckResult::Wrong { stored, calculated });
    if walk.depth == Depth::Info && walk.medium != Medium::Flash {
        walk.warnings.push(format!(
            "wrong full-image CRC ({stored:#06x} stored, {calculated:#06x} calculated): the image is damaged"
        ));
        return Ok(());
    }
    Err(ImageError::Crc {
        what: NAME.into(),
        address: 0,
        stored,
        calculated,
    })
}
