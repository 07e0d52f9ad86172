//! FS4 images: ConnectX-5 to ConnectX-7, BlueField-1 to -3 (images-fs4, part A).
//!
//! Sixteen checked pointers lead to everything: tools area, BOOT2, hashes table, ITOC. Device data
//! has a table of its own, the DTOC, at the end of the flash. An image without a readable ITOC is
//! encrypted: of it only pointers, IMAGE_INFO and device data can be read.

use super::ImageError;
use super::address::Space;
use super::boot2;
use super::contents::{Contents, DevInfoScheme};
use super::crc::image_crc;
use super::dtoc;
use super::encrypted;
use super::hw_pointers::{self, HwPointers, Pointer};
use super::info::ImageInfo;
use super::layout::{Extent, Layout, TocPlaces};
use super::toc::{self, Gaps, Header, low_half};
use super::verify::{Banner, Medium, Walk};
use crate::bytes::{be32, bits};
use crate::model::ImageFormat;

/// Bytes of the tools area.
const TOOLS_SIZE: u64 = 0x40;

/// Name of the hashes table in verify lines.
const HASHES_NAME: &str = "HASHES_TABLE";

/// Reads the image of `walk`.
pub(super) fn walk(walk: &mut Walk<'_>) -> Result<(Layout, ImageInfo), ImageError> {
    let pointers = HwPointers::read(walk)?;
    if itoc_is_hidden(walk, &pointers) {
        return encrypted::walk(walk, &pointers);
    }
    walk.banner = Some(Banner::Fs4);
    pointers.record(walk);
    let (space, slot_log2, tools) = tools_area(walk, &pointers)?;
    let boot2 = boot2::check(walk, space, pointers.address(Pointer::Boot2))?;
    let hashes = hashes_table(space, &pointers)?;
    if let Some(table) = hashes {
        check_hashes(walk, space, table)?;
    }
    let mut layout = Layout {
        slot_log2: Some(slot_log2),
        chunked: true,
        boot2: Some(boot2),
        tools: Some(tools),
        hashes,
        ..empty_layout(walk, ImageFormat::Fs4)
    };
    let mut contents = Contents::new(DevInfoScheme::TwoCopies);
    image_sections(walk, space, &pointers, (&mut layout, &mut contents))?;
    let image = contents.image()?.ok_or(ImageError::Missing("IMAGE_INFO"))?;
    let flash = walk.source.size();
    if walk.medium == Medium::Flash || layout.physical_end() < flash {
        let place = dtoc::place(flash, image.dtoc_offset);
        dtoc::visit(walk, place, &mut layout, &mut contents)?;
    }
    let version = pointers.value(Pointer::SecurityVersion);
    let evidence = contents.evidence(&image, Some(version));
    layout.check_overlaps()?;
    let info = contents.into_info(image, &layout, evidence)?;
    Ok((layout, info))
}

/// A layout with nothing in it yet.
pub(super) fn empty_layout(walk: &Walk<'_>, format: ImageFormat) -> Layout {
    Layout {
        format,
        start: walk.start,
        slot_log2: None,
        chunked: false,
        header: Extent::new(0, hw_pointers::END),
        boot2: None,
        tools: None,
        hashes: None,
        itoc: None,
        dtoc: None,
        sections: Vec::new(),
        size: 0,
        encrypted: false,
        reduced: true,
    }
}

/// Whether there is nothing like an ITOC at either of its places.
pub(super) fn itoc_is_hidden(walk: &Walk<'_>, pointers: &HwPointers) -> bool {
    let space = Space::contiguous(walk.source, walk.start);
    itoc_places(pointers).into_iter().all(|place| {
        space
            .read(place, toc::RECORD)
            .map_or(Header::Absent, |bytes| toc::ITOC.header(&bytes))
            == Header::Absent
    })
}

fn itoc_places(pointers: &HwPointers) -> [u64; 2] {
    let first = pointers.address(Pointer::Itoc);
    [first, first + toc::PLACE_STEP]
}

/// Checks the tools area; from it come the slot size and with it the image's address space.
pub(super) fn tools_area<'a>(
    walk: &mut Walk<'a>,
    pointers: &HwPointers,
) -> Result<(Space<'a>, u8, Extent), ImageError> {
    let head = Space::contiguous(walk.source, walk.start);
    let at = pointers.address(Pointer::Tools);
    let bytes = head
        .read(at, TOOLS_SIZE)
        .map_err(|source| ImageError::read("TOOLS_AREA", source))?;
    let (covered, last) = bytes.split_at(bytes.len().saturating_sub(4));
    let stored = low_half(be32(last, 0).unwrap_or(0));
    let shown = Extent::new(head.physical(at), TOOLS_SIZE);
    walk.demand("TOOLS_AREA", shown, covered, stored)?;
    let dword = be32(&bytes, 4).unwrap_or(0);
    boot2::binary_version(dword, (1, 0))?;
    let stated = u8::try_from(bits(dword, 31, 16)).unwrap_or(u8::MAX);
    let slot_log2 = boot2::slot_log2(stated, walk.start);
    let space = Space::chunked(walk.source, walk.start, slot_log2)?;
    Ok((space, slot_log2, Extent::new(at, TOOLS_SIZE)))
}

/// Where the hashes table is, if there is one. Its size dword counts as BOOT2's does.
pub(super) fn hashes_table(
    space: Space<'_>,
    pointers: &HwPointers,
) -> Result<Option<Extent>, ImageError> {
    let Some(at) = pointers.set(Pointer::Hashes) else {
        return Ok(None);
    };
    let head = space
        .read(at, 12)
        .map_err(|source| ImageError::read(HASHES_NAME, source))?;
    let stored = low_half(be32(&head, 8).unwrap_or(0));
    let calculated = image_crc(head.get(..8).unwrap_or_default());
    if stored != calculated {
        return Err(ImageError::Crc {
            what: "hashes table header".into(),
            address: at,
            stored,
            calculated,
        });
    }
    let extent = Extent::new(at, (u64::from(be32(&head, 4).unwrap_or(0)) + 4) * 4);
    if space.contains(at, extent.size) {
        return Ok(Some(extent));
    }
    Err(ImageError::Section {
        section: HASHES_NAME.into(),
        address: at,
        reason: format!("its {:#x} bytes reach past the end", extent.size),
    })
}

/// Checks the hashes table, where the walk checks code.
pub(super) fn check_hashes(
    walk: &mut Walk<'_>,
    space: Space<'_>,
    table: Extent,
) -> Result<(), ImageError> {
    if !walk.checks_code() {
        return Ok(());
    }
    let bytes = space
        .read(table.address, table.size)
        .map_err(|source| ImageError::read(HASHES_NAME, source))?;
    let (covered, last) = bytes.split_at(bytes.len().saturating_sub(4));
    let stored = low_half(be32(last, 0).unwrap_or(0));
    let shown = Extent::new(space.physical(table.address), table.size);
    walk.demand(HASHES_NAME, shown, covered, stored)
}

/// Walks the ITOC and its sections.
pub(super) fn image_sections<'a>(
    walk: &mut Walk<'a>,
    space: Space<'a>,
    pointers: &HwPointers,
    (layout, contents): (&mut Layout, &mut Contents<'a>),
) -> Result<(), ImageError> {
    let itoc = find_itoc(walk, space, pointers)?;
    layout.itoc = Some(itoc);
    layout.size = itoc.used.max(itoc.other) + toc::PLACE_STEP;
    toc::ITOC.visit(
        (itoc.used, Gaps::End),
        |at, len| space.read(at, len),
        |entry, at| {
            let section = entry.section(space.physical(entry.address), space.physical(at));
            layout.size = layout.size.max(entry.address + entry.size);
            let outcome = contents.visit(walk, space, &section);
            layout.sections.push(section);
            outcome
        },
    )?;
    walk.conclude()
}

/// The valid one of the two ITOC headers. A bad first one is told, but does no harm.
fn find_itoc(
    walk: &mut Walk<'_>,
    space: Space<'_>,
    pointers: &HwPointers,
) -> Result<TocPlaces, ImageError> {
    let [first, second] = itoc_places(pointers);
    for (place, other) in [(first, second), (second, first)] {
        let Ok(bytes) = space.read(place, toc::RECORD) else {
            continue;
        };
        let (Header::Valid { stored } | Header::WrongCrc { stored }) = toc::ITOC.header(&bytes)
        else {
            continue;
        };
        let extent = Extent::new(space.physical(place), toc::RECORD);
        let covered = bytes.get(..0x1c).unwrap_or_default();
        if walk
            .demand(toc::ITOC.header_name, extent, covered, stored)
            .is_ok()
        {
            return Ok(TocPlaces { used: place, other });
        }
    }
    Err(ImageError::NoToc {
        toc: "ITOC",
        place: format!("{first:#x} or {second:#x}"),
    })
}
