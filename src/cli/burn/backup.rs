//! The backup between the decision and the burn.

use super::super::keep::{self, Keeping, Kept};
use super::turn::Turn;
use crate::flash::Cancel;
use crate::flash::backup::BackupError;
use crate::plan::Method;
use crate::progress::Sink;
use crate::report::Outcome;

/// The way of burning in which firmware keeps the old image until the new one is verified. In any
/// other cxfw itself writes the flash, and does not if it could not even read it.
const SAFE_WITHOUT: Method = Method::Component;

/// Saves the card's flash. A card that lets no tool at its flash is burned all the same if that is
/// safe. A flash that fails to be read, and a folder that cannot take the file, are the end of the
/// burn, before anything is written.
pub(super) fn save(
    turn: &Turn<'_>,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Kept, Box<Outcome>> {
    let folder = match turn.job.keeping {
        Keeping::Nothing => return Ok(Kept::nothing("--no-backup")),
        Keeping::In(folder) => folder,
    };
    let card = (turn.device()?, &turn.lock);
    let saved = if turn.method == SAFE_WITHOUT {
        keep::save_where_it_can(card, folder, (cancel, sink))
    } else {
        keep::save(card, folder, (cancel, sink))
    };
    match saved {
        Ok(kept) => Ok(kept),
        Err(mut not_kept) => {
            let job = turn.job;
            if turn.method == SAFE_WITHOUT && is_of_card(&not_kept.error) {
                not_kept.advice = format!("{}; {BURN_WITHOUT}", not_kept.advice);
            }
            Err(Box::new(
                not_kept.outcome(&job.card.report.device, |ending, reason| {
                    job.outcome(ending, reason)
                }),
            ))
        }
    }
}

/// The user's way on with a flash that cannot be read, where firmware does the burn.
const BURN_WITHOUT: &str = "--no-backup burns all the same, without a way back";

fn is_of_card(error: &BackupError) -> bool {
    !error.is_of_file() && !error.is_interrupted() && !error.is_busy()
}
