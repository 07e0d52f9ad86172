//! FS5 images: ConnectX-8 and later, BlueField-4 (images-fs4, part B).
//!
//! As FS4, but for the boot chain: BOOT2 is described by a boot component header (BCH), little
//! endian, and the image states its size in IMAGE_INFO. ROM and signature sections are not looked
//! at; an update-signed file has one more BCH at its end.

use super::ImageError;
use super::address::Space;
use super::contents::{Contents, DevInfoScheme};
use super::dtoc;
use super::encrypted;
use super::fs4;
use super::hw_pointers::{HwPointers, Pointer};
use super::image_info::{Flags, ImageInfoSection};
use super::info::ImageInfo;
use super::layout::{Extent, Layout};
use super::security::Evidence;
use super::verify::{Banner, CheckResult, Medium, Walk};
use crate::bytes::{ByteSource, bits, le32};
use crate::model::ImageFormat;

/// Bytes of a boot component header, and of the encapsulation header of an update-signed file.
pub(super) const BCH_SIZE: u64 = 0x2000;

/// First four bytes of both.
pub(super) const BCH_MAGIC: [u8; 4] = *b"NVDA";

/// Offset and size of the BCH's signature.
const SIGNATURE: Extent = Extent::new(0x1900, 384);

/// Offset and size of its first component.
const COMPONENT: Extent = Extent::new(0x1ee0, 0x90);

/// Sizes BOOT2 may have, in bytes.
const BOOT2_SIZES: std::ops::RangeInclusive<u64> = 4..=0x10_0000;

/// Flash sizes are multiples of this; a file that is not has an encapsulation header.
const FLASH_STEP: u64 = 0x4_0000;

/// Kinds of part (SKU) for which a signed boot component means a development image.
const PRE_PRODUCTION: [u8; 2] = [1, 2];

/// What the boot component header says.
struct BootComponent {
    length: u64,
    flags: u32,
    signed: bool,
}

/// Reads the image of `walk`.
pub(super) fn walk(walk: &mut Walk<'_>) -> Result<(Layout, ImageInfo), ImageError> {
    let pointers = HwPointers::read(walk)?;
    let hidden = fs4::itoc_is_hidden(walk, &pointers);
    if !hidden {
        walk.banner = Some(Banner::Fs5);
        pointers.record(walk);
    }
    let (space, slot_log2, tools) = fs4::tools_area(walk, &pointers)?;
    let component = BootComponent::read(space, &pointers);
    let mut layout = Layout {
        slot_log2: Some(slot_log2),
        chunked: true,
        tools: Some(tools),
        encrypted: hidden,
        ..fs4::empty_layout(walk, ImageFormat::Fs5)
    };
    let mut contents = Contents::new(DevInfoScheme::TwoCopies);
    if !hidden {
        let hashes =
            fs4::hashes_table(space, &pointers)?.ok_or(ImageError::Missing("HASHES_TABLE"))?;
        layout.hashes = Some(hashes);
        layout.boot2 = Some(boot2(walk, space, &pointers, (component.as_ref(), hashes))?);
        fs4::check_hashes(walk, space, hashes)?;
        fs4::image_sections(walk, space, &pointers, (&mut layout, &mut contents))?;
    }
    let image = match contents.image()? {
        Some(image) => image,
        None => encrypted::pointed_image_info(space, &pointers)?,
    };
    layout.size = size(walk, &image, &layout)?;
    let flash = unwrapped_size(walk.source);
    let rest = walk.source.size().saturating_sub(layout.physical_end());
    if walk.medium == Medium::Flash || (rest != 0 && rest != BCH_SIZE) {
        let place = dtoc::place(flash, image.dtoc_offset);
        dtoc::visit(walk, place, &mut layout, &mut contents)?;
    }
    let version = pointers.value(Pointer::SecurityVersion);
    let evidence = evidence(&image, component.as_ref(), hidden, version);
    contents.forget_rom();
    layout.check_overlaps()?;
    let info = contents.into_info(image, &layout, evidence)?;
    Ok((layout, info))
}

impl BootComponent {
    /// The header the pointers lead to; `None` where there is no such header.
    fn read(space: Space<'_>, pointers: &HwPointers) -> Option<Self> {
        let at = pointers.set(Pointer::BootComponent)?;
        let read = |part: Extent| space.read(at.checked_add(part.address)?, part.size).ok();
        if *read(Extent::new(0, 4))? != BCH_MAGIC {
            return None;
        }
        let component = read(COMPONENT)?;
        let signature = read(SIGNATURE)?;
        Some(Self {
            length: u64::from(le32(&component, 4)?),
            flags: le32(&component, 0x1c)?,
            signed: signature.iter().any(|&byte| byte != 0 && byte != 0xff),
        })
    }

    const fn is_debug(&self) -> bool {
        bits(self.flags, 30, 30) == 1
    }

    const fn is_encrypted(&self) -> bool {
        bits(self.flags, 31, 31) == 1
    }
}

/// BOOT2 has no checksum; its size is the boot component without the hashes table.
fn boot2(
    walk: &mut Walk<'_>,
    space: Space<'_>,
    pointers: &HwPointers,
    (component, hashes): (Option<&BootComponent>, Extent),
) -> Result<Extent, ImageError> {
    let Some(component) = component else {
        return Err(ImageError::Missing("boot component header"));
    };
    let at = pointers.address(Pointer::Boot2);
    let size = component.length.saturating_sub(hashes.size);
    if !BOOT2_SIZES.contains(&size) || !space.contains(at, size) {
        return Err(ImageError::Section {
            section: super::boot2::NAME.into(),
            address: at,
            reason: format!(
                "no room: boot component of {:#x} bytes, hashes table of {:#x}",
                component.length, hashes.size
            ),
        });
    }
    let extent = Extent::new(at, size);
    walk.record(super::boot2::NAME, extent, CheckResult::Ignored);
    Ok(extent)
}

/// Bytes of the image: what IMAGE_INFO says, which has to be there.
fn size(walk: &Walk<'_>, image: &ImageInfoSection, layout: &Layout) -> Result<u64, ImageError> {
    let size = u64::from(image.burn_size).max(layout.size);
    if size == 0 {
        return Err(ImageError::Header(
            "IMAGE_INFO does not state the image's size".to_owned(),
        ));
    }
    if layout.physical(size - 1) >= walk.source.size() {
        return Err(ImageError::Header(format!(
            "the image has {size:#x} bytes, but the data ends at {:#x}",
            walk.source.size()
        )));
    }
    Ok(size)
}

/// Size of the flash a file stands for, without an encapsulation header behind it
/// (images-fs4 12.3).
fn unwrapped_size(source: &dyn ByteSource) -> u64 {
    let size = source.size();
    let inner = size.saturating_sub(BCH_SIZE);
    let wrapped = !size.is_multiple_of(FLASH_STEP)
        && source.read(inner, 4).is_ok_and(|magic| *magic == BCH_MAGIC);
    if wrapped { inner } else { size }
}

/// The security mask comes from IMAGE_INFO as it is; the boot component corrects it.
fn evidence(
    image: &ImageInfoSection,
    component: Option<&BootComponent>,
    hidden: bool,
    version: u32,
) -> Evidence {
    let flags = image.flags();
    Evidence {
        flags: Flags {
            debug: component.map_or(flags.debug, BootComponent::is_debug),
            ..flags
        },
        sections: None,
        development: component.is_some_and(|component| component.signed)
            && PRE_PRODUCTION.contains(&image.sku),
        encrypted: component.map_or(hidden, |component| component.is_encrypted()),
        version: Some(version),
    }
}
