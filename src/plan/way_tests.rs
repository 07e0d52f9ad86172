//! The way of burning, case by case: through the firmware or directly, and cards that are burned
//! only when they and the image are named.

use super::examples::{card, info, offer};
use super::*;
use crate::card::UpdatePath;
use crate::image::SecurityAttribute;
use crate::model::{self, ImageFormat};

const BOARD: &str = "MT_2420110034";
const OTHER: &str = "MT_2420110004";
const LX: &str = "ConnectX-4 Lx";
const CX3: &str = "ConnectX-3";

fn asked(method: Option<Method>) -> Policy {
    Policy {
        aim: Aim::Files,
        named: true,
        method,
        ..Policy::default()
    }
}

fn consent_to_another_board() -> Policy {
    let mut policy = asked(None);
    policy.consents.psid_change = true;
    policy
}

fn one(card: &CardReport, offers: &[Offer], policy: &Policy) -> Decision {
    plan(std::slice::from_ref(card), offers, policy).remove(0)
}

/// The way of a burn, or the reason why there is none.
fn way(card: &CardReport, offer: &Offer, method: Option<Method>) -> Result<Method, String> {
    let decision = one(card, std::slice::from_ref(offer), &asked(method));
    match (decision.action, decision.method) {
        (Action::Burn, Some(method)) => Ok(method),
        (Action::Refuse, None) => {
            assert!(decision.reason.advice().is_some(), "{decision:?}");
            Err(decision.reason.to_string())
        }
        _ => panic!("{decision:?}"),
    }
}

/// A card whose firmware takes no images.
fn connectx_3() -> CardReport {
    let mut card = card(CX3, "MT_1170110023", "2.40.7000");
    card.update_path = Some(UpdatePath::Direct);
    card.firmware.running = None;
    card
}

/// A card in recovery, of whose board the flash says as much.
fn in_recovery(psid: Option<&str>) -> CardReport {
    let mut card = card(LX, BOARD, "14.25.1020");
    card.recovery = true;
    card.psid = psid.map(|psid| psid.parse().unwrap());
    card.firmware = crate::card::Firmware::default();
    card.update_path = Some(UpdatePath::Direct);
    card
}

#[test]
fn the_firmware_burns_where_it_can_and_the_flash_is_written_where_it_cannot() {
    let (lx, new) = (
        card(LX, BOARD, "14.25.1020"),
        offer(LX, BOARD, "14.32.1010"),
    );
    assert_eq!(way(&lx, &new, None), Ok(Method::Component));
    assert_eq!(
        way(&lx, &new, Some(Method::Component)),
        Ok(Method::Component)
    );
    assert_eq!(way(&lx, &new, Some(Method::Direct)), Ok(Method::Direct));

    let (cx3, new) = (connectx_3(), offer(CX3, "MT_1170110023", "2.42.5000"));
    assert_eq!(way(&cx3, &new, None), Ok(Method::Direct));
    assert_eq!(way(&cx3, &new, Some(Method::Direct)), Ok(Method::Direct));
    assert_eq!(
        way(&cx3, &new, Some(Method::Component)),
        Err("the card's firmware takes no updates by itself".to_owned())
    );
}

#[test]
fn an_image_without_digest_is_burned_directly_on_request() {
    let mut card = card(LX, BOARD, "14.25.1020");
    let mut plain = offer(LX, BOARD, "14.32.1010");
    info(&mut plain).security.firmware_controlled = false;
    let decision = one(&card, std::slice::from_ref(&plain), &asked(None));
    assert_eq!(decision.reason, Reason::NoDigest { direct: true });
    assert!(
        decision
            .reason
            .advice()
            .unwrap()
            .contains("--method direct")
    );
    assert_eq!(way(&card, &plain, Some(Method::Direct)), Ok(Method::Direct));

    // where that would not work it is not named
    card.security = vec![SecurityAttribute::SecureFw];
    info(&mut plain).security.attributes = vec![SecurityAttribute::SecureFw];
    let decision = one(&card, &[plain], &asked(None));
    assert_eq!(decision.reason, Reason::NoDigest { direct: false });
    assert!(!decision.reason.advice().unwrap().contains("direct"));
}

#[test]
fn secure_firmware_newer_generations_and_a_slot_that_runs_are_not_burned_directly() {
    let direct = Some(Method::Direct);
    let mut secure = card(LX, BOARD, "14.25.1020");
    secure.security = vec![SecurityAttribute::SecureFw];
    let mut signed = offer(LX, BOARD, "14.32.1010");
    info(&mut signed).security.attributes = vec![SecurityAttribute::SecureFw];
    assert_eq!(
        way(&secure, &signed, direct),
        Err("the card runs secure firmware, which lets no tool at its flash".to_owned())
    );
    assert_eq!(way(&secure, &signed, None), Ok(Method::Component));

    let fs5 = model::MODELS
        .iter()
        .find(|model| model.format == ImageFormat::Fs5);
    let name = fs5.unwrap().long_name;
    let major = fs5.unwrap().fw_major;
    let (old, new) = (format!("{major}.39.1002"), format!("{major}.43.1014"));
    let card5 = card(name, "MT_0000000834", &old);
    assert_eq!(
        way(&card5, &offer(name, "MT_0000000834", &new), direct),
        Err("firmware of this generation (FS5) is not burned directly".to_owned())
    );

    let mut staged = card(LX, BOARD, "14.25.1020");
    staged.firmware.stored = "14.28.2006".parse().ok();
    let new = offer(LX, BOARD, "14.32.1010");
    assert_eq!(
        way(&staged, &new, direct),
        Err(
            "14.28.2006 waits on flash for its activation, and a direct burn would go over \
             14.25.1020, which runs"
                .to_owned()
        )
    );
    assert_eq!(way(&staged, &new, None), Ok(Method::Component));
}

#[test]
fn another_board_takes_consent_a_named_card_and_one_named_image() {
    let card = card(LX, BOARD, "14.25.1020");
    let offers = [offer(LX, OTHER, "14.25.1020")];
    let decision = one(&card, &offers, &consent_to_another_board());
    assert_eq!(
        (decision.action, decision.method),
        (Action::Burn, Some(Method::Direct))
    );
    assert_eq!(
        decision.reason.to_string(),
        "the PSID changes from MT_2420110034 to MT_2420110004, as asked"
    );
    assert!(
        decision
            .reason
            .advice()
            .unwrap()
            .contains("without link or dead")
    );

    let without = one(&card, &offers, &asked(None));
    assert_eq!(without.action, Action::Refuse);
    assert_eq!(without.reason.to_string(), "no image is for MT_2420110034");

    let all_cards = Policy {
        named: false,
        ..consent_to_another_board()
    };
    let folder = Policy {
        aim: Aim::Collection,
        ..consent_to_another_board()
    };
    for policy in [all_cards, folder] {
        let decision = one(&card, &offers, &policy);
        assert_eq!(decision.action, Action::Refuse);
        let advice = decision.reason.advice().unwrap();
        assert!(advice.contains("-d DEV") && advice.contains("--image FILE"));
    }
}

#[test]
fn a_board_is_never_chosen_among_several() {
    let two = [
        offer(LX, OTHER, "14.32.1010"),
        offer(LX, "LNV2420110034", "14.32.1010"),
        offer("ConnectX-5", "MT_0000000010", "16.35.4506"),
    ];
    let live = card(LX, BOARD, "14.25.1020");
    let decision = one(&live, &two, &consent_to_another_board());
    assert_eq!(decision.action, Action::Refuse);
    assert_eq!(
        decision.reason.to_string(),
        "there are images for 2 boards of this chip (LNV2420110034 and MT_2420110004), and none of \
         them is chosen for you"
    );
    assert!(decision.reason.advice().unwrap().contains("cxfw extract"));
    let decision = one(&in_recovery(None), &two, &asked(None));
    assert_eq!(decision.status, Status::Recovery);
    assert!(matches!(decision.reason, Reason::SeveralBoards { .. }));
}

#[test]
fn another_board_is_no_way_around_the_other_refusals() {
    let mut live = card(LX, BOARD, "14.32.1010");
    let policy = consent_to_another_board();
    let older = [offer(LX, OTHER, "14.25.1020")];
    let reason = one(&live, &older, &policy).reason;
    assert!(matches!(reason, Reason::Older { .. }), "{reason}");

    let foreign = [offer("ConnectX-5", "MT_0000000010", "16.35.4506")];
    let reason = one(&live, &foreign, &policy).reason;
    assert!(matches!(reason, Reason::DoesNotFit(Misfit::Family { .. })));

    let new = [offer(LX, OTHER, "14.32.1010")];
    let by_firmware = Policy {
        method: Some(Method::Component),
        ..policy.clone()
    };
    assert_eq!(
        one(&live, &new, &by_firmware).reason.to_string(),
        "the image is for MT_2420110004, and the PSID cannot be changed through the running firmware"
    );
    live.security = vec![SecurityAttribute::SecureFw];
    let mut signed = offer(LX, OTHER, "14.32.1010");
    info(&mut signed).security.attributes = vec![SecurityAttribute::SecureFw];
    assert_eq!(
        one(&live, &[signed], &policy).reason,
        Reason::SecureFirmware
    );
}

#[test]
fn the_own_boards_image_is_burned_whatever_else_was_allowed() {
    let card = card(LX, BOARD, "14.25.1020");
    let offers = [
        offer(LX, OTHER, "14.32.1912"),
        offer(LX, BOARD, "14.32.1010"),
    ];
    let decision = one(&card, &offers, &consent_to_another_board());
    assert_eq!(decision.offer, Some(1));
    assert_eq!(decision.method, Some(Method::Component));
}

#[test]
fn the_brands_of_a_change_of_board_are_named() {
    let mut card = connectx_3();
    card.psid = "HP_0280210019".parse().ok();
    let offers = [offer(CX3, "MT_1170110023", "2.42.5000")];
    assert_eq!(
        one(&card, &offers, &consent_to_another_board())
            .reason
            .to_string(),
        "the PSID changes from HP_0280210019 (HPE) to MT_1170110023, as asked"
    );
}

#[test]
fn a_card_in_recovery_is_listed_and_never_updated_by_itself() {
    let card = in_recovery(None);
    let offers = [offer(LX, BOARD, "14.32.1010")];
    let unnamed = Policy {
        named: false,
        ..asked(None)
    };
    let decision = one(&card, &offers, &unnamed);
    assert_eq!(
        (decision.status, decision.action),
        (Status::Recovery, Action::Skip)
    );
    let advice = decision.reason.advice().unwrap();
    assert!(
        advice.contains(&format!("`cxfw update -d {} --image FILE`", card.device))
            && advice.contains("--guid and --mac")
            && advice.contains("off and on"),
        "{advice}"
    );
    let folder = Policy {
        aim: Aim::Collection,
        ..asked(None)
    };
    assert_eq!(one(&card, &offers, &folder).action, Action::Refuse);
}

#[test]
fn a_named_card_in_recovery_takes_the_named_image_directly() {
    let offers = [offer(LX, BOARD, "14.32.1010")];
    for psid in [None, Some(BOARD)] {
        let decision = one(&in_recovery(psid), &offers, &asked(None));
        assert_eq!(
            (decision.status, decision.action, decision.method),
            (Status::Recovery, Action::Burn, Some(Method::Direct))
        );
        assert_eq!(
            decision.reason.to_string(),
            "no firmware runs; 14.32.1010 for MT_2420110034 is written to the flash"
        );
    }
    let by_firmware = asked(Some(Method::Component));
    assert_eq!(
        one(&in_recovery(None), &offers, &by_firmware).reason,
        Reason::NotFirmwareControlled
    );
    let other_chip = [offer("ConnectX-5", "MT_0000000010", "16.35.4506")];
    assert!(matches!(
        one(&in_recovery(None), &other_chip, &asked(None)).reason,
        Reason::DoesNotFit(_)
    ));
}

#[test]
fn a_board_that_the_flash_still_tells_chooses_the_image() {
    let offers = [
        offer(LX, OTHER, "14.32.1912"),
        offer(LX, BOARD, "14.32.1010"),
    ];
    let card = in_recovery(Some(BOARD));
    assert_eq!(one(&card, &offers, &asked(None)).offer, Some(1));
    let decision = one(&card, &offers[..1], &asked(None));
    assert_eq!(
        (decision.status, decision.action),
        (Status::Recovery, Action::Refuse)
    );
    let decision = one(&card, &offers[..1], &consent_to_another_board());
    assert_eq!(decision.action, Action::Burn);
    assert!(matches!(decision.reason, Reason::PsidChange { .. }));
}
