//! FS3 images: Connect-IB, ConnectX-4, ConnectX-4 Lx (images-fs3).
//!
//! A header with BOOT2 behind it, then the ITOC in one of two 4 KiB places. Image sections have
//! contiguous addresses, device data physical ones in the same table.

use super::ImageError;
use super::address::Space;
use super::boot2;
use super::contents::{Contents, DevInfoScheme};
use super::info::ImageInfo;
use super::layout::{Extent, Layout, TocPlaces};
use super::toc::{self, Entry, Gaps, Header};
use super::verify::{Banner, Depth, Medium, Walk};
use crate::bytes::{be32, bits};
use crate::model::ImageFormat;

/// Bytes before BOOT2.
pub(super) const HEADER_SIZE: u64 = 0x38;

/// Places an ITOC is searched at: two are in use; released images are a little looser.
const TOC_PLACES: u64 = 16;

/// Slot size of an image that does not say.
const DEFAULT_SLOT_LOG2: u8 = 21;

/// Reads the image of `walk`.
pub(super) fn walk(walk: &mut Walk<'_>) -> Result<(Layout, ImageInfo), ImageError> {
    let (space, slot_log2) = space(walk)?;
    walk.banner = Some(Banner::Fs3);
    let boot2 = boot2::check(walk, space, HEADER_SIZE)?;
    let itoc = find_itoc(walk, space, boot2.end().next_multiple_of(toc::PLACE_STEP))?;
    let mut layout = Layout {
        format: ImageFormat::Fs3,
        start: walk.start,
        slot_log2: Some(slot_log2),
        chunked: true,
        header: Extent::new(0, HEADER_SIZE),
        boot2: Some(boot2),
        tools: None,
        hashes: None,
        itoc: Some(itoc),
        dtoc: None,
        sections: Vec::new(),
        size: itoc.used.max(itoc.other) + toc::PLACE_STEP,
        encrypted: false,
        reduced: true,
    };
    let mut contents = Contents::new(DevInfoScheme::One);
    let gaps = match walk.medium {
        Medium::Package => Gaps::Skip,
        Medium::File | Medium::Flash => Gaps::End,
    };
    toc::FS3_ITOC.visit(
        (itoc.used, gaps),
        |at, len| space.read(at, len),
        |entry, at| {
            visit(
                walk,
                space,
                (entry, space.physical(at)),
                &mut layout,
                &mut contents,
            )
        },
    )?;
    walk.conclude()?;
    if let (Some(fault), false) = (contents.missing_device_data(false), layout.reduced) {
        walk.device_data_fault(fault)?;
    }
    // it boots all the same, without knowing which card it is on
    if layout.reduced && walk.medium == Medium::Flash && walk.depth == Depth::Info {
        walk.device_data_fault(ImageError::Missing("MFG_INFO"))?;
    }
    let image = contents.image()?.ok_or(ImageError::Missing("IMAGE_INFO"))?;
    let evidence = contents.evidence(&image, None);
    layout.check_overlaps()?;
    let info = contents.into_info(image, &layout, evidence)?;
    Ok((layout, info))
}

/// Checks the version word and finds how the image is addressed.
fn space<'a>(walk: &Walk<'a>) -> Result<(Space<'a>, u8), ImageError> {
    let head = Space::contiguous(walk.source, walk.start);
    let header = head
        .read(0, HEADER_SIZE)
        .map_err(|source| ImageError::read("image header", source))?;
    let version = be32(&header, 0x24).unwrap_or(0);
    boot2::binary_version(version, (1, 1))?;
    let stated = super::image_info::u8_of(bits(version, 23, 16));
    let slot_log2 = boot2::slot_log2(
        if stated == 0 {
            DEFAULT_SLOT_LOG2
        } else {
            stated
        },
        walk.start,
    );
    Ok((
        Space::chunked(walk.source, walk.start, slot_log2)?,
        slot_log2,
    ))
}

/// Finds the valid one of the ITOC's places.
fn find_itoc(walk: &mut Walk<'_>, space: Space<'_>, first: u64) -> Result<TocPlaces, ImageError> {
    let places = (0..TOC_PLACES).map(|place| first + place * toc::PLACE_STEP);
    for place in places.take_while(|&place| space.contains(place, toc::RECORD)) {
        let bytes = space
            .read(place, toc::RECORD)
            .map_err(|source| ImageError::read("ITOC header", source))?;
        let (Header::Valid { stored } | Header::WrongCrc { stored }) = toc::FS3_ITOC.header(&bytes)
        else {
            continue;
        };
        let extent = Extent::new(space.physical(place), toc::RECORD);
        let covered = bytes.get(..0x1c).unwrap_or_default();
        walk.demand(toc::FS3_ITOC.header_name, extent, covered, stored)?;
        let other = if place == first {
            place + toc::PLACE_STEP
        } else {
            place - toc::PLACE_STEP
        };
        return Ok(TocPlaces { used: place, other });
    }
    Err(ImageError::NoToc {
        toc: "ITOC",
        place: format!("{first:#x} and after"),
    })
}

/// One entry of the ITOC, with the physical address of the entry itself.
fn visit<'a>(
    walk: &mut Walk<'a>,
    space: Space<'a>,
    (entry, at): (Entry, u64),
    layout: &mut Layout,
    contents: &mut Contents<'a>,
) -> Result<(), ImageError> {
    let physical = if entry.absolute {
        entry.address
    } else {
        space.physical(entry.address)
    };
    let section = entry.section(physical, at);
    // what a package has no room for was left out of it
    let left_out = walk.medium == Medium::Package
        && entry.device_data
        && entry.address + entry.size > walk.source.size();
    if left_out {
        layout.sections.push(section);
        return Ok(());
    }
    match (entry.device_data, entry.absolute) {
        (true, _) => layout.reduced = false,
        (false, false) => layout.size = layout.size.max(entry.address + entry.size),
        (false, true) => {
            return Err(ImageError::Section {
                section: section.name,
                address: entry.address,
                reason: "has an absolute address, but is no device data".to_owned(),
            });
        }
    }
    let outcome = contents.visit(walk, space, &section);
    layout.sections.push(section);
    match outcome {
        Err(fault) if entry.device_data => walk.device_data_fault(fault),
        outcome => outcome,
    }
}
