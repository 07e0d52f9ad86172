//! How a card's burn ended, in the words of the report.

use std::fmt::{Debug, Display};

use super::Job;
use super::turn::Turn;
use crate::card::{BootImage, Card, CardError, CardReport, UpdatePath, advice_for};
use crate::flash::activation::what_activates;
use crate::flash::{Activation, BrokenOff, BurnFault};
use crate::plan::{Action, Decision, Method, Offer, Status};
use crate::report::{Ending, Outcome};

/// The outcome of a card that is not burned.
pub(in super::super) fn settled(decision: &Decision, card: &Card, offers: &[Offer]) -> Outcome {
    let ending = match (decision.action, decision.status) {
        (_, Status::Failed) => Ending::Failed,
        (Action::Activate, _) => Ending::AlreadyStaged,
        (Action::Keep, _) => Ending::AlreadyCurrent,
        (Action::Refuse, _) => Ending::Refused,
        (Action::Skip | Action::Burn, _) => Ending::Skipped,
    };
    // A card that could not be read was not written either.
    let unread = card.report.error.as_ref();
    let unread = unread.filter(|_| ending == Ending::Failed);
    let activation = (ending == Ending::AlreadyStaged).then(|| activation_of_staged(card));
    Outcome {
        from: card.report.firmware.stored,
        to: decision
            .offer
            .and_then(|index| offers.get(index)?.version()),
        activation,
        code: unread.map(|error| error.code.to_owned()),
        state: unread.map(|_| NOTHING_WRITTEN.to_owned()),
        ..Outcome::without_burn(
            ending,
            decision.reason.to_string(),
            decision.reason.advice(),
        )
    }
}

/// What makes a staged image run, as the card tells; a restart of the machine does it for every
/// card, and an older version than the running one needs a cold boot.
pub(super) fn activation_of_staged(card: &Card) -> Activation {
    let firmware = &card.report.firmware;
    if card.report.recovery || firmware.stored < firmware.running {
        return Activation::ColdBoot;
    }
    let told = || {
        let registers = card.device.as_ref()?.registers()?;
        let boot_image = BootImage::find(registers).ok()??;
        what_activates(registers, boot_image).ok()
    };
    told().unwrap_or(Activation::Reboot)
}

/// The state of a card whose burn did not begin.
const NOTHING_WRITTEN: &str = "nothing was written to the card";

/// What is said instead of another way of burning where a card has none.
const NO_OTHER_WAY: &str = "the card takes images in this way only: take another image of this board \
     from its vendor";

/// Advice about this card: with its name, and no way of burning that it does not have.
fn advice_on(card: &CardReport, advice: &str) -> String {
    let by_firmware = card.update_path == Some(UpdatePath::Component);
    if !by_firmware && advice.contains("--method component") {
        return NO_OTHER_WAY.to_owned();
    }
    advice_for(&card.device, advice)
}

impl Turn<'_> {
    /// The outcome of a dry run.
    pub(super) fn rehearsed(&self, plan: &str) -> Outcome {
        let backup = self.job.keeping.step(&self.card);
        let burn = plan.lines().map(str::to_owned);
        Outcome {
            method: Some(self.method.word()),
            steps: std::iter::once(backup).chain(burn).collect(),
            ..self
                .job
                .outcome(Ending::Skipped, format!("dry run; {}", self.reason))
        }
    }
}

impl Job<'_> {
    /// The outcome when the user said no.
    pub(in super::super) fn declined(&self) -> Outcome {
        self.outcome(Ending::Skipped, "declined".to_owned())
    }

    /// The outcome when the run was stopped before this card's turn.
    pub(in super::super) fn not_begun(&self) -> Outcome {
        self.outcome(
            Ending::Interrupted,
            "stopped before its turn; nothing was written".to_owned(),
        )
    }

    /// The outcome of a card that cannot be reached any more when its turn has come.
    pub(super) fn out_of_reach(&self, error: &CardError) -> Outcome {
        Outcome {
            state: Some(NOTHING_WRITTEN.to_owned()),
            ..self.failed(&error.message, error.advice.clone(), error.code)
        }
    }

    /// The outcome when the burn itself broke down.
    pub(in super::super) fn broken_down(&self) -> Outcome {
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

    pub(super) fn outcome(&self, ending: Ending, reason: String) -> Outcome {
        Outcome {
            from: self.card.report.firmware.stored,
            to: self.offers[self.offer].version(),
            ..Outcome::without_burn(ending, reason, None)
        }
    }

    pub(super) fn failed(&self, reason: &str, advice: Option<String>, code: &str) -> Outcome {
        Outcome {
            advice,
            code: Some(code.to_owned()),
            ..self.outcome(Ending::Failed, reason.to_owned())
        }
    }

    pub(super) fn broken_off<F: BurnFault, S: Debug + Display>(
        &self,
        method: Method,
        error: BrokenOff<F, S>,
    ) -> Outcome {
        let report = &self.card.report;
        let error = error.knowing(report.recovery, report.firmware.stored);
        let ending = Ending::broken_off(&error);
        Outcome {
            method: Some(method.word()),
            code: Some(error.reason().to_owned()),
            state: Some(error.state()),
            advice: Some(advice_on(report, &error.advice())),
            ..self.outcome(ending, error.to_string())
        }
    }

    /// What makes the burned image run: an older version runs only after a cold boot.
    pub(super) fn activation(&self, told: Activation) -> Activation {
        let stored = self.card.report.firmware.stored;
        if stored.is_some_and(|stored| self.offers[self.offer].version() < Some(stored)) {
            Activation::ColdBoot
        } else {
            told
        }
    }

    pub(super) fn version_text(&self) -> String {
        self.offers[self.offer]
            .version()
            .map_or_else(|| "the image".to_owned(), |version| version.to_string())
    }
}
