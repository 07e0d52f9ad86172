//! A flash that was written past the firmware that runs, by another tool, and not booted from since.
//!
//! Such firmware takes the slot of the new image for the free one: asked for an update it would
//! erase the only image that boots, and on FS3 lose the device data that only that image names. So
//! before every update the flash is looked at, under its semaphore: start patterns, tables and the
//! version of each image ([`image::standing`]). Some image has to be the one that runs, or the one
//! the firmware says it has staged; where none is, the firmware does not know its flash.
//!
//! A flash that cannot be read is not looked at: what keeps this tool out (secure firmware,
//! encryption) keeps others out. The copy that was made of a flash before a burn is no help, for it
//! was made before the semaphore was taken.
//!
//! What cannot be seen: another tool that wrote the version that runs into the other slot. The flash
//! is then as after any reinstallation, and no register tells the slot the firmware started from:
//! the boot address (MFAI, MFPA, CR space) is set by whoever burns, too. Build dates are not
//! compared: no source says that MGIR and the image give the same day, and a card on which they do
//! not would never be updated. Burns of this tool are told by their note
//! ([`crate::flash::unbooted`]).

use crate::access::Device;
use crate::bytes::ByteSource;
use crate::flash::broken_off::BurnFault;
use crate::flash::direct::{self, CardFacts};
use crate::flash::unbooted::Begun;
use crate::image::{self, Standing};
use crate::registers::mcqs::UpdateState;
use crate::version::FwVersion;

use super::preflight::{Refusal, Target};

/// A card whose firmware does not know its flash.
#[derive(Debug)]
pub(super) struct Unknown {
    /// What the flash boots, where it could be looked at.
    pub(super) boots: Option<FwVersion>,
    /// Why it is not burned.
    pub(super) refusal: Refusal,
}

/// What a look at the flash of a card told that may be burned.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// What the user should know.
    pub(super) note: Option<String>,
    /// The direct burn that was begun has changed nothing of what boots.
    pub(super) begun_is_void: bool,
}

/// Looks whether the firmware knows what its flash boots. `begun` is a direct burn of this tool since
/// that firmware started.
///
/// # Errors
/// [`Refusal::WrittenPast`], [`Refusal::Unbooted`].
pub(super) fn check(
    device: &Device,
    target: &Target,
    begun: Option<Begun>,
) -> Result<Seen, Unknown> {
    let images = match look(device, target, begun) {
        Ok(Some(images)) => images,
        Ok(None) => return unseen(begun, None),
        Err(fault) => {
            return unseen(
                begun,
                Some(format!(
                    "the flash could not be looked at, so a burn by another tool that waits for its \
                     restart would go unnoticed: {fault}"
                )),
            );
        }
    };
    judge(&images, target, begun)
}

/// The images of a flash that can be looked at.
fn look(
    device: &Device,
    target: &Target,
    begun: Option<Begun>,
) -> Result<Option<Vec<Standing>>, direct::Fault> {
    if target.encrypted == Some(true) {
        return Ok(None);
    }
    let card = CardFacts {
        model: target.model,
        hw_id: target.hw_id,
        recovery: false,
        running: target.running,
        uptime: target.uptime,
        staged: has_update(target),
        runs_from: None,
        psid: target.psid.clone(),
        security: target.security.clone(),
    };
    let read = |flash: &dyn ByteSource| {
        let images = image::standing(flash, target.model.format)?;
        // what would stop the burn is read again before it is believed
        match judge(&images, target, begun) {
            Err(_) => Ok(image::standing(flash, target.model.format)?),
            Ok(_) => Ok(images),
        }
    };
    match direct::looking(device, &card, read) {
        // the next step fails on that
        Err(fault) if fault.is_gone() => Ok(None),
        images => images,
    }
}

/// A direct burn of which nobody can see how far it went may wait for its restart.
fn unseen(begun: Option<Begun>, note: Option<String>) -> Result<Seen, Unknown> {
    match begun {
        Some(_) => Err(Unknown {
            boots: None,
            refusal: Refusal::Unbooted,
        }),
        None => Ok(Seen {
            note,
            begun_is_void: false,
        }),
    }
}

fn judge(images: &[Standing], target: &Target, begun: Option<Begun>) -> Result<Seen, Unknown> {
    let boots = images.first().and_then(|image| image.version);
    if let Some(begun) = begun {
        let runs = |image: &Standing| {
            image.version == target.running && Some(image.start) == begun.runs_from
        };
        return if images.iter().any(runs) {
            Ok(Seen {
                note: None,
                // with two images the note is still what tells which one runs
                begun_is_void: images.len() == 1,
            })
        } else {
            Err(Unknown {
                boots,
                refusal: Refusal::Unbooted,
            })
        };
    }
    match unknown(images, target) {
        None => Ok(Seen::default()),
        Some(foreign) => Err(Unknown {
            boots,
            refusal: Refusal::WrittenPast {
                boots: foreign,
                running: target.running,
            },
        }),
    }
}

/// The image that boots, if none of the flash's images is one the firmware knows.
fn unknown(images: &[Standing], target: &Target) -> Option<Standing> {
    if target.running.is_none() || images.iter().any(|image| is_known(image, target)) {
        return None;
    }
    images.first().copied()
}

fn is_known(image: &Standing, target: &Target) -> bool {
    image.version == target.running || (has_update(target) && image.version == target.stored)
}

/// The firmware took an update itself.
const fn has_update(target: &Target) -> bool {
    !matches!(
        target.boot_image.update_state,
        UpdateState::Idle | UpdateState::Failed | UpdateState::Canceled
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::BootImage;
    use crate::flash::component::preflight_tests;

    const RUNS: FwVersion = FwVersion::new(14, 25, 1020);
    const OTHER: FwVersion = FwVersion::new(14, 32, 1010);

    fn at(start: u64, version: FwVersion) -> Standing {
        Standing {
            start,
            version: Some(version),
        }
    }

    /// Firmware that says this of what is stored and of its update.
    fn says(stored: FwVersion, update_state: UpdateState) -> Target {
        Target {
            running: Some(RUNS),
            stored: Some(stored),
            boot_image: BootImage {
                index: 0,
                update_state,
            },
            ..preflight_tests::card()
        }
    }

    #[test]
    fn an_image_the_firmware_did_not_take_is_unknown_whatever_it_says_is_stored() {
        let foreign = at(0x80_0000, OTHER);
        for state in [
            UpdateState::Idle,
            UpdateState::Failed,
            UpdateState::Canceled,
        ] {
            for stored in [RUNS, OTHER] {
                assert_eq!(unknown(&[foreign], &says(stored, state)), Some(foreign));
            }
        }
    }

    #[test]
    fn an_update_the_firmware_took_is_known_and_one_written_over_it_is_not() {
        let staged = says(OTHER, UpdateState::ActivePendingReset);
        assert_eq!(unknown(&[at(0x80_0000, OTHER)], &staged), None);
        let third = at(0, FwVersion::new(14, 33, 0));
        assert_eq!(unknown(&[third], &staged), Some(third));
    }

    #[test]
    fn a_direct_burn_that_broke_off_is_void_while_the_image_that_runs_still_stands() {
        let card = says(RUNS, UpdateState::Idle);
        let begun = Some(Begun { runs_from: Some(0) });
        let (runs, new) = (at(0, RUNS), at(0x80_0000, OTHER));
        assert!(judge(&[runs], &card, begun).unwrap().begun_is_void);
        let both = judge(&[runs, new], &card, begun).unwrap();
        assert!(!both.begun_is_void, "it tells which of them runs");
        for finished in [new, at(0x80_0000, RUNS)] {
            let waits = judge(&[finished], &card, begun).unwrap_err();
            assert!(matches!(waits.refusal, Refusal::Unbooted));
            assert_eq!(waits.boots, finished.version);
        }
        let unknown_place = Some(Begun { runs_from: None });
        assert!(judge(&[runs], &card, unknown_place).is_err());
        assert!(unseen(begun, None).is_err(), "a flash nobody can read");
    }

    #[test]
    fn nothing_is_at_stake_while_what_runs_boots_or_nothing_does() {
        let card = says(RUNS, UpdateState::Idle);
        let both = [at(0, OTHER), at(0x80_0000, RUNS)];
        assert_eq!(unknown(&both, &card), None);
        assert_eq!(unknown(&[], &card), None);
    }
}
