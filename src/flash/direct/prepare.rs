//! From an image and a flash to a [`Plan`]: nothing is written here.
//!
//! The image is verified as it came, fitted with what belongs to the card, laid over the flash in
//! thought where it will be, and verified there again with the card's device data. Only what
//! passes that is planned, and sizes, overlaps and the card's addresses are checked before.

use crate::access::{FlashAccess, FlashError};
use crate::bytes::ReadError;
use crate::flash::component;
use crate::image::marker::{self, MARKER_SIZE, START_POSITIONS};
use crate::image::{self, Extent, ImageError, ImageInfo, Layout, Whole};
use crate::model::ImageFormat;

use super::device_area::DeviceArea;
use super::device_data::Lost;
use super::erase::{self, Taken};
use super::error::Fault;
use super::facts::CardFacts;
use super::found::{Found, Image, has_lost_device_data};
use super::identity::RecoveryIdentity;
use super::overlay::Overlay;
use super::owner::Owner;
use super::plan::{Action, Plan, Step};
use super::refusal::Refusal;
use super::way::Route;
use super::{device_data, fitness, fs4, place};

/// Bytes of the start pattern that are zeroed to retire an image; all of them before its slot is
/// erased.
const FIRST_DWORD: usize = 4;
const WHOLE_PATTERN: usize = 16;

/// What is in the way of an image where the card's own lies.
const ON_CARD: &str = "the image on the card";

/// Whether an image for another board may be burned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum PsidChange {
    /// No.
    #[default]
    Refuse,
    /// Yes: port types, power limits and pins of the board may not fit it.
    Allow,
}

/// What the user decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choices {
    /// An image for another board.
    pub psid_change: PsidChange,
    /// Who the card is, should its flash not say.
    pub identity: Option<RecoveryIdentity>,
}

/// Verifies the file or package `image` against the card and its flash, and plans its burn.
///
/// # Errors
/// [`Fault::Refused`] when image and card do not go together; [`Fault::Read`] and
/// [`Fault::Flash`] when the flash cannot be read.
pub fn prepare(
    (flash, route): (&dyn FlashAccess, Route),
    card: &CardFacts,
    image: &[u8],
    choices: &Choices,
) -> Result<Plan, Fault> {
    fitness::card(card)?;
    let mut whole =
        image::whole(image).map_err(|error| refused(component::Refusal::Invalid(error)))?;
    fitness::image(&whole, card)?;
    fs4::include_digests(&mut whole, card, &image)?;
    let lost = choices.identity.map_or(Lost::Unknown, Lost::Told);
    prepare_whole((flash, route), card, whole, (choices, &lost))
}

fn refused(refusal: impl Into<Refusal>) -> Fault {
    Fault::Refused(refusal.into())
}

/// As [`prepare`], for an image that was verified already. `lost` is where device data comes from
/// when the card has none that can be read.
pub(super) fn prepare_whole(
    (flash, route): (&dyn FlashAccess, Route),
    card: &CardFacts,
    mut image: Whole,
    (choices, lost): (&Choices, &Lost<'_>),
) -> Result<Plan, Fault> {
    if flash.part().name.is_none() {
        return Err(Fault::Flash(FlashError::UnknownPart {
            device: card.model.long_name.to_owned(),
            jedec: flash.part().jedec,
        }));
    }
    let incomplete = |what| refused(component::Refusal::Incomplete(what));
    let to = image.info.version.ok_or_else(|| incomplete("version"))?;
    let psid = image.info.psid.clone().ok_or_else(|| incomplete("PSID"))?;
    if let Some(protection) = flash.protection()? {
        return Err(refused(Refusal::Protected(protection)));
    }
    let found = Found::read(flash, card, image.layout.slot_log2)?;
    fitness::nothing_pending(card, &found)?;
    fitness::signature(&image.info, found.firmware())?;
    let mut notes = Vec::new();
    if let Some(firmware) = found.firmware() {
        notes.extend(fitness::rom_notes(&image.info, firmware));
    }
    let layout = place::choose(&image, &found)?;
    let device = device_data::fit(flash, card, (&mut image, &layout), &found, lost)?;
    let known = device.psid.as_ref();
    notes.extend(fitness::board(&psid, known, choices.psid_change)?);
    notes.extend(device.notes);
    let prospect = Prospect {
        flash,
        card,
        found: &found,
        image: &image,
        layout: &layout,
        area: device.area.as_ref(),
    };
    notes.extend(prospect.verify()?);
    let unknown = found.kept.as_ref().is_none_or(has_lost_device_data);
    if unknown || choices.identity.is_some() {
        notes.extend(prospect.who(choices.identity, device.source)?);
    }
    let mut taken = prospect.taken()?;
    taken.extend(device.taken);
    prospect.check_room(&taken)?;
    prospect.check_patterns()?;
    Ok(Plan {
        psid,
        from: found.kept.as_ref().and_then(|kept| kept.info.version),
        kept: found.kept.as_ref().map(Image::start),
        to,
        start: layout.start,
        size: image.bytes.len() as u64,
        route,
        notes,
        actions: prospect.actions(&taken)?,
    })
}

/// The flash as it is to become.
struct Prospect<'a> {
    flash: &'a dyn FlashAccess,
    card: &'a CardFacts,
    found: &'a Found,
    image: &'a Whole,
    layout: &'a Layout,
    area: Option<&'a DeviceArea>,
}

impl Prospect<'_> {
    fn runs(&self) -> Vec<(u64, &[u8])> {
        place::runs(self.layout, &self.image.bytes)
    }

    /// The flash with the new image and device data on it.
    fn overlay(&self) -> Overlay<'_> {
        let mut runs = self.runs();
        if let Some(area) = self.area {
            runs.extend(area.runs.iter().map(|(at, run)| (*at, run.as_slice())));
        }
        Overlay::new(self.flash, runs)
    }

    /// Where the new image and the device data it names will be.
    fn image_on_flash(&self) -> Result<(Layout, ImageInfo), Fault> {
        image::flash_image_at(&self.overlay(), self.layout.start).map_err(would_not_boot)
    }

    /// Checks the new image as the boot ROM will find it, and that the card stays who it is.
    fn verify(&self) -> Result<Vec<String>, Fault> {
        let mut notes = Vec::new();
        let start = self.layout.start;
        if let Some(failure) = image::verify_flash(&self.overlay(), start).failure {
            if !self.is_old_fault(&failure) {
                return Err(would_not_boot(failure));
            }
            notes.push(format!(
                "the card's device data is damaged already: {failure}"
            ));
        }
        let (layout, info) = self.image_on_flash()?;
        if let Some(dtoc) = layout.dtoc {
            fs4::check_device_layout(self.image, &self.overlay(), dtoc)?;
        }
        if let Some(owner) = self.found.owner() {
            device_data::check_kept(owner, &layout, &info)?;
        }
        notes.extend(info.warnings);
        Ok(notes)
    }

    /// Who a card is that does not know, and who says so.
    fn who(&self, given: Option<RecoveryIdentity>, source: &str) -> Result<Option<String>, Fault> {
        let (layout, info) = self.image_on_flash()?;
        let owner = Owner::of(&Image { layout, info });
        let (Some(guid), Some(mac)) = (owner.guid, owner.mac) else {
            return Ok(None);
        };
        let is_given = given.is_some_and(|given| given.guid == guid && given.mac == mac);
        let source = if is_given { "as given" } else { source };
        Ok(Some(format!(
            "the card has GUID {guid} and MAC {mac}, {source}"
        )))
    }

    /// Whether the image on the card fails in the same way: device data that was damaged before.
    fn is_old_fault(&self, failure: &ImageError) -> bool {
        let kept = self.found.kept.as_ref();
        kept.and_then(|kept| image::verify_flash(self.flash, kept.start()).failure)
            .is_some_and(|old| old.to_string() == failure.to_string())
    }

    /// What must stay as it is.
    fn taken(&self) -> Result<Vec<Taken>, Fault> {
        let taken = |what: &str, extent| Taken {
            extent,
            what: what.to_owned(),
        };
        let mut all = Vec::new();
        if let Some(stays) = self.found.stays() {
            let extents = stays.layout.extents(0, stays.layout.size);
            all.extend(extents.map(|extent| taken(ON_CARD, extent)));
        }
        if let Some(area) = self.area {
            let rest = self.flash.size() - area.start;
            all.push(taken("the device data", Extent::new(area.start, rest)));
        }
        let (layout, _) = self.image_on_flash()?;
        for section in layout.sections.iter().filter(|section| section.absolute) {
            all.push(taken(&section.name, section.physical_extent()));
        }
        if let Some(dtoc) = layout.dtoc {
            let sector = Extent::new(dtoc, self.flash.size().saturating_sub(dtoc).min(0x1000));
            all.push(taken("the device table", sector));
        }
        Ok(all)
    }

    /// The image must fit into its slot, and into the other one as well, for the next burn.
    fn check_room(&self, taken: &[Taken]) -> Result<(), Refusal> {
        let size = self.image.bytes.len() as u64;
        let slot = self.layout.slot_log2.map_or(u64::MAX, |log2| 1 << log2);
        if self.layout.format != ImageFormat::Fs2 && size > slot {
            return Err(Refusal::TooLarge { size, room: slot });
        }
        let other = match (self.found.stays(), self.layout.start) {
            (Some(stays), _) => stays.start(),
            (None, 0) => slot,
            (None, _) => 0,
        };
        for start in [self.layout.start, other] {
            let layout = place::layout_at(self.image, start);
            for extent in layout.extents(0, size) {
                if extent.end() > self.flash.size() {
                    let room = self.flash.size().saturating_sub(extent.address);
                    return Err(Refusal::TooLarge {
                        size: extent.size,
                        room,
                    });
                }
                let meets = |taken: &&Taken| {
                    let theirs = taken.extent;
                    let own_slot = start == other && taken.what == ON_CARD;
                    !own_slot
                        && theirs.size > 0
                        && theirs.address < extent.end()
                        && extent.address < theirs.end()
                };
                if let Some(taken) = taken.iter().find(meets) {
                    return Err(Refusal::InTheWay {
                        what: taken.what.clone(),
                        address: taken.extent.address,
                    });
                }
            }
        }
        Ok(())
    }

    /// The image must not look like the start of another where a boot ROM looks for one.
    fn check_patterns(&self) -> Result<(), Refusal> {
        let pattern = marker::of(self.card.model.format);
        let overlay = Overlay::new(self.flash, self.runs());
        let inside = START_POSITIONS.into_iter().find(|&position| {
            position != self.layout.start
                && overlay
                    .run_at(position, MARKER_SIZE)
                    .is_some_and(|bytes| bytes == pattern.as_slice())
        });
        inside.map_or(Ok(()), |address| Err(Refusal::PatternInside { address }))
    }

    /// The changes, in order.
    fn actions(&self, taken: &[Taken]) -> Result<Vec<(Step, Action)>, Fault> {
        let complete = self.is_complete()?;
        let mut actions = self.clear_patterns(complete)?;
        let pattern = marker::of(self.card.model.format);
        if !complete {
            actions.extend(self.write_image(taken)?);
        }
        let start = self.layout.start;
        let mark = Action::Program {
            address: start,
            bytes: pattern.to_vec(),
        };
        actions.push((Step::Mark, mark));
        actions.push((Step::ChooseBoot, Action::BootFrom { start }));
        if let Some(kept) = &self.found.kept {
            let retire = Action::Zero {
                address: kept.start(),
                len: FIRST_DWORD,
            };
            actions.push((Step::Retire, retire));
        }
        Ok(actions)
    }

    /// The image stands in its slot already, start pattern and all: a burn of it was broken off
    /// before the old one was retired. Its pattern is programmed once more all the same, since it
    /// may have been written half.
    fn is_complete(&self) -> Result<bool, ReadError> {
        let other = self.found.other.as_ref();
        if other.is_none_or(|other| other.start() != self.layout.start) {
            return Ok(false);
        }
        for (address, run) in self.runs() {
            if *self.flash.read(address, run.len() as u64)? != *run {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Zeroes start patterns of images that are not kept, and what is left of one where the new
    /// image goes.
    fn clear_patterns(&self, complete: bool) -> Result<Vec<(Step, Action)>, ReadError> {
        let target = self.layout.start;
        let kept = self.found.kept.as_ref().map(Image::start);
        let mut zeroed: Vec<(u64, usize)> = Vec::new();
        if !complete {
            let head = self.flash.read(target, MARKER_SIZE)?;
            if head.iter().any(|byte| !matches!(byte, 0 | 0xff)) {
                zeroed.push((target, WHOLE_PATTERN));
            }
        }
        let others = self.found.markers.iter().copied();
        let others = others.filter(|&start| start != target && Some(start) != kept);
        zeroed.extend(others.map(|start| (start, FIRST_DWORD)));
        let zero = |(address, len)| (Step::ClearPatterns, Action::Zero { address, len });
        Ok(zeroed.into_iter().map(zero).collect())
    }

    /// Erases what is written to, programs everything but the start pattern, and reads it back.
    fn write_image(&self, taken: &[Taken]) -> Result<Vec<(Step, Action)>, Refusal> {
        let mut erases = Vec::new();
        let mut programs = Vec::new();
        if let Some(area) = self.area {
            let range = Extent::new(area.start, self.flash.size() - area.start);
            let before = taken
                .iter()
                .filter(|taken| taken.extent.address < area.start);
            let before: Vec<Taken> = before.cloned().collect();
            erases.extend(erase::units(self.flash, range, &before)?);
            let device = area.runs.iter().cloned();
            programs.extend(device.map(|run| (Step::WriteDeviceData, run)));
        }
        for extent in self.layout.extents(0, self.image.bytes.len() as u64) {
            erases.extend(erase::units(self.flash, extent, taken)?);
        }
        for (index, (address, run)) in self.runs().into_iter().enumerate() {
            let skip = if index == 0 { WHOLE_PATTERN } else { 0 };
            let bytes = run.get(skip..).unwrap_or_default().to_vec();
            programs.push((Step::Write, (address + skip as u64, bytes)));
        }
        let erases = erases
            .into_iter()
            .map(|(address, unit)| (Step::Erase, Action::Erase { address, unit }));
        let programs = programs
            .into_iter()
            .map(|(step, (address, bytes))| (step, Action::Program { address, bytes }));
        let compare = (Step::Compare, Action::Compare);
        Ok(erases.chain(programs).chain([compare]).collect())
    }
}

/// A failed read is the card's, everything else the image's.
pub(super) fn would_not_boot(error: ImageError) -> Fault {
    match error {
        ImageError::Read {
            source: failed @ ReadError::Failed { .. },
            ..
        } => failed.into(),
        ImageError::Overlap {
            second, address, ..
        } => refused(Refusal::InTheWay {
            what: second.into_owned(),
            address,
        }),
        error => refused(Refusal::WouldNotBoot(error)),
    }
}
