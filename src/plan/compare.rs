//! What is on flash against what is on offer (mft-compat 4.4 and 4.5).
//!
//! The version on flash decides, not the running one: an image that waits for its activation is
//! not burned a second time.

use super::offer::{Choice, Offer};
use super::{Action, Aim, Policy, Reason, Status};
use crate::card::CardReport;
use crate::version::FwVersion;

/// What is on flash and not running, if so. A card whose running firmware cannot be asked tells
/// nothing about activation.
pub(super) fn staged(card: &CardReport) -> Option<Reason> {
    let (stored, running) = (card.firmware.stored?, card.firmware.running?);
    (stored != running).then_some(Reason::Staged { stored, running })
}

/// A development build is another branch: it always counts as an update (mft-compat 4.4), but is
/// burned only when its file was named.
pub(super) fn development(tag: &str, policy: &Policy) -> (Status, Action, Reason) {
    let action = match policy.aim {
        Aim::Files => Action::Burn,
        Aim::Collection | Aim::Part | Aim::Report => Action::Skip,
    };
    let reason = Reason::Development {
        tag: tag.to_owned(),
    };
    (Status::UpdateRequired, action, reason)
}

/// Two releases: newer is burned; equal or older only by consent.
pub(super) fn releases(
    card: &CardReport,
    current: FwVersion,
    offered: FwVersion,
    policy: &Policy,
) -> (Status, Action, Reason) {
    let consents = policy.consents;
    let pending = staged(card);
    if offered > current {
        let reason = Reason::Newer {
            from: current,
            to: offered,
        };
        return (Status::UpdateRequired, Action::Burn, reason);
    }
    let standing = |settled| match pending {
        Some(_) => Status::ActivationPending,
        None => settled,
    };
    if offered < current {
        let status = standing(Status::NewerThanSource);
        if consents.downgrade {
            let reason = Reason::Downgrade {
                from: current,
                to: offered,
            };
            return (status, Action::Burn, reason);
        }
        let older = Reason::Older {
            stored: current,
            offered,
        };
        return match (policy.aim, pending) {
            (Aim::Files, _) => (status, Action::Refuse, older),
            (_, Some(pending)) => (status, Action::Activate, pending),
            (_, None) => (status, Action::Keep, older),
        };
    }
    let status = standing(Status::UpToDate);
    if consents.reinstall {
        let reason = Reason::Reinstall { version: current };
        return (status, Action::Burn, reason);
    }
    match pending {
        Some(pending) => (status, Action::Activate, pending),
        None => (status, Action::Keep, Reason::Same { version: current }),
    }
}

/// Other contents under the version of the choice: nobody can say which is meant.
pub(super) fn rivals(offers: &[Offer], choice: &Choice) -> Option<Reason> {
    let version = offers[choice.newest].version()?;
    if choice.rivals.is_empty() {
        return None;
    }
    let places = std::iter::once(&choice.newest)
        .chain(&choice.rivals)
        .map(|&index| offers[index].place())
        .collect();
    Some(Reason::Ambiguous { version, places })
}
