//! The burn through the running firmware.

use super::turn::Turn;
use super::{Job, outcome};
use crate::card::{Card, CardReport};
use crate::flash::Cancel;
use crate::flash::component::{self, BurnError, BurnOptions, Fault, StagedUpdate};
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
        Err(error) => job.broken_off(Method::Component, error),
    }
}

/// What the burn would do; the outcome when it is refused.
pub(super) fn plan(turn: &Turn<'_>) -> Result<String, Box<Outcome>> {
    let plan = component::plan(turn.device()?, turn.job.image, &options(turn));
    plan.map(|plan| plan.to_string())
        .map_err(|error| Box::new(turn.job.broken_off(Method::Component, error)))
}

/// The outcome when the burn is refused before anything is sent.
pub(super) fn refused(turn: &Turn<'_>) -> Option<Box<Outcome>> {
    let device = turn.device().ok()?;
    let error = component::plan(device, turn.job.image, &options(turn)).err()?;
    let refused = matches!(error.fault, Fault::Refused(_));
    refused.then(|| Box::new(turn.job.broken_off(Method::Component, error)))
}

fn options<'l>(turn: &'l Turn<'_>) -> BurnOptions<'l> {
    BurnOptions {
        staged_update: staged_update(&turn.card.report),
        ..BurnOptions::under(&turn.lock)
    }
}

/// An update that waits for the restart is taken back first.
pub(in super::super) fn staged_update(card: &CardReport) -> StagedUpdate {
    let firmware = &card.firmware;
    if firmware.running.is_some() && firmware.stored != firmware.running {
        StagedUpdate::TakeBack
    } else {
        StagedUpdate::Leave
    }
}

/// The firmware says an update waits for the reset, and what is stored is what was wanted: that
/// very burn was done before, which only the firmware could tell.
fn is_already_staged(job: &Job<'_>, error: &BurnError, card: &Card) -> bool {
    let wanted = job.offers[job.offer].version();
    error.reason() == "pending_reset" && wanted.is_some() && card.report.firmware.stored == wanted
}
