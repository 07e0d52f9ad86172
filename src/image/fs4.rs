//! FS4 images: ConnectX-5 to ConnectX-7, BlueField-1 to -3 (images-fs4, part A).
//!
//! Sixteen checked pointers lead to everything: tools area, BOOT2, hashes table, ITOC. Device data
//! has a table of its own, the DTOC, at the end of the flash. An image without a readable ITOC is
//! encrypted: of it only pointers, IMAGE_INFO and device data can be read.

use super::ImageError;
use super::address::Space;
use super::boot2;
use super::contents::{Contents, DevInfoScheme};
use super::hw_pointers::{self, HwPointers, Pointer};
use super::image_info::{self, ImageInfoSection};
use super::info::ImageInfo;
use super::layout::{Extent, Layout, TocPlaces};
use super::security::{self, Evidence, UUID_SIZE};
use super::toc::{self, Gaps, Header, low_half};
use super::verify::{Banner, Medium, Walk};
use crate::bytes::{be32, bits};
use crate::model::ImageFormat;

/// Bytes of the tools area.
const TOOLS_SIZE: u64 = 0x40;

/// Offset of the key UUID in RSA_PUBLIC_KEY.
const PUBLIC_KEY_UUID: u64 = 4;

/// Where the first encrypted images keep their size (images-fs4 8).
const SIZE_DWORD: u64 = 0x100_0000;

/// Reads the image of `walk`.
pub(super) fn walk(walk: &mut Walk<'_>) -> Result<(Layout, ImageInfo), ImageError> {
    let pointers = HwPointers::read(walk)?;
    if itoc_is_hidden(walk, &pointers) {
        return encrypted(walk, &pointers);
    }
    walk.banner = Some(Banner::Fs4);
    pointers.record(walk);
    let (space, slot_log2, tools) = tools_area(walk, &pointers)?;
    let boot2 = boot2::check(walk, space, pointers.address(Pointer::Boot2))?;
    let hashes = hashes_table(walk, space, &pointers)?;
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
    if walk.medium == Medium::Flash || layout.physical(layout.size) < flash {
        let place = dtoc_place(flash, image.dtoc_offset);
        device_sections(walk, place, &mut layout, &mut contents)?;
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

/// Checks the hashes table, where there is one. Its size dword counts as BOOT2's does.
pub(super) fn hashes_table(
    walk: &mut Walk<'_>,
    space: Space<'_>,
    pointers: &HwPointers,
) -> Result<Option<Extent>, ImageError> {
    const HEAD: u64 = 12;
    let Some(at) = pointers.set(Pointer::Hashes) else {
        return Ok(None);
    };
    let reading = |source| ImageError::read("HASHES_TABLE", source);
    let head = space.read(at, HEAD).map_err(reading)?;
    let stored = low_half(be32(&head, 8).unwrap_or(0));
    let calculated = super::crc::image_crc(head.get(..8).unwrap_or_default());
    if stored != calculated {
        return Err(ImageError::Crc {
            what: "hashes table header".into(),
            address: at,
            stored,
            calculated,
        });
    }
    let extent = Extent::new(at, (u64::from(be32(&head, 4).unwrap_or(0)) + 4) * 4);
    if !space.contains(at, extent.size) {
        return Err(ImageError::Section {
            section: "HASHES_TABLE".into(),
            address: at,
            reason: format!("its {:#x} bytes reach past the end", extent.size),
        });
    }
    if walk.checks_code() {
        let bytes = space.read(at, extent.size).map_err(reading)?;
        let (covered, last) = bytes.split_at(bytes.len().saturating_sub(4));
        let stored = low_half(be32(last, 0).unwrap_or(0));
        let shown = Extent::new(space.physical(at), extent.size);
        walk.demand("HASHES_TABLE", shown, covered, stored)?;
    }
    Ok(Some(extent))
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

/// Where the DTOC of a flash or file of `size` bytes is (images-fs4 6.1).
pub(super) fn dtoc_place(size: u64, dtoc_offset: u8) -> Option<u64> {
    let end = match dtoc_offset {
        0 => size,
        parts => size / (2 * u64::from(parts)),
    };
    end.checked_sub(toc::PLACE_STEP)
        .filter(|place| place.is_multiple_of(4))
}

/// Walks the DTOC and the device data. A file without a DTOC is a reduced image, as packages
/// carry it; a damaged DTOC is a fault.
pub(super) fn device_sections<'a>(
    walk: &mut Walk<'a>,
    place: Option<u64>,
    layout: &mut Layout,
    contents: &mut Contents<'a>,
) -> Result<(), ImageError> {
    let header = match place {
        None => Header::Absent,
        Some(at) => {
            let bytes = walk
                .source
                .read(at, toc::RECORD)
                .map_err(|source| ImageError::read("DTOC header", source))?;
            let header = toc::DTOC.header(&bytes);
            if let Header::Valid { stored } | Header::WrongCrc { stored } = header {
                let covered = bytes.get(..0x1c).unwrap_or_default();
                let extent = Extent::new(at, toc::RECORD);
                if let Err(fault) = walk.demand(toc::DTOC.header_name, extent, covered, stored) {
                    return walk.device_data_fault(fault);
                }
            }
            header
        }
    };
    let (Header::Valid { .. }, Some(at)) = (header, place) else {
        if header == Header::Absent && walk.medium != Medium::Flash {
            warn_of_rest(walk, layout);
            return Ok(());
        }
        return walk.device_data_fault(ImageError::NoToc {
            toc: "DTOC",
            place: place.map_or_else(|| "the end".to_owned(), |at| format!("{at:#x}")),
        });
    };
    layout.dtoc = Some(at);
    layout.reduced = false;
    let source = walk.source;
    let space = Space::contiguous(source, 0);
    let visited = toc::DTOC.visit(
        (at, Gaps::End),
        |at, len| source.read(at, len),
        |entry, at| {
            let section = entry.section(entry.address, at);
            let outcome = contents.visit(walk, space, &section);
            layout.sections.push(section);
            match outcome {
                Err(fault) => walk.device_data_fault(fault),
                Ok(()) => Ok(()),
            }
        },
    );
    if let Err(fault) = visited {
        walk.device_data_fault(fault)?;
    }
    walk.conclude_device_data(contents.missing_device_data(true))
}

/// A reduced image ends where it ends, give or take padding. More behind it was device data.
fn warn_of_rest(walk: &mut Walk<'_>, layout: &Layout) {
    let end = layout.physical(layout.size);
    let rest = walk.source.size().saturating_sub(end);
    let padding = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0xff || byte == 0);
    if walk
        .source
        .read(end, rest)
        .is_ok_and(|rest| !padding(&rest))
    {
        walk.warnings.push(format!(
            "no device data table, although {rest:#x} bytes follow the image: the file may be cut off"
        ));
    }
}

/// The image whose ITOC cannot be read (images-fs4 8).
fn encrypted(
    walk: &mut Walk<'_>,
    pointers: &HwPointers,
) -> Result<(Layout, ImageInfo), ImageError> {
    let space = Space::contiguous(walk.source, walk.start);
    let image = pointed_image_info(space, pointers)?;
    let mut layout = Layout {
        slot_log2: Some(image.log_step).filter(|&log2| log2 != 0),
        size: encrypted_size(walk, pointers, &image)?,
        encrypted: true,
        ..empty_layout(walk, ImageFormat::Fs4)
    };
    if !image.flags().encrypted {
        walk.warnings.push(
            "taken for encrypted because its ITOC cannot be read, though IMAGE_INFO does not say so"
                .to_owned(),
        );
    }
    let mut contents = Contents::new(DevInfoScheme::TwoCopies);
    let flash = walk.source.size();
    if walk.medium == Medium::Flash || layout.physical(layout.size) < flash {
        let place = dtoc_place(flash, image.dtoc_offset);
        device_sections(walk, place, &mut layout, &mut contents)?;
    }
    let uuid = pointers
        .set(Pointer::PublicKey)
        .and_then(|at| space.read(at + PUBLIC_KEY_UUID, UUID_SIZE as u64).ok());
    let evidence = Evidence {
        flags: image.flags(),
        sections: None,
        development: uuid.is_some_and(|uuid| security::is_development_key(&uuid)),
        encrypted: true,
        version: Some(pointers.value(Pointer::SecurityVersion)),
    };
    layout.check_overlaps()?;
    let info = contents.into_info(image, &layout, evidence)?;
    Ok((layout, info))
}

/// IMAGE_INFO through its pointer.
pub(super) fn pointed_image_info(
    space: Space<'_>,
    pointers: &HwPointers,
) -> Result<ImageInfoSection, ImageError> {
    let at = pointers
        .set(Pointer::ImageInfo)
        .ok_or(ImageError::Missing("IMAGE_INFO"))?;
    let bytes = space
        .read(at, image_info::SIZE)
        .map_err(|source| ImageError::read("IMAGE_INFO", source))?;
    ImageInfoSection::parse(&bytes)
}

/// Bytes of an encrypted image: what IMAGE_INFO says, or in the first ones a dword far behind.
fn encrypted_size(
    walk: &Walk<'_>,
    pointers: &HwPointers,
    image: &ImageInfoSection,
) -> Result<u64, ImageError> {
    let size = match image.burn_size {
        0 => walk
            .source
            .dword(walk.start.saturating_add(SIZE_DWORD))
            .unwrap_or(0),
        stated => stated,
    };
    let end = walk.start.saturating_add(u64::from(size));
    if size == 0 || size == u32::MAX {
        return Err(ImageError::NoSize {
            itoc: pointers.address(Pointer::Itoc),
        });
    }
    if end > walk.source.size() {
        return Err(ImageError::Header(format!(
            "the image has {size:#x} bytes, but the data ends at {:#x}",
            walk.source.size()
        )));
    }
    Ok(u64::from(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dtoc_is_at_the_end_or_at_a_fraction() {
        assert_eq!(dtoc_place(0x100_0000, 0), Some(0xff_f000));
        assert_eq!(dtoc_place(0x2_0000, 1), Some(0xf000));
        assert_eq!(dtoc_place(0x800, 0), None);
        assert_eq!(dtoc_place(0x1_0002, 0), None);
    }
}
