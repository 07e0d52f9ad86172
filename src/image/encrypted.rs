//! Encrypted images: the ITOC cannot be read, but pointers, IMAGE_INFO and device data can
//! (images-fs4 8).

use super::ImageError;
use super::address::Space;
use super::contents::{Contents, DevInfoScheme};
use super::dtoc;
use super::fs4::empty_layout;
use super::hw_pointers::{HwPointers, Pointer};
use super::image_info::{self, ImageInfoSection};
use super::info::ImageInfo;
use super::layout::Layout;
use super::security::{self, Evidence, UUID_SIZE};
use super::verify::{Medium, Walk};
use crate::model::ImageFormat;

/// Offset of the key UUID in RSA_PUBLIC_KEY.
const PUBLIC_KEY_UUID: u64 = 4;

/// Where the first encrypted images keep their size.
const SIZE_DWORD: u64 = 0x100_0000;

/// Reads the FS4 image of `walk` whose ITOC cannot be read.
pub(super) fn walk(
    walk: &mut Walk<'_>,
    pointers: &HwPointers,
) -> Result<(Layout, ImageInfo), ImageError> {
    let space = Space::contiguous(walk.source, walk.start);
    let image = pointed_image_info(space, pointers)?;
    let mut layout = Layout {
        slot_log2: Some(image.log_step).filter(|&log2| log2 != 0),
        size: size(walk, pointers, &image)?,
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
    if walk.medium == Medium::Flash || layout.physical_end() < flash {
        let place = dtoc::place(flash, image.dtoc_offset);
        dtoc::visit(walk, place, &mut layout, &mut contents)?;
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
fn size(
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
