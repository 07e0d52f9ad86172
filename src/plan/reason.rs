//! Why a card is burned, left alone or refused: one sentence, and what to do next.

use std::fmt;

use super::branch::Branch;
use crate::card::{cold_boot, revival};
use crate::identity::Psid;
use crate::version::FwVersion;

/// Why an image cannot run on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// The first version number belongs to another chip.
    Family {
        /// The card's chip.
        chip: &'static str,
        /// First number of that chip's versions.
        expected: u16,
        /// The image's version.
        version: FwVersion,
    },
    /// The image does not list the chip.
    Chip {
        /// The card's chip, if its id is known.
        chip: Option<&'static str>,
        /// Its hardware id.
        hw: u16,
    },
    /// The image lists the chip, in other revisions.
    Revision {
        /// The card's revision.
        revision: u8,
        /// Revisions the image lists.
        supported: Vec<u8>,
    },
    /// Neither the chip's own word nor its PCI id says what it is.
    UnknownChip {
        /// Vendor and device id.
        pci_id: (u16, u16),
    },
    /// The card's firmware asks for a signature that the image does not have.
    Unsigned,
}

/// Why the decision on a card is what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A newer image is on offer.
    Newer {
        /// On flash.
        from: FwVersion,
        /// On offer.
        to: FwVersion,
    },
    /// A development build, which has no order against releases.
    Development {
        /// Its branch tag.
        tag: String,
    },
    /// The version on flash is burned once more, as asked.
    Reinstall {
        /// That version.
        version: FwVersion,
    },
    /// An older version is burned, as asked.
    Downgrade {
        /// On flash.
        from: FwVersion,
        /// On offer.
        to: FwVersion,
    },
    /// Flash holds and the chip runs what is on offer.
    Same {
        /// That version.
        version: FwVersion,
    },
    /// What is on offer is older than what flash holds.
    Older {
        /// On flash.
        stored: FwVersion,
        /// On offer.
        offered: FwVersion,
    },
    /// Flash already holds what is wanted; it does not run yet.
    Staged {
        /// On flash.
        stored: FwVersion,
        /// Running.
        running: FwVersion,
    },
    /// Nothing was given to compare with.
    NoSource,
    /// No image is for this board.
    NoImage {
        /// The board.
        psid: Psid,
        /// The release line asked for, where images of other lines are there.
        branch: Option<Branch>,
    },
    /// No list of releases has one for this board.
    NotListed {
        /// The board.
        psid: Psid,
        /// The lists, all of which answered.
        searched: Vec<String>,
    },
    /// A source could not be read, so nobody knows whether it has a newer image for this board.
    SourceFailed {
        /// Each that gave no answer, and why.
        failures: Vec<String>,
    },
    /// The card is too old for every image there is.
    TooOld {
        /// The newest of them.
        version: FwVersion,
        /// What the card must have before.
        minimum: FwVersion,
    },
    /// No image is for this board, and its brand publishes its own.
    OemNoImage {
        /// The board.
        psid: Psid,
        /// The brand.
        brand: &'static str,
    },
    /// The card becomes another board, as asked.
    PsidChange {
        /// The board it is.
        from: Psid,
        /// The board it will say it is.
        to: Psid,
    },
    /// A change of the board was allowed, and not both card and image were named.
    PsidChangeUnnamed {
        /// The board.
        psid: Psid,
    },
    /// A change of the board was asked of the running firmware.
    PsidChangeByFirmware {
        /// The board the image is for.
        psid: Psid,
    },
    /// Images for several boards fit the chip, and nothing says which board the card is.
    SeveralBoards {
        /// The boards.
        boards: Vec<Psid>,
    },
    /// No image fits a card that does not say its board.
    NoneFits,
    /// A card in recovery gets firmware again.
    Revived {
        /// The image's board.
        psid: Psid,
        /// Its version.
        version: FwVersion,
    },
    /// No firmware runs on the card yet, and its flash holds an image.
    Written {
        /// The version on flash.
        version: FwVersion,
        /// The card's name.
        device: String,
    },
    /// The card does not say which board it is.
    NoPsid,
    /// The boot ROM found no usable image, and not both card and image were named.
    Recovery {
        /// The card.
        device: String,
    },
    /// The card could not be read.
    QueryFailed {
        /// What happened.
        message: String,
        /// What to do about it.
        advice: Option<String>,
    },
    /// The card tells its board but no version.
    UnknownVersion,
    /// The image tells no version.
    NoVersion,
    /// Images of the same version with different contents.
    Ambiguous {
        /// That version.
        version: FwVersion,
        /// Where they are.
        places: Vec<String>,
    },
    /// The image cannot run on this card.
    DoesNotFit(Misfit),
    /// A switch chip: never updated unless it was named.
    Switch,
    /// The running firmware takes no image, and that way was asked for.
    NotFirmwareControlled,
    /// The image carries nothing by which the running firmware could verify it.
    NoDigest {
        /// Whether the flash could be written directly.
        direct: bool,
    },
    /// Secure firmware keeps the flash to itself.
    SecureFirmware,
    /// Firmware or image of a kind that is not burned directly.
    NotDirect {
        /// What it is.
        what: &'static str,
    },
    /// What runs is not what is stored: a direct burn would go over what runs.
    RunningSlot {
        /// On flash.
        stored: FwVersion,
        /// Running.
        running: FwVersion,
    },
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Family {
                chip,
                expected,
                version,
            } => write!(
                f,
                "the image is version {version}, but firmware of a {chip} starts with {expected}."
            ),
            Self::Chip {
                chip: Some(chip),
                hw,
            } => write!(
                f,
                "the image does not list the {chip} (hardware id {hw:#x})"
            ),
            Self::Chip { chip: None, hw } => {
                write!(f, "the image does not list hardware id {hw:#x}")
            }
            Self::Revision {
                revision,
                supported,
            } => write!(
                f,
                "the chip is revision {revision:#x}, the image is for {}",
                list(supported.iter().map(|revision| format!("{revision:#x}")))
            ),
            Self::UnknownChip {
                pci_id: (vendor, device),
            } => write!(
                f,
                "the chip of PCI id {vendor:04x}:{device:04x} is not known"
            ),
            Self::Unsigned => f.write_str(
                "the card takes only signed firmware, and the image is not signed for it",
            ),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer { from, to } => write!(f, "{to} is newer than {from}"),
            Self::Development { tag } => write!(f, "the image is the development build {tag}"),
            Self::Reinstall { version } => write!(f, "{version} is burned once more, as asked"),
            Self::Downgrade { from, to } => {
                write!(f, "{from} is replaced by the older {to}, as asked")
            }
            Self::Same { version } => write!(f, "{version} is on flash and running"),
            Self::Older { stored, offered } => {
                write!(f, "{stored} on flash is newer than {offered} on offer")
            }
            Self::Staged { stored, running } => write!(
                f,
                "{stored} is already on flash, {running} still runs: activation pending"
            ),
            Self::NoSource => f.write_str("nothing was given to compare with"),
            Self::NoImage { psid, branch: None } => write!(f, "no image is for {psid}"),
            Self::NoImage {
                psid,
                branch: Some(branch),
            } => write!(f, "no image for {psid} is on {branch}"),
            Self::NotListed { psid, searched } => {
                write!(
                    f,
                    "{psid} is not listed: looked at {}",
                    list(searched.iter().cloned())
                )
            }
            Self::SourceFailed { failures } => {
                write!(f, "a source gave no answer: {}", failures.join("; "))
            }
            Self::TooOld { version, minimum } => write!(
                f,
                "{version} needs {minimum} on the card first, and no step in between is on offer"
            ),
            Self::OemNoImage { psid, brand } => {
                write!(
                    f,
                    "no image is for {psid}, a card managed by {brand}: updates come from {brand}"
                )
            }
            Self::PsidChange { from, to } => {
                write!(
                    f,
                    "the PSID changes from {} to {}, as asked",
                    branded(from),
                    branded(to)
                )
            }
            Self::PsidChangeUnnamed { psid } => write!(
                f,
                "no image is for {psid}, and an image for another board has to be named together with \
                 the card"
            ),
            Self::PsidChangeByFirmware { psid } => write!(
                f,
                "the image is for {psid}, and the PSID cannot be changed through the running firmware"
            ),
            Self::SeveralBoards { boards } => write!(
                f,
                "there are images for {} boards of this chip ({}), and none of them is chosen for you",
                boards.len(),
                list(boards.iter().map(Psid::to_string))
            ),
            Self::NoneFits => f.write_str("no image is for this chip"),
            Self::Revived { psid, version } => {
                write!(
                    f,
                    "no firmware runs; {version} for {psid} is written to the flash"
                )
            }
            Self::Written { version, .. } => {
                write!(
                    f,
                    "{version} is on the flash, and no firmware runs on the card yet"
                )
            }
            Self::NoPsid => f.write_str("the card tells no PSID"),
            Self::Recovery { .. } => f.write_str("no firmware runs on the card"),
            Self::QueryFailed { message, .. } => f.write_str(message),
            Self::UnknownVersion => f.write_str("the version on flash could not be read"),
            Self::NoVersion => f.write_str("the image tells no version"),
            Self::Ambiguous { version, places } => write!(
                f,
                "{} hold different images of version {version}",
                list(places.iter().cloned())
            ),
            Self::DoesNotFit(misfit) => misfit.fmt(f),
            Self::Switch => f.write_str("a switch is left alone unless it is named"),
            Self::NotFirmwareControlled => {
                f.write_str("the card's firmware takes no updates by itself")
            }
            Self::NoDigest { .. } => {
                f.write_str("the image has no digest by which the running firmware could verify it")
            }
            Self::SecureFirmware => {
                f.write_str("the card runs secure firmware, which lets no tool at its flash")
            }
            Self::NotDirect { what } => write!(f, "{what} is not burned directly"),
            Self::RunningSlot { stored, running } => write!(
                f,
                "{stored} waits on flash for its activation, and a direct burn would go over {running}, \
                 which runs"
            ),
        }
    }
}

impl Reason {
    /// What to do next, where there is something.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let text = match self {
            Self::Same { .. } => "--reinstall burns the same version once more",
            Self::Older { .. } => {
                "--allow-downgrade burns the older version; it runs after a cold boot"
            }
            Self::Downgrade { .. } => "switch the host off and on again to run the older version",
            Self::Staged { .. } => "reboot the host to run it",
            Self::NoSource => "give --image FILE, --image-dir DIR, --online or --index URL-or-FILE",
            Self::NoImage {
                branch: Some(_), ..
            } => {
                "leave --branch out (or the line in the configuration), or give a source that holds it"
            }
            Self::NoImage { .. } => "give a bundle that holds an image for this PSID",
            Self::OemNoImage { brand, .. } => {
                return Some(format!(
                    "give a bundle from {brand} that holds an image for this PSID"
                ));
            }
            Self::NotListed { .. } => {
                "give a bundle that holds an image for this PSID with --image"
            }
            Self::SourceFailed { .. } => "see the error of the source",
            Self::TooOld { .. } => "give an image of the version in between",
            Self::PsidChange { .. } => {
                "port types, power limits and pins are the new board's: if they do not fit the hardware, \
                 the card can be left without link or dead, which no check of the image can tell"
            }
            Self::PsidChangeUnnamed { .. } => {
                "name the card with -d DEV and one image with --image FILE; an image for another board \
                 can leave the card without link or dead"
            }
            Self::PsidChangeByFirmware { .. } => {
                "leave --method out; the flash is then written directly"
            }
            Self::SeveralBoards { .. } => {
                "take the board from the card's label, then `cxfw extract FILE --psid PSID -o OUT` and \
                 --image OUT"
            }
            Self::NoneFits => "give the image made for this board and chip",
            Self::Revived { .. } => {
                "the card runs it after a cold boot (the machine without power)"
            }
            Self::Written { device, .. } => return Some(cold_boot(device)),
            Self::NoPsid => "run `cxfw query -v` on this card and check that it is initialised",
            Self::Recovery { device } => return Some(revival(device)),
            Self::QueryFailed { advice, .. } => return advice.clone(),
            Self::UnknownVersion => {
                "run `cxfw query -v` on this card to see what could not be read"
            }
            Self::NoVersion => "check the file with `cxfw verify`",
            Self::Ambiguous { .. } => "give the one that is meant with --image",
            Self::DoesNotFit(Misfit::Unsigned) => {
                "give the signed image of this version (its name ends in .signed.bin)"
            }
            Self::DoesNotFit(Misfit::UnknownChip { .. }) => {
                "update cxfw, or use the vendor's tool for this chip"
            }
            Self::DoesNotFit(_) => "give the image made for this chip",
            Self::Switch => "name it with -d to update it",
            Self::NotFirmwareControlled => "leave --method out; its flash is then written directly",
            Self::NoDigest { direct: true } => {
                "--method direct burns it; or give an image built for updates by the firmware"
            }
            Self::NoDigest { direct: false } => "give an image built for updates by the firmware",
            Self::SecureFirmware => {
                "such a card takes images for its own board, through its firmware (--method component)"
            }
            Self::NotDirect { .. } => {
                "update through the firmware (--method component); where none runs, use the vendor's tool"
            }
            Self::RunningSlot { .. } => "reboot the host to activate it, then run the update again",
            Self::Newer { .. } | Self::Development { .. } | Self::Reinstall { .. } => return None,
        };
        Some(text.to_owned())
    }
}

/// `a`, `a and b`, `a, b and c`.
fn list(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.collect();
    match items.pop() {
        None => "nothing".to_owned(),
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} and {last}", items.join(", ")),
    }
}

/// A PSID with the brand that publishes its firmware.
fn branded(psid: &Psid) -> String {
    match psid.brand() {
        Some(brand) => format!("{psid} ({brand})"),
        None => psid.to_string(),
    }
}
