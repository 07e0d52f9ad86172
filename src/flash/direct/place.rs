//! Where the new image goes: the slot that does not hold the image to keep (burn 8.9,
//! images-fs3 9).

use crate::bytes::be32;
use crate::image::section::kind;
use crate::image::{Extent, Layout, Whole};
use crate::model::ImageFormat;

use super::found::{Found, Image};
use super::refusal::Refusal;

/// log2 of the largest slot of FS3 and FS4.
const LARGEST_SLOT: u8 = 24;
/// Slots of 4 MiB and 8 MiB: an image built for the first may lie in the second of the others.
const HALF_SLOT: u8 = 22;
const WHOLE_SLOT: u8 = 23;

/// Offset of the dword in IMAGE_INFO whose bit 31 says that the image runs from any slot.
const RUN_FROM_ANY: usize = 0x108;

/// The image's layout in the slot it goes to.
pub(super) fn choose(image: &Whole, found: &Found) -> Result<Layout, Refusal> {
    let card = found.stays();
    let slot = image
        .layout
        .slot_log2
        .filter(|&log2| log2 != 0)
        .ok_or(Refusal::NotFailsafe { what: "the image" })?;
    if let Some(card) = card {
        check_slots(card, image, slot)?;
    }
    let start = free_start(card, slot);
    if start == 1 << WHOLE_SLOT && slot == HALF_SLOT && !runs_from_any(image) {
        return Err(Refusal::RunsNotFromAnySlot);
    }
    Ok(layout_at(image, start))
}

/// The layout of the image when it starts at `start`, a slot.
pub(super) fn layout_at(image: &Whole, start: u64) -> Layout {
    let stated = image.layout.slot_log2;
    let slot_log2 = match stated {
        Some(HALF_SLOT) if start == 1 << WHOLE_SLOT => Some(WHOLE_SLOT),
        stated => stated,
    };
    Layout {
        start,
        slot_log2,
        chunked: true,
        ..image.layout.clone()
    }
}

/// Slots must be of the same size, or 4 MiB and 8 MiB in either order.
fn check_slots(card: &Image, image: &Whole, slot: u8) -> Result<(), Refusal> {
    let Some(of_card) = card.layout.slot_log2.filter(|&log2| log2 != 0) else {
        return Err(Refusal::NotFailsafe {
            what: "the image on the card",
        });
    };
    let mixed = [HALF_SLOT, WHOLE_SLOT];
    let fits = match image.layout.format {
        ImageFormat::Fs2 => of_card == slot,
        _ => {
            of_card.max(slot) <= LARGEST_SLOT
                && (of_card == slot || (mixed.contains(&of_card) && mixed.contains(&slot)))
        }
    };
    if fits {
        return Ok(());
    }
    Err(Refusal::SlotSize {
        card: of_card,
        image: slot,
    })
}

/// The start of the slot that is free: not that of the image to keep, or to take device data from.
fn free_start(card: Option<&Image>, slot: u8) -> u64 {
    let second_whole = 1 << WHOLE_SLOT;
    match card {
        None => 0,
        Some(card) if card.start() == 0 => match card.layout.slot_log2 {
            Some(WHOLE_SLOT) => second_whole,
            _ => 1 << slot,
        },
        // an 8 MiB image from 0 on would reach over one at 4 MiB
        Some(card) if slot == WHOLE_SLOT && card.start() != second_whole => second_whole,
        Some(_) => 0,
    }
}

/// IMAGE_INFO says that the image runs from any slot.
fn runs_from_any(image: &Whole) -> bool {
    let flags = image.layout.section(kind::IMAGE_INFO).and_then(|section| {
        let at = usize::try_from(section.address).ok()?;
        be32(&image.bytes, at.checked_add(RUN_FROM_ANY)?)
    });
    flags.is_some_and(|flags| flags >> 31 == 1)
}

/// The image's bytes where they lie on the flash, a run a chunk.
pub(super) fn runs<'a>(layout: &Layout, bytes: &'a [u8]) -> Vec<(u64, &'a [u8])> {
    let mut rest = bytes;
    let mut runs = Vec::new();
    for Extent { address, size } in layout.extents(0, bytes.len() as u64) {
        let len = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
        let (run, later) = rest.split_at(len);
        runs.push((address, run));
        rest = later;
    }
    runs
}
