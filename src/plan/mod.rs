//! Cards x images -> decisions. Every policy rule lives here and nowhere else; no I/O.
//!
//! For each card [`plan`] finds the newest image for its PSID, checks that it can run on the chip
//! ([`fit`]), compares versions by number with what is on flash, and says what would be done and
//! why: [`Status`] is the standing, [`Action`] what an update does, [`Reason`] the sentence and
//! the advice. The rules are those of mft-compat 4 and burn 9, with its defects left out: the
//! newest image wins, a staged image is no candidate for a second burn, and nothing risky happens
//! without its own consent.

mod branch;
mod by_name;
mod compare;
#[cfg(test)]
pub(crate) mod examples;
mod fit;
mod method;
mod offer;
mod reason;
mod status;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod way_tests;

pub use branch::{Branch, NotABranch};
pub use method::Method;
pub use offer::{Facts, Listed, Offer, Provenance};
pub use reason::{Misfit, Reason};
pub use status::Status;

use crate::card::{CardError, CardReport};
use crate::identity::Psid;
use crate::model::{ChipKind, Model};
use crate::version::FwVersion;

/// What the offers are, which decides how loudly "not this one" is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aim {
    /// There are none: cards are only reported.
    #[default]
    Report,
    /// A collection; cards it has nothing for are left alone.
    Collection,
    /// A collection of which a part could not be read: that it has nothing for a card is not
    /// known.
    Part,
    /// Files that were named to be burned; what cannot be burned is a refusal.
    Files,
}

/// Consents to what is refused otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Consents {
    /// Burn the version that is on flash once more.
    pub reinstall: bool,
    /// Burn an older version.
    pub downgrade: bool,
    /// Burn an image for another board.
    pub psid_change: bool,
}

/// The user's wishes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// What the offers are.
    pub aim: Aim,
    /// The cards were named one by one, so leaving one alone is a refusal.
    pub named: bool,
    /// Consents given.
    pub consents: Consents,
    /// Addresses were given, which a card in recovery is to get by the burn.
    pub identity: bool,
    /// Only images of this release line.
    pub branch: Option<Branch>,
    /// Way of burning; `None`: the best for each card.
    pub method: Option<Method>,
    /// Release lines to stay on, by chip, where no line is asked for.
    pub lines: Vec<(&'static Model, Branch)>,
    /// Names of the lists of releases that were asked, where the offers are from such.
    pub searched: Vec<String>,
    /// Those of them that gave no answer, each with why.
    pub failures: Vec<String>,
    /// Boards of which a list that answered says what makes no sense, and what.
    pub unanswered: Vec<(Psid, String)>,
}

impl Policy {
    /// The same for a board of which a list says what makes no sense: the list gave no answer.
    fn without_answer(&self, psid: &Psid) -> Option<Self> {
        let of_board = self.unanswered.iter().filter(|(board, _)| board == psid);
        let failures: Vec<String> = of_board.map(|(_, why)| why.clone()).collect();
        (!failures.is_empty()).then(|| Self {
            aim: Aim::Part,
            failures,
            ..self.clone()
        })
    }

    /// The release line for this card: the one asked for, else that of its chip.
    #[must_use]
    pub fn line(&self, card: &CardReport) -> Option<&Branch> {
        if self.branch.is_some() {
            return self.branch.as_ref();
        }
        let model = card.model?;
        let of_chip = self
            .lines
            .iter()
            .find(|(chip, _)| chip.hw_id == model.hw_id);
        of_chip.map(|(_, line)| line)
    }

    /// How a card is passed over: a refusal when that very card was asked for.
    const fn pass(&self) -> Action {
        if self.named {
            Action::Refuse
        } else {
            Action::Skip
        }
    }
}

/// What an update does with a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Burn the offer.
    Burn,
    /// The wanted image is on flash; it only has to be activated.
    Activate,
    /// Nothing to do: what is on flash is what is wanted.
    Keep,
    /// Nothing can be done, and nobody asked for this card or image in particular.
    Skip,
    /// What was asked for is refused.
    Refuse,
}

/// What would be done with one card, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Standing of the card.
    pub status: Status,
    /// What an update does.
    pub action: Action,
    /// The image on offer for the card (index into the offers), burned or not.
    pub offer: Option<usize>,
    /// Other images for the card's board that were passed over.
    pub passed_over: Vec<usize>,
    /// The way of burning, where the card is burned.
    pub method: Option<Method>,
    /// Why.
    pub reason: Reason,
}

impl Decision {
    /// About the newest image of a choice.
    fn on(
        choice: &offer::Choice,
        status: Status,
        (action, method, reason): (Action, Option<Method>, Reason),
    ) -> Self {
        Self {
            status,
            action,
            offer: Some(choice.newest),
            passed_over: choice.others(),
            method,
            reason,
        }
    }

    fn without_offer(status: Status, action: Action, reason: Reason) -> Self {
        Self {
            status,
            action,
            offer: None,
            passed_over: Vec::new(),
            method: None,
            reason,
        }
    }
}

/// Decides on every card, in their order.
#[must_use]
pub fn plan(cards: &[CardReport], offers: &[Offer], policy: &Policy) -> Vec<Decision> {
    cards
        .iter()
        .map(|card| decide(card, offers, policy))
        .collect()
}

fn decide(card: &CardReport, offers: &[Offer], policy: &Policy) -> Decision {
    if card.recovery {
        return by_name::recovery(card, offers, policy);
    }
    let gone = card.error.as_ref().is_some_and(CardError::is_gone);
    if gone || (card.update_path.is_none() && card.error.is_some()) {
        return unreadable(card, policy, Reason::NoPsid);
    }
    let current = card.firmware.stored.or(card.firmware.running);
    let Some(psid) = &card.psid else {
        return unreadable(card, policy, Reason::NoPsid);
    };
    let Some(current) = current else {
        return unreadable(card, policy, Reason::UnknownVersion);
    };
    if policy.aim == Aim::Report {
        return report_only(card);
    }
    let without_answer = policy.without_answer(psid);
    let policy = without_answer.as_ref().unwrap_or(policy);
    let all = offer::for_board(offers, psid, policy.line(card));
    let (candidates, out_of_reach) = offer::reachable(offers, &all, current);
    if candidates.is_empty()
        && let Some(decision) = too_old(offers, &out_of_reach, policy)
    {
        return decision;
    }
    let decision = match fitting(card, offers, &candidates) {
        Ok(fitting) => match offer::choose(offers, &fitting) {
            Some(choice) => weigh(card, current, offers, &choice, policy),
            None if policy.consents.psid_change && policy.aim != Aim::Part => {
                by_name::another_board(card, (psid, current), offers, policy)
            }
            None => no_image(card, psid, offers, policy),
        },
        Err((newest, misfit)) => Decision {
            // A misfit has no standing of its own: there is no image this card could take.
            offer: Some(newest),
            ..Decision::without_offer(Status::NoImage, Action::Refuse, Reason::DoesNotFit(misfit))
        },
    };
    match (policy.aim, decision.action) {
        // What could not be read may hold something newer.
        (Aim::Part, Action::Keep) => not_known(policy),
        _ => decision,
    }
}

/// Of a card for which a source that gave no answer may have something.
fn not_known(policy: &Policy) -> Decision {
    let failures = policy.failures.clone();
    let reason = Reason::SourceFailed { failures };
    // Nothing was refused: it is a failure, and the source's.
    Decision::without_offer(Status::NotCompared, Action::Skip, reason)
}

/// A card that is too old for every image there is.
fn too_old(offers: &[Offer], out_of_reach: &[usize], policy: &Policy) -> Option<Decision> {
    let newest = offer::choose(offers, out_of_reach)?.newest;
    let (version, minimum) = (offers[newest].version()?, offers[newest].minimum()?);
    let reason = Reason::TooOld { version, minimum };
    Some(Decision {
        offer: Some(newest),
        ..Decision::without_offer(Status::NoImage, policy.pass(), reason)
    })
}

/// A card that could not be opened, does not say what it is, or contradicts its driver: whatever
/// went wrong, else the plain `fact`.
fn unreadable(card: &CardReport, policy: &Policy, fact: Reason) -> Decision {
    let reason = card
        .error
        .as_ref()
        .map_or(fact, |error| Reason::QueryFailed {
            message: error.message.clone(),
            advice: error.advice.clone(),
        });
    Decision::without_offer(Status::Failed, policy.pass(), reason)
}

fn report_only(card: &CardReport) -> Decision {
    match compare::staged(card) {
        Some(reason) => {
            Decision::without_offer(Status::ActivationPending, Action::Activate, reason)
        }
        None => Decision::without_offer(Status::NotCompared, Action::Skip, Reason::NoSource),
    }
}

/// The candidates that can run on the card. When there are candidates and none can: the newest,
/// and why it cannot.
fn fitting(
    card: &CardReport,
    offers: &[Offer],
    candidates: &[usize],
) -> Result<Vec<usize>, (usize, Misfit)> {
    let fitting: Vec<usize> = candidates
        .iter()
        .copied()
        .filter(|&index| fit::misfit(card, &offers[index]).is_none())
        .collect();
    if fitting.is_empty()
        && let Some(choice) = offer::choose(offers, candidates)
        && let Some(misfit) = fit::misfit(card, &offers[choice.newest])
    {
        return Err((choice.newest, misfit));
    }
    Ok(fitting)
}

fn no_image(card: &CardReport, psid: &Psid, offers: &[Offer], policy: &Policy) -> Decision {
    let off_branch = policy
        .line(card)
        .cloned()
        .filter(|_| offers.iter().any(|offer| offer.psid() == Some(psid)));
    let (status, reason) = match psid.brand() {
        Some(brand) if off_branch.is_none() => (
            Status::OemNoImage,
            Reason::OemNoImage {
                psid: psid.clone(),
                brand,
            },
        ),
        _ if off_branch.is_none() && !policy.searched.is_empty() => (
            Status::NoImage,
            Reason::NotListed {
                psid: psid.clone(),
                searched: policy.searched.clone(),
            },
        ),
        _ => (
            Status::NoImage,
            Reason::NoImage {
                psid: psid.clone(),
                branch: off_branch,
            },
        ),
    };
    if policy.aim == Aim::Part {
        return not_known(policy);
    }
    if let Some(reason) = compare::staged(card) {
        return Decision::without_offer(Status::ActivationPending, Action::Activate, reason);
    }
    Decision::without_offer(status, policy.pass(), reason)
}

/// Compares the chosen offer with what is on flash and applies the consents.
fn weigh(
    card: &CardReport,
    current: FwVersion,
    offers: &[Offer],
    choice: &offer::Choice,
    policy: &Policy,
) -> Decision {
    let offer = &offers[choice.newest];
    let (status, action, reason) = match offer.tag() {
        Some(tag) => compare::development(tag, policy),
        None => match offer.version() {
            Some(offered) => compare::releases(card, current, offered, policy),
            None => (Status::NoImage, Action::Refuse, Reason::NoVersion),
        },
    };
    let (action, method, reason) = match action {
        Action::Burn => match burnable(card, offers, choice, policy) {
            Ok(method) => (Action::Burn, Some(method), reason),
            Err((action, reason)) => (action, None, reason),
        },
        other => (other, None, reason),
    };
    Decision::on(choice, status, (action, method, reason))
}

/// The way of a burn that the versions call for, or what still stands against it.
fn burnable(
    card: &CardReport,
    offers: &[Offer],
    choice: &offer::Choice,
    policy: &Policy,
) -> Result<Method, (Action, Reason)> {
    let is_switch = card
        .model
        .is_some_and(|model| model.kind == ChipKind::Switch);
    if is_switch && !policy.named {
        return Err((Action::Skip, Reason::Switch));
    }
    let refused = |reason| (Action::Refuse, reason);
    if let Some(ambiguous) = compare::rivals(offers, choice) {
        return Err(refused(ambiguous));
    }
    let image = offers[choice.newest].image();
    method::choose(card, image, policy.method).map_err(refused)
}
