//! What belongs to the card and must outlive the burn: addresses, VSD, VPD, manufacturing data, settings
//! (burn 8.12). Each format keeps it elsewhere; this fits the new image to it.

use crate::access::FlashAccess;
use crate::identity::Psid;
use crate::image::{self, ImageInfo, Layout, Uids, Whole};
use crate::model::ImageFormat;

use super::device_area::{self, DeviceArea, Standing};
use super::erase::Taken;
use super::error::Fault;
use super::facts::CardFacts;
use super::found::{Found, Image, has_lost_device_data, names_device_data};
use super::identity::RecoveryIdentity;
use super::leftover::Leftover;
use super::overlay::Overlay;
use super::owner::Owner;
use super::refusal::Refusal;
use super::toc::Record;
use super::{fs2, fs3, place};

/// What stands in for device data that cannot be read from the card.
pub(super) enum Lost<'a> {
    /// Nothing: such a card is refused.
    Unknown,
    /// What its owner says.
    Told(RecoveryIdentity),
    /// A backup of its flash, and the good image in it.
    Saved(&'a [u8], &'a Image),
}

impl Lost<'_> {
    fn told(&self) -> Result<RecoveryIdentity, Refusal> {
        match self {
            Self::Told(identity) => {
                identity.check()?;
                Ok(*identity)
            }
            Self::Unknown | Self::Saved(..) => Err(Refusal::NoIdentity),
        }
    }

    /// A note for those whose card becomes the one of the backup.
    fn taken(&self) -> Vec<String> {
        match self {
            Self::Saved(..) => vec![TAKEN.to_owned()],
            Self::Unknown | Self::Told(_) => Vec::new(),
        }
    }

    /// A note for those who said what the card says itself.
    fn unused(&self) -> Vec<String> {
        let note = "the card's own GUIDs and MACs are readable and kept; those given are not used";
        match self {
            Self::Told(_) => vec![note.to_owned()],
            Self::Unknown | Self::Saved(..) => Vec::new(),
        }
    }
}

/// What a card without readable addresses is told when a backup gives it some.
const TAKEN: &str = "the card's own GUIDs and MACs cannot be read; it takes those of the backup";

/// What is said of device data that no table named any more.
const FOUND: &str =
    "no table names the card's device data any more; it was found where it lies, and is kept";
/// What is said where it stands as it did.
const TABLE_TAKEN: &str =
    "the card's device data stands as in the backup; only its table is lost, and is made anew";

/// What is said where a card runs without device data.
const LEFT_ALONE: &str = "the card's device data stays as it is, and the card may not start with it after a restart; a \
     backup brings it back (`cxfw restore`), or --guid and --mac write it anew";
/// The same where its table stands, of which a card that runs loses nothing.
const LEFT_DAMAGED: &str = "the card's device data is damaged and stays as it is, and the card may not start with it \
     after a restart; a backup brings it back (`cxfw restore`), or, once the card is in recovery, \
     --guid and --mac of its label write it anew";

/// Who says who the card is, if it is not its owner or a backup.
pub(super) const STILL_HELD: &str = "which its flash still holds";

/// What came of fitting.
#[derive(Debug)]
pub(super) struct Fitted {
    /// Board, as far as the card says.
    pub(super) psid: Option<Psid>,
    /// Device data to write, where there is none.
    pub(super) area: Option<DeviceArea>,
    /// Entries for device data, where they are in the image's table (FS3).
    entries: Vec<Record>,
    /// Who says who the card is.
    pub(super) source: &'static str,
    /// More places that must stay as they are.
    pub(super) taken: Vec<Taken>,
    /// What the user should know.
    pub(super) notes: Vec<String>,
}

impl Default for Fitted {
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

impl Fitted {
    const fn of(entries: Vec<Record>) -> Self {
        Self {
            psid: None,
            area: None,
            entries,
            source: STILL_HELD,
            taken: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// Fits the image to the card. `layout` is where the image will be.
pub(super) fn fit(
    flash: &dyn FlashAccess,
    card: &CardFacts,
    (image, layout): (&mut Whole, &Layout),
    found: &Found,
    lost: &Lost<'_>,
) -> Result<Fitted, Fault> {
    let mut fitted = match card.model.format {
        ImageFormat::Fs2 => fit_fs2(flash, (image, layout), found, lost)?,
        ImageFormat::Fs3 => fit_fs3(flash, card, image, found, lost)?,
        ImageFormat::Fs4 | ImageFormat::Fs5 => fit_fs4(flash, card, (image, layout), found, lost)?,
    };
    let of_image = |image: &Image| image.info.psid.clone();
    let stored = found.kept.as_ref().and_then(of_image);
    let left = found.remains.as_ref().and_then(of_image);
    fitted.psid = stored
        .or_else(|| card.psid.clone())
        .or(left)
        .or(fitted.psid);
    Ok(fitted)
}

fn fit_fs2(
    flash: &dyn FlashAccess,
    (image, layout): (&mut Whole, &Layout),
    found: &Found,
    lost: &Lost<'_>,
) -> Result<Fitted, Fault> {
    let owner = found.owner();
    let owner = owner
        .map(|owner| fs2::Owner::read(flash, owner))
        .transpose()?;
    let configuration = fs2::Configuration::of_whole(image);
    let of_card = owner.as_ref().map_or(configuration, |o| o.configuration);
    if configuration.pad != of_card.pad {
        return Err(Refusal::ConfigPad {
            card: of_card.pad,
            image: configuration.pad,
        }
        .into());
    }
    let mut fitted = Fitted::default();
    let vsd = owner.as_ref().and_then(|owner| owner.vsd.clone());
    let entries = match owner.and_then(|owner| owner.entries) {
        Some(entries) => {
            fitted.notes = lost.unused();
            entries
        }
        None => match lost {
            Lost::Saved(dump, image) => {
                fitted.notes = lost.taken();
                let saved = fs2::Owner::read(dump, image)?;
                saved.entries.ok_or(Refusal::NoIdentity)?
            }
            _ => lost.told()?.fs2_entries(),
        },
    };
    fs2::personalise(image, &entries, vsd.as_deref());
    let reserved = configuration.reserved(&of_card);
    let half = flash.size() / 2;
    let room = half.saturating_sub(reserved);
    let size = image.bytes.len() as u64;
    if size > room {
        return Err(Refusal::TooLarge { size, room }.into());
    }
    let slot = layout.slot_log2.map_or(0, |log2| 1 << log2);
    for start in [0, slot] {
        let extents = place::layout_at(image, start);
        let extents = extents.extents(room, reserved);
        fitted.taken.extend(extents.map(|extent| Taken {
            extent,
            what: "the configuration area".to_owned(),
        }));
    }
    Ok(fitted)
}

fn fit_fs3(
    flash: &dyn FlashAccess,
    card: &CardFacts,
    image: &mut Whole,
    found: &Found,
    lost: &Lost<'_>,
) -> Result<Fitted, Fault> {
    let owner = found.owner();
    let fitted = match owner.filter(|owner| !has_lost_device_data(owner)) {
        Some(owner) => Fitted {
            area: None,
            notes: [named_elsewhere(owner, found), lost.unused()].concat(),
            ..Fitted::of(fs3::device_entries(flash, owner)?)
        },
        None => {
            let standing = owner.map(|owner| Standing::read(flash, &owner.layout));
            let standing = standing.unwrap_or_default();
            match (
                again(flash, card, image, found, (lost, &standing))?,
                owner.filter(|owner| names_device_data(Some(owner)) && found.runs(card)),
            ) {
                (Some(fitted), _) => fitted,
                // named, but damaged, and the card lives with it
                (None, Some(owner)) => Fitted {
                    notes: vec![LEFT_DAMAGED.to_owned()],
                    ..Fitted::of(fs3::device_entries(flash, owner)?)
                },
                (None, None) => return Err(Refusal::NoIdentity.into()),
            }
        }
    };
    let mut notes = fs3::take_entries(image, &fitted.entries)?;
    notes.extend(fitted.notes);
    Ok(Fitted { notes, ..fitted })
}

/// What is said where an older image is what names the card's device data.
fn named_elsewhere(owner: &Image, found: &Found) -> Vec<String> {
    let kept = found.kept.as_ref();
    let other = kept.is_some_and(|kept| kept.start() != owner.start());
    let note = format!(
        "the image that boots names no device data; what the older image at {:#x} names is taken",
        owner.start()
    );
    other.then_some(note).into_iter().collect()
}

/// The device table is found by the image that is to be burned.
fn fit_fs4(
    flash: &dyn FlashAccess,
    card: &CardFacts,
    (image, layout): (&Whole, &Layout),
    found: &Found,
    lost: &Lost<'_>,
) -> Result<Fitted, Fault> {
    let overlay = Overlay::new(&flash, place::runs(layout, &image.bytes));
    let seen = image::flash_image_at(&overlay, layout.start);
    let (on_flash, info) = seen.map_err(super::prepare::would_not_boot)?;
    let psid = info.original_psid.clone();
    if info.uids.is_some() && info.original_uids.is_some() {
        return Ok(Fitted {
            psid,
            notes: lost.unused(),
            ..Fitted::default()
        });
    }
    let standing = Standing::read(&overlay, &on_flash);
    // a card that runs lives with its device data; it is left as it is until somebody asks
    let lives = found.runs(card);
    if !(lives && matches!(lost, Lost::Unknown))
        && let Some(fitted) = again(flash, card, image, found, (lost, &standing))?
    {
        return Ok(Fitted { psid, ..fitted });
    }
    if !lives {
        return Err(Refusal::NoIdentity.into());
    }
    let mut notes = info.warnings;
    let left = if on_flash.dtoc.is_some() {
        LEFT_DAMAGED
    } else {
        LEFT_ALONE
    };
    notes.push(left.to_owned());
    Ok(Fitted {
        psid,
        notes,
        ..Fitted::default()
    })
}

/// Device data for a card that has none it can find: from its backup, else what lies on the flash
/// without a table, unless its owner says that it is another card, else made anew. `None`: there
/// is nothing to take it from.
fn again(
    flash: &dyn FlashAccess,
    card: &CardFacts,
    image: &Whole,
    found: &Found,
    (lost, standing): (&Lost<'_>, &Standing),
) -> Result<Option<Fitted>, Fault> {
    let taken = |area: DeviceArea, notes: Vec<String>, source| Fitted {
        entries: area.entries.clone(),
        area: (area.start < flash.size() && !area.runs.is_empty()).then_some(area),
        notes,
        source,
        psid: None,
        taken: Vec::new(),
    };
    match (lost, &found.leftover) {
        (Lost::Saved(dump, saved), left) if is_source(saved, left.as_ref()) => {
            let table = device_area::saved_table(flash, dump, &saved.layout)?;
            let whole = || device_area::saved(dump, &saved.layout).ok_or(Refusal::NoIdentity);
            let (area, notes) = match table {
                Some(table) => (table, vec![TABLE_TAKEN.to_owned()]),
                None => (whole()?, lost.taken()),
            };
            let entries = match card.model.format {
                ImageFormat::Fs3 => fs3::device_entries(dump, saved)?,
                _ => Vec::new(),
            };
            Ok(Some(taken(
                DeviceArea { entries, ..area },
                notes,
                "as the backup says",
            )))
        }
        // all of a table would be lost for one section of it
        (Lost::Told(_), None) if found.runs(card) && names_device_data(found.firmware()) => {
            Ok(None)
        }
        (Lost::Told(told), left) if left.as_ref().is_none_or(|left| !left.is_of(told)) => {
            let area = rebuild(flash, card, image, lost, standing)?;
            let notes = standing.notes(card.model, told);
            Ok(Some(taken(area, notes, STILL_HELD)))
        }
        (_, Some(left)) => Ok(Some(taken(
            left.area.clone(),
            vec![FOUND.to_owned()],
            STILL_HELD,
        ))),
        (_, None) => Ok(None),
    }
}

/// The image of a backup knows whose device data it names, and that is not another card than what
/// lies on the flash is of.
fn is_source(saved: &Image, left: Option<&Leftover>) -> bool {
    let of = Owner::of(saved);
    let same = |left: &Leftover| of.mac == Some(left.mac) && of.guid == Some(left.guid);
    !has_lost_device_data(saved) && left.is_none_or(same)
}

fn rebuild(
    flash: &dyn FlashAccess,
    card: &CardFacts,
    image: &Whole,
    lost: &Lost<'_>,
    standing: &Standing,
) -> Result<DeviceArea, Fault> {
    let identity = lost.told()?;
    let psid = image.info.psid.as_ref().ok_or(Refusal::NoIdentity)?;
    Ok(device_area::rebuild(
        card.model,
        &identity,
        psid,
        (flash.size(), standing),
    )?)
}

/// Checks that the card is the same after the burn: addresses, VSD, and every place device data
/// lies at.
pub(super) fn check_kept(owner: &Image, layout: &Layout, info: &ImageInfo) -> Result<(), Refusal> {
    let lost = |what: &str| {
        Err(Refusal::DeviceDataLost {
            what: what.to_owned(),
        })
    };
    let before = &owner.info;
    let same = match (&before.uids, &info.uids) {
        (Some(Uids::Fs2 { .. }), _) if before.blank_guids => true,
        (Some(Uids::Fs2 { entries: old }), Some(Uids::Fs2 { entries: new })) => old
            .iter()
            .zip(new)
            .all(|(old, new)| old == new || is_unset(*old)),
        (None, _) => true,
        (old, new) => old == new,
    };
    if !same {
        return lost("GUIDs and MACs");
    }
    if before.original_uids.is_some() && before.original_uids != info.original_uids {
        return lost("factory addresses");
    }
    if before.device_vsd.is_some() && before.device_vsd != info.device_vsd {
        return lost("VSD");
    }
    if has_lost_device_data(owner) {
        return Ok(());
    }
    let device = |layout: &Layout| {
        let sections = layout.sections.iter().filter(|section| section.device_data);
        sections
            .map(|section| (section.kind, section.physical, section.size))
            .collect::<Vec<_>>()
    };
    let now = device(layout);
    match device(&owner.layout).iter().find(|was| !now.contains(was)) {
        Some(&(kind, ..)) => {
            let [kind, ..] = kind.to_le_bytes();
            lost(&image::section::name(kind))
        }
        None => Ok(()),
    }
}

/// An address that stands for none: a MAC derived from the GUIDs takes its place.
const fn is_unset(entry: u64) -> bool {
    entry == u64::MAX || entry == 0xffff_ffff_ffff
}
