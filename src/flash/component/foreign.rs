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
use crate::image::{self, Standing};
use crate::registers::mcqs::UpdateState;

use super::preflight::{Refusal, Target};

/// Looks whether the firmware knows what its flash boots. Returns what the user should know when
/// that cannot be told.
///
/// # Errors
/// [`Refusal::WrittenPast`].
pub(super) fn check(device: &Device, target: &Target) -> Result<Option<String>, Refusal> {
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
        match unknown(&images, target) {
            Some(_) => Ok(image::standing(flash, target.model.format)?),
            None => Ok(images),
        }
    };
    let images = match direct::looking(device, &card, read) {
        Ok(Some(images)) => images,
        Ok(None) => return Ok(None),
        // the next step fails on that
        Err(fault) if fault.is_gone() => return Ok(None),
        Err(fault) => {
            return Ok(Some(format!(
                "the flash could not be looked at, so a burn by another tool that waits for its \
                 restart would go unnoticed: {fault}"
            )));
        }
    };
    unknown(&images, target).map_or(Ok(None), |boots| {
        Err(Refusal::WrittenPast {
            boots,
            running: target.running,
        })
    })
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
    use crate::version::FwVersion;

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
    fn nothing_is_at_stake_while_what_runs_boots_or_nothing_does() {
        let card = says(RUNS, UpdateState::Idle);
        let both = [at(0, OTHER), at(0x80_0000, RUNS)];
        assert_eq!(unknown(&both, &card), None);
        assert_eq!(unknown(&[], &card), None);
    }
}
