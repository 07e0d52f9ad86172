//! The burn of one card, under its lock: read again, decide again, burn, and say how it ended.
//!
//! Between the plan and the burn another process may have been at the card; what is decided under
//! the lock counts.

use super::host::Host;
use super::settings::Settings;
use crate::card::{BootImage, Card};
use crate::flash::activation::what_activates;
use crate::flash::component::{self, BurnError, BurnOptions, BusyHandle, StagedUpdate};
use crate::flash::lock::{self, CardLock, LockError};
use crate::flash::{Activation, Cancel};
use crate::plan::{Action, Decision, Offer, Policy, Status, plan};
use crate::progress::{Event, Sink};
use crate::report::{Ending, Outcome};

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
    /// Way of burning, as `method` tells it.
    pub method: &'static str,
    /// When somebody else has the card's update handle.
    pub busy_handle: BusyHandle,
}

/// Burns one card.
pub(super) fn burn(
    job: &Job<'_>,
    host: &Host,
    settings: &Settings,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Outcome {
    let lock = match wait_for_lock(job, host, settings, cancel, sink) {
        Ok(lock) => lock,
        Err(_) if cancel.requested() => return job.not_begun(),
        Err(error) => return job.failed(&error.to_string(), Some(error.advice()), "card_locked"),
    };
    let Some(card) = host.read_again(job.card) else {
        return job.failed("the card is gone", None, "gone");
    };
    let decision = plan(std::slice::from_ref(&card.report), job.offers, job.policy).pop();
    match decision {
        Some(decision) if decision.action == Action::Burn && decision.offer == Some(job.offer) => {}
        Some(decision) => return settled(&decision, &card, job.offers),
        None => return job.failed("the card is gone", None, "gone"),
    }
    let Some(device) = &card.device else {
        return job.failed("the card cannot be opened", None, "no_access");
    };
    let options = job.options(&lock, &card);
    match component::burn(device, job.image, &options, cancel, sink) {
        Ok(burned) => Outcome {
            activation: Some(job.activation(burned.activation)),
            took: Some(burned.elapsed),
            method: Some(job.method),
            ..job.outcome(Ending::Burned, job.reason(&card))
        },
        Err(error) if job.is_already_staged(&error, &card) => Outcome {
            activation: Some(activation_of_staged(&card)),
            ..job.outcome(
                Ending::AlreadyStaged,
                format!(
                    "{} was burned before and waits for the restart",
                    job.version_text()
                ),
            )
        },
        Err(error) => job.broken_off(&error),
    }
}

/// What burning one card would do, step by step; nothing is written.
pub(super) fn rehearse(job: &Job<'_>, host: &Host, settings: &Settings) -> Outcome {
    let lock = match CardLock::take(&host.roots, &job.lock_key(), settings.lock_wait) {
        Ok(lock) => lock,
        Err(error) => return job.failed(&error.to_string(), Some(error.advice()), "card_locked"),
    };
    let Some(device) = &job.card.device else {
        return job.failed("the card cannot be opened", None, "no_access");
    };
    match component::plan(device, job.image, &job.options(&lock, job.card)) {
        Ok(plan) => Outcome {
            method: Some(job.method),
            steps: plan.to_string().lines().map(str::to_owned).collect(),
            ..job.outcome(
                Ending::Skipped,
                format!("dry run; {}", job.reason(job.card)),
            )
        },
        Err(error) => job.broken_off(&error),
    }
}

/// The outcome of a card that is not burned.
pub(super) fn settled(decision: &Decision, card: &Card, offers: &[Offer]) -> Outcome {
    let ending = match (decision.action, decision.status) {
        (_, Status::Failed) => Ending::Failed,
        (Action::Activate, _) => Ending::AlreadyStaged,
        (Action::Keep, _) => Ending::AlreadyCurrent,
        (Action::Refuse, _) => Ending::Refused,
        (Action::Skip | Action::Burn, _) => Ending::Skipped,
    };
    let activation = (ending == Ending::AlreadyStaged).then(|| activation_of_staged(card));
    Outcome {
        from: card.report.firmware.stored,
        to: decision
            .offer
            .and_then(|index| offers.get(index)?.version()),
        activation,
        ..Outcome::without_burn(
            ending,
            decision.reason.to_string(),
            decision.reason.advice(),
        )
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

/// What makes a staged image run, as the card tells; a restart of the machine does it for every
/// card, and an older version than the running one needs a cold boot.
fn activation_of_staged(card: &Card) -> Activation {
    let firmware = &card.report.firmware;
    if firmware.stored < firmware.running {
        return Activation::ColdBoot;
    }
    let told = || {
        let registers = card.device.as_ref()?.registers()?;
        let boot_image = BootImage::find(registers).ok()??;
        what_activates(registers, boot_image).ok()
    };
    told().unwrap_or(Activation::Reboot)
}

impl Job<'_> {
    /// The card's lock; jobs that share one are never done at the same time.
    pub(super) fn lock_key(&self) -> String {
        let report = &self.card.report;
        lock::key(report.serial.as_deref(), &report.device)
    }

    /// The outcome when the user said no.
    pub(super) fn declined(&self) -> Outcome {
        self.outcome(Ending::Skipped, "declined".to_owned())
    }

    /// The outcome when the run was stopped before this card's turn.
    pub(super) fn not_begun(&self) -> Outcome {
        self.outcome(
            Ending::Interrupted,
            "stopped before its turn; nothing was written".to_owned(),
        )
    }

    fn options<'l>(&self, lock: &'l CardLock, card: &Card) -> BurnOptions<'l> {
        let firmware = &card.report.firmware;
        let staged = firmware.running.is_some() && firmware.stored != firmware.running;
        BurnOptions {
            busy_handle: self.busy_handle,
            staged_update: if staged {
                StagedUpdate::TakeBack
            } else {
                StagedUpdate::Leave
            },
            ..BurnOptions::under(lock)
        }
    }

    fn reason(&self, card: &Card) -> String {
        plan(std::slice::from_ref(&card.report), self.offers, self.policy)
            .pop()
            .map(|decision| decision.reason.to_string())
            .unwrap_or_default()
    }

    fn is_downgrade(&self) -> bool {
        let stored = self.card.report.firmware.stored;
        stored.is_some_and(|stored| self.offers[self.offer].version() < Some(stored))
    }

    /// An older version runs only after a cold boot.
    fn activation(&self, told: Activation) -> Activation {
        if self.is_downgrade() {
            Activation::ColdBoot
        } else {
            told
        }
    }

    fn outcome(&self, ending: Ending, reason: String) -> Outcome {
        Outcome {
            from: self.card.report.firmware.stored,
            to: self.offers[self.offer].version(),
            ..Outcome::without_burn(ending, reason, None)
        }
    }

    /// The outcome when the burn itself broke down.
    pub(super) fn broken_down(&self) -> Outcome {
        self.failed(
            "the burn broke down",
            Some(
                "query the card, then run the update again; this is a defect of cxfw: please report \
                 it with the output of -vv"
                    .to_owned(),
            ),
            "internal",
        )
    }

    fn failed(&self, reason: &str, advice: Option<String>, code: &str) -> Outcome {
        Outcome {
            advice,
            code: Some(code.to_owned()),
            ..self.outcome(Ending::Failed, reason.to_owned())
        }
    }

    /// The firmware says an update waits for the reset, and what is stored is what was wanted:
    /// that very burn was done before, which only the firmware could tell.
    fn is_already_staged(&self, error: &BurnError, card: &Card) -> bool {
        let wanted = self.offers[self.offer].version();
        error.reason() == "pending_reset"
            && wanted.is_some()
            && card.report.firmware.stored == wanted
    }

    fn version_text(&self) -> String {
        self.offers[self.offer]
            .version()
            .map_or_else(|| "the image".to_owned(), |version| version.to_string())
    }

    fn broken_off(&self, error: &BurnError) -> Outcome {
        let ending = if error.is_interrupted() {
            Ending::Interrupted
        } else if error.is_refusal() {
            Ending::Refused
        } else {
            Ending::Failed
        };
        Outcome {
            method: Some(self.method),
            code: Some(error.reason().to_owned()),
            state: Some(error.state()),
            advice: Some(error.advice()),
            ..self.outcome(ending, error.to_string())
        }
    }
}
