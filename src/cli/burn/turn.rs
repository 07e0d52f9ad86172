//! A card's turn: its lock is held, it was read again under it, and it is still to be burned.

use super::super::host::Host;
use super::super::settings::Settings;
use super::{Job, outcome};
use crate::access::Device;
use crate::card::Card;
use crate::flash::Cancel;
use crate::flash::lock::{CardLock, LockError};
use crate::plan::{Action, Method, plan};
use crate::progress::{Event, Sink};
use crate::report::Outcome;

/// A card that is to be burned now.
pub(super) struct Turn<'a> {
    pub(super) job: &'a Job<'a>,
    /// The card as it is now.
    pub(super) card: Card,
    /// Why it is burned.
    pub(super) reason: String,
    /// The way of burning.
    pub(super) method: Method,
    /// Held to the end of the burn.
    pub(super) lock: CardLock,
}

impl<'a> Turn<'a> {
    /// Waits for the card's lock, then reads the card and decides again; the outcome when the card
    /// is not to be burned any more.
    pub(super) fn wait(
        job: &'a Job<'a>,
        host: &Host,
        settings: &Settings,
        cancel: &Cancel,
        sink: &mut Sink<'_>,
    ) -> Result<Self, Box<Outcome>> {
        let lock = match wait_for_lock(job, host, settings, cancel, sink) {
            Ok(lock) => lock,
            Err(_) if cancel.requested() => return Err(Box::new(job.not_begun())),
            Err(error) => {
                let failed = job.failed(&error.to_string(), Some(error.advice()), "card_locked");
                return Err(Box::new(failed));
            }
        };
        let gone = || {
            let advice = "restart the machine (without power for a moment, if the card stays away), \
                          then run the update again";
            Box::new(job.failed("the card is gone", Some(advice.to_owned()), "gone"))
        };
        let card = host.read_again(job.card).ok_or_else(gone)?;
        if let Some(error) = card.report.error.as_ref().filter(|e| e.is_out_of_reach()) {
            return Err(Box::new(job.out_of_reach(error)));
        }
        let decision = plan(std::slice::from_ref(&card.report), job.offers, job.policy)
            .pop()
            .ok_or_else(gone)?;
        let still_due = decision.action == Action::Burn && decision.offer == Some(job.offer);
        let (true, Some(method)) = (still_due, decision.method) else {
            return Err(Box::new(outcome::settled(&decision, &card, job.offers)));
        };
        Ok(Self {
            job,
            card,
            reason: decision.reason.to_string(),
            method,
            lock,
        })
    }

    /// The way to the card's insides; where there is none, the outcome with what stood against it
    /// when the card was read.
    pub(super) fn device(&self) -> Result<&Device, Box<Outcome>> {
        let closed = || {
            let job = self.job;
            Box::new(match &self.card.report.error {
                Some(error) => job.out_of_reach(error),
                None => job.failed(
                    "there is no way into the card",
                    Some("query it, which says what stands against it".to_owned()),
                    "no_access",
                ),
            })
        };
        self.card.device.as_ref().ok_or_else(closed)
    }
}

/// The card's lock, held from the query before the burn to its end. Says whom it waits for, and
/// waits no longer when the user wants to stop.
fn wait_for_lock(
    job: &Job<'_>,
    host: &Host,
    settings: &Settings,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<CardLock, LockError> {
    let wait = settings.lock_wait;
    let mut told = false;
    CardLock::take_while(&host.roots, &job.lock_key(), wait, |holder| {
        if !std::mem::replace(&mut told, true) {
            let holder = holder.map_or_else(|| "another process".to_owned(), ToString::to_string);
            sink(Event::Note {
                text: format!(
                    "{}: waiting at most {} s for {holder}",
                    job.card.report.device,
                    wait.as_secs()
                ),
            });
        }
        !cancel.requested()
    })
}
