//! The burn by writing the flash.

use super::turn::Turn;
use crate::flash::Cancel;
use crate::flash::direct::{self, BurnOptions, Choices, PsidChange};
use crate::plan::Method;
use crate::progress::Sink;
use crate::report::{Ending, Outcome};

/// Burns the card and says how it ended.
pub(super) fn burn(turn: &Turn<'_>, cancel: &Cancel, sink: &mut Sink<'_>) -> Outcome {
    let job = turn.job;
    let device = match turn.device() {
        Ok(device) => device,
        Err(ended) => return *ended,
    };
    match direct::burn(device, job.image, &options(turn), cancel, sink) {
        Ok(burned) => Outcome {
            from: burned.from,
            activation: Some(job.activation(burned.activation)),
            took: Some(burned.elapsed),
            method: Some(Method::Direct.word()),
            ..job.outcome(Ending::Burned, turn.reason.clone())
        },
        Err(error) => job.broken_off(Method::Direct, &error),
    }
}

/// What the burn would do.
pub(super) fn rehearse(turn: &Turn<'_>) -> Outcome {
    let device = match turn.device() {
        Ok(device) => device,
        Err(ended) => return *ended,
    };
    match direct::plan(device, turn.job.image, &options(turn)) {
        Ok(plan) => turn.rehearsed(&plan),
        Err(error) => turn.job.broken_off(Method::Direct, &error),
    }
}

fn options<'l>(turn: &'l Turn<'_>) -> BurnOptions<'l> {
    let psid_change = if turn.job.policy.consents.psid_change {
        PsidChange::Allow
    } else {
        PsidChange::Refuse
    };
    BurnOptions {
        choices: Choices {
            psid_change,
            identity: turn.job.identity,
        },
        ..BurnOptions::under(&turn.lock)
    }
}
