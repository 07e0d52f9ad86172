//! May this image go on this card? What can be said before the flash is looked at in depth.

use crate::flash::component;
use crate::identity::Psid;
use crate::image::{ImageInfo, SecurityAttribute, Whole};
use crate::model::ImageFormat;

use super::facts::CardFacts;
use super::found::{Found, Image};
use super::prepare::PsidChange;
use super::refusal::Refusal;

/// Refuses cards that let no tool at their flash.
pub(super) fn card(card: &CardFacts) -> Result<(), Refusal> {
    if card.security.contains(&SecurityAttribute::SecureFw) {
        return Err(Refusal::SecureFirmware);
    }
    if card.model.format == ImageFormat::Fs5 {
        return Err(Refusal::NotDirect {
            what: "firmware of this generation (FS5)",
        });
    }
    Ok(())
}

/// Refuses images for other chips and of kinds that are not burned directly.
pub(super) fn image(image: &Whole, card: &CardFacts) -> Result<(), Refusal> {
    let info = &image.info;
    if info.format != card.model.format {
        return Err(component::Refusal::Format {
            image: info.format,
            chip: card.model.long_name,
            format: card.model.format,
        }
        .into());
    }
    if !info.supports(card.hw_id) {
        return Err(component::Refusal::Chip {
            card: card.hw_id,
            image: info.hw_ids.clone(),
        }
        .into());
    }
    if image.layout.encrypted || info.security.encrypted {
        return Err(Refusal::NotDirect {
            what: "an encrypted image",
        });
    }
    Ok(())
}

/// Refuses when what runs is not what is kept: the free slot is the one that runs.
pub(super) fn nothing_pending(card: &CardFacts, found: &Found) -> Result<(), Refusal> {
    let Some(kept) = &found.kept else {
        return Ok(());
    };
    let (Some(running), Some(stored)) = (card.running, kept.info.version) else {
        return Ok(());
    };
    let other_place = card.runs_from.is_some_and(|start| start != kept.start());
    if running == stored && !card.staged && !other_place {
        return Ok(());
    }
    Err(Refusal::PendingActivation { running, stored })
}

/// Refuses an image for another board. Returns a note where the user allowed it, and where the
/// card does not say its board.
pub(super) fn board(
    image: &Psid,
    card: Option<&Psid>,
    change: PsidChange,
) -> Result<Option<String>, Refusal> {
    match (card, change) {
        (Some(card), _) if card == image => Ok(None),
        (None, _) => Ok(Some(format!(
            "the card does not say which board it is; the image is for {image}"
        ))),
        (Some(card), PsidChange::Allow) => {
            Ok(Some(format!("the PSID changes from {card} to {image}")))
        }
        (Some(card), PsidChange::Refuse) => Err(component::Refusal::Psid {
            card: card.clone(),
            image: image.clone(),
        }
        .into()),
    }
}

/// Refuses an image without the signature the card's firmware had: the boot ROM may insist on it.
pub(super) fn signature(image: &ImageInfo, owner: Option<&Image>) -> Result<(), Refusal> {
    let secure = SecurityAttribute::SecureFw;
    let had = owner.is_some_and(|owner| owner.info.security.attributes.contains(&secure));
    if !had || image.security.attributes.contains(&secure) {
        return Ok(());
    }
    Err(component::Refusal::Unsigned {
        card: secure,
        image: "not secure firmware".to_owned(),
    }
    .into())
}

/// What changes in the expansion ROMs, for those who removed one on purpose.
pub(super) fn rom_notes(image: &ImageInfo, owner: &Image) -> Vec<String> {
    let has = |info: &ImageInfo, kind: &str| info.roms.iter().any(|rom| rom.kind == kind);
    let kinds = |info: &ImageInfo| {
        let mut kinds: Vec<String> = info.roms.iter().map(|rom| rom.kind.clone()).collect();
        kinds.dedup();
        kinds
    };
    let added = kinds(image)
        .into_iter()
        .filter(|kind| !has(&owner.info, kind))
        .map(|kind| format!("the image brings an expansion ROM ({kind}) the card does not have"));
    let lost = kinds(&owner.info)
        .into_iter()
        .filter(|kind| !has(image, kind))
        .map(|kind| format!("the image has no expansion ROM of the kind the card has ({kind})"));
    added.chain(lost).collect()
}
