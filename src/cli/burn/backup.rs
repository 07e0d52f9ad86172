//! The backup between the decision and the burn.

use super::super::keep::{self, Keeping, NotKept};
use super::Job;
use super::turn::Turn;
use crate::flash::Cancel;
use crate::image::SecurityAttribute;
use crate::plan::Method;
use crate::progress::{Event, Sink};
use crate::report::{Backup, Outcome};

/// The way of burning in which firmware keeps the old image until the new one is verified. In any
/// other cxfw itself writes the flash, and does not if it could not even read it.
const SAFE_WITHOUT: Method = Method::Component;

/// Saves the card's flash. A card that cannot be read is burned all the same if that is safe; a
/// folder that cannot take the file is the end of the burn, before anything is written.
pub(super) fn save(
    turn: &Turn<'_>,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Backup, Box<Outcome>> {
    let folder = match turn.job.keeping {
        Keeping::Nothing => return Ok(Backup::Without("--no-backup".to_owned())),
        Keeping::In(folder) => folder,
    };
    let card = (turn.device()?, &turn.lock);
    match keep::save(card, folder, (cancel, &mut *sink)) {
        Ok(path) => Ok(Backup::File(path)),
        Err(NotKept { error, .. }) if is_of_card(&error) && turn.method == SAFE_WITHOUT => {
            sink(Event::Note {
                text: format!(
                    "warning: {}: no backup: {error}; the card's firmware keeps the old image \
                     until the new one is verified",
                    turn.job.card.report.device
                ),
            });
            Ok(Backup::Without(error.to_string()))
        }
        Err(not_kept) => {
            let job = turn.job;
            Err(Box::new(
                not_kept.outcome(|ending, reason| job.outcome(ending, reason)),
            ))
        }
    }
}

fn is_of_card(error: &crate::flash::backup::BackupError) -> bool {
    !error.is_of_file() && !error.is_interrupted()
}

/// What a dry run says of it.
pub(super) fn step(job: &Job<'_>) -> String {
    let secure = job
        .card
        .report
        .security
        .contains(&SecurityAttribute::SecureFw);
    match job.keeping {
        Keeping::In(_) if secure => {
            "make no backup of the old firmware: secure firmware lets no tool read the flash"
                .to_owned()
        }
        keeping => keeping.step(),
    }
}
