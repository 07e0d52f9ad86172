//! The burn of one card, under its lock: read again, decide again, burn, and say how it ended.
//!
//! Between the plan and the burn another process may have been at the card; what is decided under
//! the lock counts ([`turn`]). Each way of burning has its own file; [`outcome`] says how it ended.

mod backup;
mod component;
mod direct;
mod outcome;
mod turn;

use super::host::Host;
use super::keep::{self, Keeping};
use super::settings::Settings;
use crate::card::Card;
use crate::flash::Cancel;
use crate::flash::direct::RecoveryIdentity;
use crate::flash::lock;
use crate::plan::{Method, Offer, Policy};
use crate::progress::Sink;
use crate::report::Outcome;

pub(super) use component::staged_update;
pub(super) use outcome::settled;
use turn::Turn;

/// What a card is to be burned with.
pub(super) struct Job<'a> {
    /// The card, as it was when the plan was made.
    pub card: &'a Card,
    /// Everything on offer.
    pub offers: &'a [Offer],
    /// Which of it.
    pub offer: usize,
    /// Its bytes.
    pub image: &'a [u8],
    /// The user's wishes.
    pub policy: &'a Policy,
    /// Who the card is, should its flash not say.
    pub identity: Option<RecoveryIdentity>,
    /// The backup before the burn.
    pub keeping: &'a Keeping,
}

/// Burns one card.
pub(super) fn burn(
    job: &Job<'_>,
    host: &Host,
    settings: &Settings,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Outcome {
    let turn = match Turn::wait(job, host, settings, cancel, sink) {
        Ok(turn) => turn,
        Err(ended) => return *ended,
    };
    // a refusal that can be known comes before a backup that nobody needs
    if *job.keeping != Keeping::Nothing
        && let Some(refused) = turn.refused()
    {
        return *refused;
    }
    let kept = match backup::save(&turn, cancel, sink) {
        Ok(kept) => kept,
        Err(ended) => return *ended,
    };
    let outcome = match turn.method {
        Method::Component => component::burn(&turn, cancel, sink),
        Method::Direct => direct::burn(&turn, cancel, sink),
    };
    keep::told(outcome, kept, settings, &job.card.report.device)
}

/// What burning one card would do, step by step; nothing is written.
pub(super) fn rehearse(job: &Job<'_>, host: &Host, settings: &Settings) -> Outcome {
    let turn = match Turn::wait(job, host, settings, &Cancel::new(), &mut |_| {}) {
        Ok(turn) => turn,
        Err(ended) => return *ended,
    };
    match turn.plan() {
        Ok(steps) => turn.rehearsed(&steps),
        Err(ended) => *ended,
    }
}

impl Turn<'_> {
    /// What the burn would do, a line a step; the outcome when it is refused.
    fn plan(&self) -> Result<String, Box<Outcome>> {
        match self.method {
            Method::Component => component::plan(self),
            Method::Direct => direct::plan(self),
        }
    }

    /// The outcome when the burn is known to be refused.
    fn refused(&self) -> Option<Box<Outcome>> {
        match self.method {
            Method::Component => component::refused(self),
            Method::Direct => direct::refused(self),
        }
    }
}

impl Job<'_> {
    /// The card's lock; jobs that share one are never done at the same time.
    pub(super) fn lock_key(&self) -> String {
        let report = &self.card.report;
        lock::key(report.serial.as_deref(), &report.device)
    }
}
