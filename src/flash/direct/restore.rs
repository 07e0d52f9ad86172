//! From a backup to a [`Plan`]: the image that booted when the backup was made is burned as any other
//! image is. So a restore is as safe as a burn, and what the card has learned since (settings,
//! logs) stays.

use crate::access::FlashAccess;
use crate::flash::component;
use crate::image;

use super::device_data::Lost;
use super::error::Fault;
use super::facts::CardFacts;
use super::found::Found;
use super::owner::Owner;
use super::plan::Plan;
use super::prepare::{Choices, prepare_whole};
use super::refusal::Refusal;
use super::way::Route;
use super::{fitness, fs4};

/// Whether a backup of another card, or to a card that does not say who it is, is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum OtherCard {
    /// No.
    #[default]
    Refuse,
    /// Yes. A card that says who it is keeps its own addresses; one that does not takes those of
    /// the backup.
    Allow,
}

/// A backup, verified, and how it is put back.
#[derive(Debug, Clone)]
pub struct RestorePlan {
    /// What the backup is of.
    pub backup: Owner,
    /// What the card's flash says now.
    pub card: Owner,
    /// The burn.
    pub plan: Plan,
}

/// Verifies a backup against the card and its flash, and plans how it is put back.
///
/// # Errors
/// As [`super::prepare`], and [`Refusal::OtherCard`] and [`Refusal::NoBackup`].
pub fn prepare_restore(
    (flash, route): (&dyn FlashAccess, Route),
    card: &CardFacts,
    (backup, other): (&[u8], OtherCard),
    choices: &Choices,
) -> Result<RestorePlan, Fault> {
    fitness::card(card)?;
    let saved = Found::read(&backup, card, None)?;
    if saved.kept.is_none() {
        of_this_chip(card, backup)?;
    }
    if backup.len() as u64 != flash.size() {
        return Err(no_backup(format!(
            "it has {:#x} bytes, the flash {:#x}",
            backup.len(),
            flash.size()
        )));
    }
    let Some(kept) = &saved.kept else {
        return Err(Fault::Refused(Refusal::NothingSaved));
    };
    let (here, there) = (Owner::read(flash, card)?, Owner::read(&backup, card)?);
    let same = here.is_same_card(&there);
    if !same && other == OtherCard::Refuse {
        return Err(Fault::Refused(Refusal::OtherCard {
            card: here.to_string(),
            backup: there.to_string(),
        }));
    }
    let mut whole = image::whole_at(&backup, kept.start()).map_err(Refusal::DamagedBackup)?;
    fitness::image(&whole, card)?;
    fs4::include_digests(&mut whole, card, &backup)?;
    let lost = Lost::Saved(backup, saved.owner().unwrap_or(kept));
    let mut plan = prepare_whole((flash, route), card, whole, (choices, &lost))?;
    if !same && here.is_known() {
        let note = format!("the backup is of {there}; this card keeps its own GUIDs and MACs");
        plan.notes.insert(0, note);
    }
    Ok(RestorePlan {
        backup: there,
        card: here,
        plan,
    })
}

/// Refuses a file whose firmware is for another chip.
fn of_this_chip(card: &CardFacts, backup: &[u8]) -> Result<(), Refusal> {
    match image::query(&backup) {
        Ok(info) if !info.supports(card.hw_id) => Err(component::Refusal::Chip {
            card: card.hw_id,
            image: info.hw_ids,
        }
        .into()),
        _ => Ok(()),
    }
}

fn no_backup(reason: String) -> Fault {
    Fault::Refused(Refusal::NoBackup { reason })
}
