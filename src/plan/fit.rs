//! Whether an image can run on a card at all: chip, revision, firmware family, signature.

use super::offer::Offer;
use super::reason::Misfit;
use crate::card::CardReport;
use crate::image::{HwId, ImageInfo, SecurityAttribute};
use crate::version::FwVersion;

/// The first reason why the image of `offer` does not fit `card`, if there is one. Of an image
/// that is elsewhere only the family is known.
pub(super) fn misfit(card: &CardReport, offer: &Offer) -> Option<Misfit> {
    let image = offer.image();
    family(card, offer.version())
        .or_else(|| chip(card, image?))
        .or_else(|| signature(card, image?))
}

/// The first version number belongs to the chip (images 7).
fn family(card: &CardReport, version: Option<FwVersion>) -> Option<Misfit> {
    let (model, version) = (card.model?, version?);
    (model.fw_major != 0 && version.major != model.fw_major).then_some(Misfit::Family {
        chip: model.long_name,
        expected: model.fw_major,
        version,
    })
}

/// The image lists the chip and its revision (images 7). Where the chip's own word could not be
/// read, its PCI id has to stand in, without the revision.
fn chip(card: &CardReport, image: &ImageInfo) -> Option<Misfit> {
    let name = card.model.map(|model| model.long_name);
    if let Some(hw) = card.hw_id {
        return listed(hw, image).map(|same_chip| {
            if same_chip {
                Misfit::Revision {
                    revision: hw.revision,
                    supported: revisions(hw.id, image),
                }
            } else {
                Misfit::Chip {
                    chip: name,
                    hw: hw.id,
                }
            }
        });
    }
    let Some(model) = card.model else {
        return Some(Misfit::UnknownChip {
            pci_id: card.pci_id,
        });
    };
    let by_list = image.hw_ids.iter().any(|hw| hw.id == model.hw_id);
    let by_device = image
        .device_id
        .is_some_and(|id| model.pci_ids.contains(&id));
    (!by_list && !by_device).then_some(Misfit::Chip {
        chip: name,
        hw: model.hw_id,
    })
}

/// `None` when the image lists exactly this chip and revision, else whether it lists the chip.
/// An image without a list says nothing, and the family check has to do.
fn listed(hw: HwId, image: &ImageInfo) -> Option<bool> {
    if image.hw_ids.is_empty() || image.supports(hw) {
        return None;
    }
    Some(image.hw_ids.iter().any(|other| other.id == hw.id))
}

fn revisions(chip: u16, image: &ImageInfo) -> Vec<u8> {
    image
        .hw_ids
        .iter()
        .filter(|hw| hw.id == chip)
        .map(|hw| hw.revision)
        .collect()
}

/// Secure firmware takes nothing but secure images, signed firmware nothing unsigned, by any way
/// (burn 9.4).
fn signature(card: &CardReport, image: &ImageInfo) -> Option<Misfit> {
    use SecurityAttribute::{SecureFw, SignedFw};
    let image_has = |attribute| image.security.attributes.contains(&attribute);
    let fits = if card.security.contains(&SecureFw) {
        image_has(SecureFw)
    } else if card.security.contains(&SignedFw) {
        image_has(SecureFw) || image_has(SignedFw)
    } else {
        true
    };
    (!fits).then_some(Misfit::Unsigned)
}
