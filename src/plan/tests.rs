//! The policy, case by case: which card, which images, what is decided.

use super::examples::{card, info, listed, offer};
use super::*;
use crate::card::CardError;
use crate::image::SecurityAttribute;

const BOARD: &str = "MT_2420110034";
const LX: &str = "ConnectX-4 Lx";

fn version(text: &str) -> FwVersion {
    text.parse().unwrap()
}

fn collection() -> Policy {
    Policy {
        aim: Aim::Collection,
        ..Policy::default()
    }
}

fn files() -> Policy {
    Policy {
        aim: Aim::Files,
        ..Policy::default()
    }
}

fn one(card: &CardReport, offers: &[Offer], policy: &Policy) -> Decision {
    plan(std::slice::from_ref(card), offers, policy).remove(0)
}

fn verdict(card: &CardReport, offers: &[Offer], policy: &Policy) -> (Status, Action, String) {
    let decision = one(card, offers, policy);
    (
        decision.status,
        decision.action,
        decision.reason.to_string(),
    )
}

#[test]
fn of_four_releases_of_one_line_the_highest_number_wins() {
    let card = card(LX, BOARD, "14.32.566");
    let offers = ["14.32.1908", "14.32.1912", "14.32.1010", "14.32.1900"]
        .map(|version| offer(LX, BOARD, version));
    let decision = one(&card, &offers, &collection());
    assert_eq!(decision.offer, Some(1));
    assert_eq!(decision.passed_over, [0, 2, 3]);
    assert_eq!(decision.action, Action::Burn);
    assert_eq!(
        decision.reason.to_string(),
        "14.32.1912 is newer than 14.32.0566"
    );
}

#[test]
fn only_the_whole_psid_matches() {
    let card = card(LX, BOARD, "14.25.1020");
    for other in [
        "MT_242011003",
        "MT_24201100341",
        "mt_2420110034",
        "MT_2420110035",
    ] {
        let offers = [offer(LX, other, "14.32.1010")];
        assert_eq!(
            verdict(&card, &offers, &collection()),
            (
                Status::NoImage,
                Action::Skip,
                format!("no image is for {BOARD}")
            ),
        );
    }
}

#[test]
fn the_version_on_flash_running_means_nothing_to_do() {
    let card = card(LX, BOARD, "14.32.1010");
    let offers = [offer(LX, BOARD, "14.32.1010")];
    let decision = one(&card, &offers, &files());
    assert_eq!(
        (decision.status, decision.action),
        (Status::UpToDate, Action::Keep)
    );
    assert_eq!(
        decision.reason.advice().unwrap(),
        "--reinstall burns the same version once more"
    );
}

#[test]
fn reinstall_burns_the_same_version_and_says_that_it_was_asked_for() {
    let card = card(LX, BOARD, "14.32.1010");
    let offers = [offer(LX, BOARD, "14.32.1010")];
    let mut policy = collection();
    policy.consents.reinstall = true;
    assert_eq!(
        verdict(&card, &offers, &policy),
        (
            Status::UpToDate,
            Action::Burn,
            "14.32.1010 is burned once more, as asked".to_owned()
        ),
    );
}

#[test]
fn a_staged_image_is_activated_and_not_burned_again() {
    let mut card = card(LX, BOARD, "14.25.1020");
    card.firmware.stored = Some(version("14.32.1010"));
    let offers = [offer(LX, BOARD, "14.32.1010")];
    for policy in [collection(), files(), Policy::default()] {
        assert_eq!(
            verdict(&card, &offers, &policy),
            (
                Status::ActivationPending,
                Action::Activate,
                "14.32.1010 is already on flash, 14.25.1020 still runs: activation pending"
                    .to_owned(),
            ),
        );
    }
}

#[test]
fn a_card_whose_running_version_is_unknown_has_nothing_pending() {
    let mut card = card("ConnectX-3", "MT_1170110023", "2.42.5000");
    card.firmware.running = None;
    let offers = [offer("ConnectX-3", "MT_1170110023", "2.42.5000")];
    assert_eq!(one(&card, &offers, &collection()).status, Status::UpToDate);
}

#[test]
fn an_older_collection_is_left_alone_and_an_older_file_is_refused() {
    let card = card(LX, BOARD, "14.32.1912");
    let offers = [offer(LX, BOARD, "14.32.1010")];
    let reason = "14.32.1912 on flash is newer than 14.32.1010 on offer".to_owned();
    assert_eq!(
        verdict(&card, &offers, &collection()),
        (Status::NewerThanSource, Action::Keep, reason.clone()),
    );
    assert_eq!(
        verdict(&card, &offers, &files()),
        (Status::NewerThanSource, Action::Refuse, reason),
    );
    let mut policy = files();
    policy.consents.downgrade = true;
    let decision = one(&card, &offers, &policy);
    assert_eq!(decision.action, Action::Burn);
    assert!(decision.reason.advice().unwrap().contains("off and on"));
}

#[test]
fn consent_to_reinstall_is_no_consent_to_downgrade() {
    let card = card(LX, BOARD, "14.32.1912");
    let offers = [offer(LX, BOARD, "14.32.1010")];
    let mut policy = files();
    policy.consents.reinstall = true;
    assert_eq!(one(&card, &offers, &policy).action, Action::Refuse);
}

#[test]
fn equal_files_count_once_and_other_contents_of_one_version_are_named() {
    let card = card(LX, BOARD, "14.25.1020");
    let mut twin = offer(LX, BOARD, "14.32.1010");
    twin.file = "copy.bin".into();
    let offers = [offer(LX, BOARD, "14.32.1010"), twin.clone()];
    let decision = one(&card, &offers, &collection());
    assert_eq!((decision.action, decision.offer), (Action::Burn, Some(0)));
    assert!(decision.passed_over.is_empty());

    twin.digest = Some([1; 32]);
    let offers = [offer(LX, BOARD, "14.32.1010"), twin];
    assert_eq!(
        verdict(&card, &offers, &collection()),
        (
            Status::UpdateRequired,
            Action::Refuse,
            "fw-14.32.1010.bin and copy.bin hold different images of version 14.32.1010".to_owned(),
        ),
    );
}

#[test]
fn an_ambiguity_about_the_version_on_flash_hurts_nobody() {
    let card = card(LX, BOARD, "14.32.1010");
    let mut twin = offer(LX, BOARD, "14.32.1010");
    twin.digest = Some([1; 32]);
    let offers = [offer(LX, BOARD, "14.32.1010"), twin];
    assert_eq!(one(&card, &offers, &collection()).action, Action::Keep);
}

#[test]
fn a_branch_keeps_the_card_on_its_line() {
    let card = card("ConnectX-7", "MT_0000000834", "28.39.1002");
    let offers = ["28.43.2566", "28.39.5124", "28.39.2048"]
        .map(|version| offer("ConnectX-7", "MT_0000000834", version));
    let mut policy = collection();
    policy.branch = Some("28.39.*".parse().unwrap());
    let decision = one(&card, &offers, &policy);
    assert_eq!((decision.action, decision.offer), (Action::Burn, Some(1)));

    policy.branch = Some("28.42.".parse().unwrap());
    assert_eq!(
        verdict(&card, &offers, &policy),
        (
            Status::NoImage,
            Action::Skip,
            "no image for MT_0000000834 is on 28.42.*".to_owned()
        ),
    );
}

#[test]
fn a_version_of_another_chip_family_is_refused() {
    let card = card("ConnectX-6 Dx", "MT_0000000359", "22.32.1010");
    let offers = [offer("ConnectX-6 Dx", "MT_0000000359", "28.39.5124")];
    assert_eq!(
        verdict(&card, &offers, &collection()),
        (
            Status::NoImage,
            Action::Refuse,
            "the image is version 28.39.5124, but firmware of a ConnectX-6 Dx starts with 22."
                .to_owned(),
        ),
    );
}

#[test]
fn an_image_must_list_the_chip_and_its_revision() {
    let mut card = card(LX, BOARD, "14.25.1020");
    let mut foreign = offer(LX, BOARD, "14.32.1010");
    info(&mut foreign).hw_ids[0].id = 0x209;
    assert_eq!(
        one(&card, &[foreign], &collection()).reason.to_string(),
        "the image does not list the ConnectX-4 Lx (hardware id 0x20b)"
    );
    card.hw_id.as_mut().unwrap().revision = 1;
    assert_eq!(
        one(&card, &[offer(LX, BOARD, "14.32.1010")], &collection())
            .reason
            .to_string(),
        "the chip is revision 0x1, the image is for 0x0"
    );
}

#[test]
fn an_image_that_does_not_fit_gives_way_to_an_older_one_that_does() {
    let mut card = card("ConnectX-6 Dx", "MT_0000000359", "22.32.1010");
    card.security = vec![SecurityAttribute::SecureFw];
    let mut signed = offer("ConnectX-6 Dx", "MT_0000000359", "22.32.2004");
    info(&mut signed).security.attributes = vec![SecurityAttribute::SecureFw];
    let unsigned = offer("ConnectX-6 Dx", "MT_0000000359", "22.36.1010");
    let decision = one(&card, &[unsigned.clone(), signed], &collection());
    assert_eq!((decision.action, decision.offer), (Action::Burn, Some(1)));

    let decision = one(&card, &[unsigned], &collection());
    assert_eq!(decision.action, Action::Refuse);
    assert_eq!(decision.reason, Reason::DoesNotFit(Misfit::Unsigned));
    assert!(decision.reason.advice().unwrap().contains("signed"));
}

#[test]
fn an_oem_card_without_image_is_managed_by_its_brand_and_no_failure() {
    let card = card("ConnectX-3", "HP_1380110017", "2.40.5030");
    assert_eq!(
        verdict(&card, &[], &collection()),
        (
            Status::OemNoImage,
            Action::Skip,
            "no image is for HP_1380110017, a card managed by HPE: updates come from HPE"
                .to_owned(),
        ),
    );
    let offers = [offer("ConnectX-3", "HP_1380110017", "2.42.5044")];
    assert_eq!(
        one(&card, &offers, &collection()).status,
        Status::UpdateRequired
    );
}

#[test]
fn a_failed_card_takes_nothing_from_its_neighbours() {
    let healthy = card(LX, BOARD, "14.25.1020");
    let mut failed = card(LX, BOARD, "14.25.1020");
    failed.psid = None;
    failed.firmware = crate::card::Firmware::default();
    failed.error = Some(CardError {
        code: "lockdown",
        message: "config cannot be written (kernel lockdown: integrity)".to_owned(),
        advice: Some("switch Secure Boot off".to_owned()),
    });
    let offers = [offer(LX, BOARD, "14.32.1010")];
    let decisions = plan(&[healthy, failed], &offers, &collection());
    assert_eq!(decisions[0].action, Action::Burn);
    assert_eq!(
        (decisions[1].status, decisions[1].action),
        (Status::Failed, Action::Skip)
    );
    assert_eq!(
        decisions[1].reason.advice().as_deref(),
        Some("switch Secure Boot off")
    );
}

#[test]
fn a_card_whose_psid_is_in_doubt_is_not_burned() {
    let mut card = card(LX, BOARD, "14.25.1020");
    card.update_path = None;
    card.error = Some(CardError {
        code: "psid_conflict",
        message: "the card says one PSID, the driver another".to_owned(),
        advice: None,
    });
    let offers = [offer(LX, BOARD, "14.32.1010")];
    assert_eq!(
        verdict(&card, &offers, &collection()),
        (
            Status::Failed,
            Action::Skip,
            "the card says one PSID, the driver another".to_owned(),
        ),
    );
}

#[test]
fn a_switch_is_updated_only_when_named() {
    let card = card("Spectrum", "MT_2750110033", "13.2000.1000");
    let offers = [offer("Spectrum", "MT_2750110033", "13.2008.1310")];
    assert_eq!(one(&card, &offers, &collection()).action, Action::Skip);
    let named = Policy {
        named: true,
        ..collection()
    };
    assert_eq!(one(&card, &offers, &named).action, Action::Burn);
}

#[test]
fn a_development_build_is_burned_only_when_its_file_is_named() {
    let card = card(LX, BOARD, "14.32.1010");
    let mut build = offer(LX, BOARD, "14.33.900");
    info(&mut build).branch = Some("roce-0007".to_owned());
    assert_eq!(
        one(&card, std::slice::from_ref(&build), &collection()).action,
        Action::Skip
    );
    assert_eq!(
        one(&card, std::slice::from_ref(&build), &files()).action,
        Action::Burn
    );
    let release = offer(LX, BOARD, "14.32.1912");
    assert_eq!(one(&card, &[build, release], &files()).offer, Some(1));
}

#[test]
fn without_a_source_cards_are_only_reported() {
    let card = card(LX, BOARD, "14.25.1020");
    assert_eq!(
        verdict(&card, &[], &Policy::default()),
        (
            Status::NotCompared,
            Action::Skip,
            "nothing was given to compare with".to_owned()
        ),
    );
}

#[test]
fn the_release_line_of_the_chip_holds_where_no_line_is_asked_for() {
    let card = card("ConnectX-7", "MT_0000000834", "28.39.1002");
    let offers =
        ["28.43.2566", "28.39.5124"].map(|version| offer("ConnectX-7", "MT_0000000834", version));
    let mut policy = collection();
    policy.lines = vec![(card.model.unwrap(), "28.39.*".parse().unwrap())];
    assert_eq!(one(&card, &offers, &policy).offer, Some(1));
    policy.branch = Some("28.43.*".parse().unwrap());
    assert_eq!(one(&card, &offers, &policy).offer, Some(0));
    policy.branch = None;
    policy.lines[0].0 = self::card(LX, BOARD, "14.32.1010").model.unwrap();
    assert_eq!(one(&card, &offers, &policy).offer, Some(0));
}

#[test]
fn a_release_that_is_only_listed_is_compared_by_its_version() {
    let card = card(LX, BOARD, "14.32.1010");
    let decide = |version| one(&card, &[listed(BOARD, version, None)], &collection());
    assert_eq!(decide("14.32.1900").action, Action::Burn);
    assert_eq!(decide("14.32.1010").status, Status::UpToDate);
    assert_eq!(decide("14.31.1014").status, Status::NewerThanSource);
    assert!(matches!(
        decide("28.39.5124").reason,
        Reason::DoesNotFit(Misfit::Family { .. })
    ));
    assert_eq!(decide("pre-release").reason, Reason::NoVersion);
}

#[test]
fn a_card_that_is_too_old_takes_the_step_in_between() {
    let card = card(LX, BOARD, "14.25.1020");
    let goal = listed(BOARD, "14.32.1900", Some("14.28.2006"));
    let offers = [
        goal.clone(),
        listed(BOARD, "14.28.2006", None),
        listed(BOARD, "14.27.1016", None),
    ];
    assert_eq!(one(&card, &offers, &collection()).offer, Some(1));
    let stepped = self::card(LX, BOARD, "14.28.2006");
    assert_eq!(one(&stepped, &offers, &collection()).offer, Some(0));
    assert_eq!(
        verdict(&card, &[goal], &collection()),
        (
            Status::NoImage,
            Action::Skip,
            "14.32.1900 needs 14.28.2006 on the card first, and no step in between is on offer"
                .to_owned()
        )
    );
}

#[test]
fn a_source_that_could_not_be_read_is_never_taken_for_one_without_images() {
    let card = card(LX, BOARD, "14.32.1010");
    let policy = Policy {
        aim: Aim::Part,
        ..Policy::default()
    };
    let decision = one(&card, &[], &policy);
    assert_eq!(
        (decision.status, decision.reason),
        (
            Status::NotCompared,
            Reason::SourceFailed {
                failures: Vec::new()
            }
        )
    );
    for version in ["14.32.1010", "14.31.1014"] {
        let decision = one(&card, &[listed(BOARD, version, None)], &policy);
        assert_eq!(decision.status, Status::NotCompared, "{version}");
        assert_eq!(decision.action, Action::Skip);
    }
    let newer = [listed(BOARD, "14.32.1900", None)];
    assert_eq!(one(&card, &newer, &policy).action, Action::Burn);
}

#[test]
fn of_equal_versions_the_first_source_is_taken_and_only_its_own_contradict_each_other() {
    let card = card(LX, BOARD, "14.31.1014");
    let from = |name: &str, digest| {
        let mut offer = listed(BOARD, "14.32.1010", None);
        offer.digest = Some([digest; 32]);
        offer.provenance.get_or_insert_default().name = name.to_owned();
        offer
    };
    let offers = [from("site", 1), from("online", 2)];
    let decision = one(&card, &offers, &collection());
    assert_eq!(
        (decision.action, decision.offer, decision.passed_over),
        (Action::Burn, Some(0), vec![1])
    );
    let decision = one(&card, &[from("site", 1), from("site", 2)], &collection());
    assert!(
        matches!(decision.reason, Reason::Ambiguous { .. }),
        "{decision:?}"
    );
}

#[test]
fn a_board_that_no_list_has_is_told_with_where_was_looked() {
    let policy = Policy {
        searched: vec!["site".to_owned(), "online".to_owned()],
        ..collection()
    };
    let decision = one(&card(LX, BOARD, "14.32.1010"), &[], &policy);
    assert_eq!(
        (decision.status, decision.reason.to_string().as_str()),
        (
            Status::NoImage,
            "MT_2420110034 is not listed: looked at site and online"
        )
    );
}
