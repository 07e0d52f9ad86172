//! The burn by writing the flash.

use super::turn::Turn;
use crate::flash::Cancel;
use crate::flash::direct::{self, BurnOptions, Choices, Fault, PsidChange};
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
        Err(error) => job.broken_off(Method::Direct, error),
    }
}

/// What the burn would do; the outcome when it is refused.
pub(super) fn plan(turn: &Turn<'_>) -> Result<String, Box<Outcome>> {
    let plan = direct::plan(turn.device()?, turn.job.image, &options(turn));
    plan.map(|plan| plan.to_string())
        .map_err(|error| Box::new(turn.job.broken_off(Method::Direct, error)))
}

/// The outcome when the burn is refused, whatever the flash holds. What was read of it may be wrong,
/// which the backup finds out.
pub(super) fn refused(turn: &Turn<'_>) -> Option<Box<Outcome>> {
    let device = turn.device().ok()?;
    let error = direct::plan(device, turn.job.image, &options(turn)).err()?;
    let refused = matches!(&error.fault, Fault::Refused(refusal) if !refusal.rests_on_contents());
    refused.then(|| Box::new(turn.job.broken_off(Method::Direct, error)))
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
