//! FS4: device data has a table of its own at the end of the flash, which a burn does not touch.
//! What has to be seen to: the layout of that area, and the digests of ConnectX-6 that no section
//! covers (images-fs4 11).

use crate::bytes::{ByteSource, be32, bits};
use crate::image::Whole;

use super::error::Fault;
use super::facts::CardFacts;
use super::refusal::Refusal;

/// Hardware pointers to the digests: with the device's key, with the recovery key.
const DIGEST_POINTERS: [usize; 2] = [0x48, 0x50];
/// Bytes of the digests: three of 64 bytes.
const DIGESTS: usize = 3 * 64;

/// Offset of the dword with the layout version `[31:24]` in a table's header.
const LAYOUT_VERSION: usize = 0x10;

/// Makes the image's bytes reach over its digests, which may lie behind its last section. `file`
/// is what the image came in.
pub(super) fn include_digests(
    image: &mut Whole,
    card: &CardFacts,
    file: &dyn ByteSource,
) -> Result<(), Fault> {
    let Some(wanted) = digests_end(card, &image.bytes) else {
        return Ok(());
    };
    let missing = wanted.saturating_sub(image.bytes.len() as u64);
    if missing == 0 {
        return Ok(());
    }
    let end = image.bytes.len() as u64;
    for extent in image.layout.extents(end, missing) {
        let more = file.read(extent.address, extent.size).map_err(|_| {
            Refusal::WouldNotBoot(crate::image::ImageError::Header(format!(
                "the digests that end at {wanted:#x} are not in the file"
            )))
        })?;
        image.bytes.extend_from_slice(&more);
    }
    Ok(())
}

/// Contiguous end of the digests, as the hardware pointers in the image's first bytes tell it;
/// `None` where there are none. Only ConnectX-6 and ConnectX-6 Dx have them.
pub(super) fn digests_end(card: &CardFacts, head: &[u8]) -> Option<u64> {
    if !matches!(card.model.hw_id, 0x20f | 0x212) {
        return None;
    }
    let pointer = |offset| be32(head, offset).filter(|&at| at != 0 && at != u32::MAX);
    let at = DIGEST_POINTERS.into_iter().find_map(pointer)?;
    Some(u64::from(at) + DIGESTS as u64)
}

/// Refuses an image that expects device data in a newer layout than the card's.
pub(super) fn check_device_layout(
    image: &Whole,
    flash: &dyn ByteSource,
    dtoc: u64,
) -> Result<(), Fault> {
    let Some(itoc) = image.layout.itoc else {
        return Ok(());
    };
    let of_image = usize::try_from(itoc.used)
        .ok()
        .and_then(|header| be32(&image.bytes, header.checked_add(LAYOUT_VERSION)?))
        .unwrap_or(0);
    let of_card = flash.dword(dtoc + LAYOUT_VERSION as u64)?;
    let (image, card) = (bits(of_image, 31, 24), bits(of_card, 31, 24));
    if card < image {
        return Err(Refusal::DeviceLayout { card, image }.into());
    }
    Ok(())
}
