//! What is on the flash before a burn: every start pattern, the image that must stay bootable until
//! the new one is, and for a card in recovery what is left of one.
//!
//! With one start pattern its image counts if its headers and tables are good. Two of them mean
//! that a burn was broken off, between the new start pattern and the zeroing of the old one or,
//! by other tools, anywhere. Then both images are read whole, since only a good one may be kept.

use crate::bytes::{ByteSource, ReadError};
use crate::image::marker::{self, MARKER_SIZE, START_POSITIONS};
use crate::image::{self, ImageError, ImageInfo, Layout};
use crate::model::ImageFormat;

use super::error::Fault;
use super::facts::CardFacts;
use super::leftover::Leftover;
use super::overlay::Overlay;

/// Section type of what the factory wrote.
const MFG_INFO: u8 = 0xe0;

/// A good image.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) layout: Layout,
    pub(super) info: ImageInfo,
}

impl Image {
    pub(super) const fn start(&self) -> u64 {
        self.layout.start
    }
}

/// What is there.
#[derive(Debug)]
pub(super) struct Found {
    /// Where start patterns stand, lowest first.
    pub(super) markers: Vec<u64>,
    /// The image that is kept bootable until the new one is; `None`: the card boots nothing.
    pub(super) kept: Option<Image>,
    /// Another good image, complete with its start pattern.
    pub(super) other: Option<Image>,
    /// Without a bootable image that knows whose card it is on: one that does not boot, but whose
    /// device data can still be read.
    pub(super) remains: Option<Image>,
    /// Without any image that knows: device data that no table names any more.
    pub(super) leftover: Option<Leftover>,
}

impl Found {
    /// Looks at the flash. `slot_log2` is that of the image to burn: on a card without a bootable
    /// image it says where else one may have been.
    pub(super) fn read(
        flash: &dyn ByteSource,
        card: &CardFacts,
        slot_log2: Option<u8>,
    ) -> Result<Self, Fault> {
        let markers = markers(flash, card)?;
        let mut good = Vec::new();
        for &start in &markers {
            good.extend(examine(flash, card, start, markers.len() > 1)?);
        }
        let kept = pick(&good, card).map(|index| good.remove(index));
        let mut found = Self {
            markers,
            kept,
            other: good.into_iter().next(),
            remains: None,
            leftover: None,
        };
        if found.kept.as_ref().is_none_or(has_lost_device_data) {
            let slot_log2 =
                slot_log2.or(found.kept.as_ref().and_then(|kept| kept.layout.slot_log2));
            found.remains = remains(flash, card, (slot_log2, found.kept.as_ref()))?;
            let unknown = found.owner().is_none_or(has_lost_device_data);
            if unknown && !names_device_data(found.firmware()) {
                found.leftover = Leftover::find(flash, card.model);
            }
        }
        Ok(found)
    }

    /// The image whose device data is the card's: the one that boots, unless only another one
    /// knows of any.
    pub(super) fn owner(&self) -> Option<&Image> {
        let knows = |image: &&Image| !has_lost_device_data(image);
        let all = [&self.kept, &self.other, &self.remains].map(Option::as_ref);
        let owner = all.into_iter().flatten().find(knows);
        owner.or_else(|| self.firmware())
    }

    /// The firmware of the card: what boots, or is left.
    pub(super) const fn firmware(&self) -> Option<&Image> {
        match &self.kept {
            Some(kept) => Some(kept),
            None => self.remains.as_ref(),
        }
    }

    /// An image is there that the card runs.
    pub(super) const fn runs(&self, card: &CardFacts) -> bool {
        self.kept.is_some() && !card.recovery
    }

    /// The image that must stay on the flash until the new one is complete: because it boots, or
    /// because the card's addresses are in it. From FS4 on these are elsewhere.
    pub(super) fn stays(&self) -> Option<&Image> {
        let in_image =
            |image: &&Image| matches!(image.info.format, ImageFormat::Fs2 | ImageFormat::Fs3);
        let remains = self.remains.as_ref().filter(in_image);
        self.kept.as_ref().or(remains)
    }
}

/// The image says not whose card it is on. FS2 images always have a place for that.
pub(super) fn has_lost_device_data(image: &Image) -> bool {
    let info = &image.info;
    info.format != ImageFormat::Fs2 && (info.uids.is_none() || info.original_uids.is_none())
}

/// There is a table that names device data, whatever became of that.
pub(super) fn names_device_data(image: Option<&Image>) -> bool {
    image.is_some_and(|image| {
        image.layout.dtoc.is_some() || image.layout.section(MFG_INFO).is_some()
    })
}

/// Where the chip's start pattern stands.
fn markers(flash: &dyn ByteSource, card: &CardFacts) -> Result<Vec<u64>, ReadError> {
    let pattern = marker::of(card.model.format);
    let mut standing = Vec::new();
    for start in positions(flash) {
        if *flash.read(start, MARKER_SIZE)? == *pattern {
            standing.push(start);
        }
    }
    Ok(standing)
}

fn positions(flash: &dyn ByteSource) -> impl Iterator<Item = u64> {
    START_POSITIONS
        .into_iter()
        .take_while(|start| start + MARKER_SIZE <= flash.size())
}

/// The image at `start` if it is good and for this chip, read whole or as far as a query goes.
fn examine(
    source: &dyn ByteSource,
    card: &CardFacts,
    start: u64,
    whole: bool,
) -> Result<Option<Image>, Fault> {
    let result = image::flash_image_at(source, start).and_then(|good| {
        match whole.then(|| image::verify_flash(source, start).failure) {
            Some(Some(failure)) => Err(failure),
            Some(None) | None => Ok(good),
        }
    });
    match result {
        Ok((layout, info)) => {
            let fits = info.format == card.model.format && info.supports(card.hw_id);
            Ok(fits.then_some(Image { layout, info }))
        }
        Err(ImageError::Read {
            source: failed @ ReadError::Failed { .. },
            ..
        }) => Err(failed.into()),
        Err(_) => Ok(None),
    }
}

/// The image to keep: the lowest, which boots. If firmware runs and only another one is of its
/// version, or is known to be the one it runs from, that one: firmware may fetch its code from it.
fn pick(good: &[Image], card: &CardFacts) -> Option<usize> {
    let runs = |image: &Image| card.running.is_some() && image.info.version == card.running;
    let noted = |image: &Image| runs(image) && card.runs_from == Some(image.start());
    let of_running = good.iter().position(noted);
    let of_running = of_running.or_else(|| good.iter().position(runs));
    of_running.or_else(|| (!good.is_empty()).then_some(0))
}

/// An image without a start pattern, or not good as a whole, whose device data is readable, and that
/// is not the one that is kept.
fn remains(
    flash: &dyn ByteSource,
    card: &CardFacts,
    (slot_log2, kept): (Option<u8>, Option<&Image>),
) -> Result<Option<Image>, Fault> {
    let pattern = marker::of(card.model.format).as_slice();
    let slot = slot_log2.map(|log2| 1u64 << log2.min(31));
    for start in positions(flash) {
        let likely = start == 0
            || Some(start) == slot
            || *flash.read(start + 4, MARKER_SIZE - 4)? == pattern[4..];
        if !likely || kept.is_some_and(|kept| kept.start() == start) {
            continue;
        }
        let marked = Overlay::new(flash, vec![(start, pattern)]);
        let image = examine(&marked, card, start, false)?;
        let owned = |image: &Image| {
            let known = image.info.uids.is_some() && !image.info.blank_guids;
            known && (kept.is_none() || !has_lost_device_data(image))
        };
        if let Some(image) = image.filter(owned) {
            return Ok(Some(image));
        }
    }
    Ok(None)
}
