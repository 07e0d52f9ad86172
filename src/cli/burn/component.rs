//! The burn through the running firmware.

use super::turn::Turn;
use super::{Job, outcome};
use crate::card::Card;
use crate::flash::Cancel;
use crate::flash::component::{self, BurnError, BurnOptions, StagedUpdate};
use crate::plan::Method;
use crate::progress::Sink;
use crate::report::{Ending, Outcome};

/// Burns the card and says how it ended.
pub(super) fn burn(turn: &Turn<'_>, cancel: &Cancel, sink: &mut Sink<'_>) -> Outcome {
    let (job, card) = (turn.job, &turn.card);
    let device = match turn.device() {
        Ok(device) => device,
        Err(ended) => return *ended,
    };
    match component::burn(device, job.image, &options(turn), cancel, sink) {
        Ok(burned) => Outcome {
            activation: Some(job.activation(burned.activation)),
            took: Some(burned.elapsed),
            method: Some(Method::Component.word()),
            ..job.outcome(Ending::Burned, turn.reason.clone())
        },
        Err(error) if is_already_staged(job, &error, card) => Outcome {
            activation: Some(outcome::activation_of_staged(card)),
            ..job.outcome(
                Ending::AlreadyStaged,
                format!(
                    "{} was burned before and waits for the restart",
                    job.version_text()
                ),
            )
        },
        Err(error) => job.broken_off(Method::Component, &error),
    }
}

/// What the burn would do.
pub(super) fn rehearse(turn: &Turn<'_>) -> Outcome {
    let device = match turn.device() {
        Ok(device) => device,
        Err(ended) => return *ended,
    };
    match component::plan(device, turn.job.image, &options(turn)) {
        Ok(plan) => turn.rehearsed(&plan),
        Err(error) => turn.job.broken_off(Method::Component, &error),
    }
}

fn options<'l>(turn: &'l Turn<'_>) -> BurnOptions<'l> {
    let firmware = &turn.card.report.firmware;
    let staged = firmware.running.is_some() && firmware.stored != firmware.running;
    BurnOptions {
        staged_update: if staged {
            StagedUpdate::TakeBack
        } else {
            StagedUpdate::Leave
        },
        ..BurnOptions::under(&turn.lock)
    }
}

/// The firmware says an update waits for the reset, and what is stored is what was wanted: that
/// very burn was done before, which only the firmware could tell.
fn is_already_staged(job: &Job<'_>, error: &BurnError, card: &Card) -> bool {
    let wanted = job.offers[job.offer].version();
    error.reason() == "pending_reset" && wanted.is_some() && card.report.firmware.stored == wanted
}
