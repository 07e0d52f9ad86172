//! Cards to which no image is matched by its PSID: they say none, or an image for another board is
//! wanted. Card and image have to be named, and the image has to be the only one that fits the chip
//! by board: nothing is chosen for the user here.

use super::offer::{self, Offer};
use super::reason::Reason;
use super::{Action, Aim, Decision, Policy, Status, compare, fitting, method};
use crate::card::CardReport;
use crate::identity::Psid;
use crate::version::FwVersion;

/// Card and image were named.
const fn is_named(policy: &Policy) -> bool {
    policy.named && matches!(policy.aim, Aim::Files)
}

/// A card in recovery. The PSID that can still be read from its flash counts.
pub(super) fn recovery(card: &CardReport, offers: &[Offer], policy: &Policy) -> Decision {
    let passed = |reason| Decision::without_offer(Status::Recovery, policy.pass(), reason);
    // what is on flash starts as soon as it may, unless the card has lost who it is
    let waits = !policy.consents.reinstall && !policy.identity && card.says_who_it_is();
    let on_flash = card.firmware.stored.filter(|_| waits);
    if !is_named(policy) {
        if let Some(version) = on_flash {
            return written(None, version, card);
        }
        let device = card.device.clone();
        return passed(Reason::Recovery { device });
    }
    let own = |psid| offer::for_board(offers, psid, policy.line(card));
    let candidates = match &card.psid {
        Some(psid) if !policy.consents.psid_change || !own(psid).is_empty() => own(psid),
        _ => (0..offers.len()).collect(),
    };
    match sole(card, offers, &candidates) {
        Ok(Some(choice)) => {
            let (new, version) = (
                offers[choice.newest].psid(),
                offers[choice.newest].version(),
            );
            if let Some(stored) = on_flash
                && version == Some(stored)
                && new == card.psid.as_ref()
            {
                return written(Some(choice.newest), stored, card);
            }
            let reason = match (&card.psid, new, version) {
                (_, None, _) | (_, _, None) => Err(Reason::NoVersion),
                (Some(old), Some(new), _) if old != new => Ok(changed(old, new)),
                (_, Some(psid), Some(version)) => Ok(Reason::Revived {
                    psid: psid.clone(),
                    version,
                }),
            };
            settle(Status::Recovery, card, offers, &choice, (policy, reason))
        }
        Ok(None) => passed(match &card.psid {
            Some(psid) => Reason::NoImage {
                psid: psid.clone(),
                branch: policy.line(card).cloned(),
            },
            None => Reason::NoneFits,
        }),
        Err(refused) => Decision {
            status: Status::Recovery,
            ..refused
        },
    }
}

/// The flash holds an image that waits for a cold boot, as after a burn.
fn written(offer: Option<usize>, version: FwVersion, card: &CardReport) -> Decision {
    let device = card.device.clone();
    let reason = Reason::Written { version, device };
    Decision {
        offer,
        ..Decision::without_offer(Status::ActivationPending, Action::Activate, reason)
    }
}

/// A card whose board was allowed to change, and for whose own board there is no image.
pub(super) fn another_board(
    card: &CardReport,
    (psid, current): (&Psid, FwVersion),
    offers: &[Offer],
    policy: &Policy,
) -> Decision {
    let refused = |reason| Decision::without_offer(Status::NoImage, Action::Refuse, reason);
    let candidates: Vec<usize> = (0..offers.len()).collect();
    let choice = match sole(card, offers, &candidates) {
        Ok(Some(choice)) => choice,
        Ok(None) => return refused(Reason::PsidChangeUnnamed { psid: psid.clone() }),
        // A card that was not named is simply none of those that were meant.
        Err(_) if !policy.named => {
            let psid = psid.clone();
            let none = Reason::NoImage { psid, branch: None };
            return Decision::without_offer(Status::NoImage, Action::Skip, none);
        }
        Err(refused) => return refused,
    };
    if !is_named(policy) {
        return refused(Reason::PsidChangeUnnamed { psid: psid.clone() });
    }
    let new = &offers[choice.newest];
    let reason = match (new.psid(), new.version()) {
        (Some(_), Some(offered)) if offered < current && !policy.consents.downgrade => {
            let stored = current;
            Err(Reason::Older { stored, offered })
        }
        (Some(new), Some(_)) if policy.method == Some(method::Method::Component) => {
            Err(Reason::PsidChangeByFirmware { psid: new.clone() })
        }
        (Some(new), Some(_)) => Ok(changed(psid, new)),
        _ => Err(Reason::NoVersion),
    };
    settle(
        Status::UpdateRequired,
        card,
        offers,
        &choice,
        (policy, reason),
    )
}

fn changed(from: &Psid, to: &Psid) -> Reason {
    Reason::PsidChange {
        from: from.clone(),
        to: to.clone(),
    }
}

/// The newest image for the only board whose images fit the chip.
fn sole(
    card: &CardReport,
    offers: &[Offer],
    candidates: &[usize],
) -> Result<Option<offer::Choice>, Decision> {
    let refused = |offer, reason| Decision {
        offer,
        ..Decision::without_offer(Status::NoImage, Action::Refuse, reason)
    };
    let fitting = fitting(card, offers, candidates)
        .map_err(|(newest, misfit)| refused(Some(newest), Reason::DoesNotFit(misfit)))?;
    let mut boards: Vec<&Psid> = fitting
        .iter()
        .filter_map(|&index| offers[index].psid())
        .collect();
    boards.sort_unstable();
    boards.dedup();
    if boards.len() > 1 {
        let boards = boards.into_iter().cloned().collect();
        return Err(refused(None, Reason::SeveralBoards { boards }));
    }
    Ok(offer::choose(offers, &fitting))
}

/// Burns the choice directly, unless something stands against that.
fn settle(
    status: Status,
    card: &CardReport,
    offers: &[Offer],
    choice: &offer::Choice,
    (policy, reason): (&Policy, Result<Reason, Reason>),
) -> Decision {
    let image = offers[choice.newest].image();
    let way = match policy.method {
        Some(method::Method::Component) => Err(Reason::NotFirmwareControlled),
        _ => method::obstacle(card, image).map_or(Ok(method::Method::Direct), Err),
    };
    let (action, method, reason) = match (reason, way, compare::rivals(offers, choice)) {
        (Err(reason), ..) | (_, Err(reason), _) | (_, _, Some(reason)) => {
            (Action::Refuse, None, reason)
        }
        (Ok(reason), Ok(method), None) => (Action::Burn, Some(method), reason),
    };
    Decision::on(choice, status, (action, method, reason))
}
