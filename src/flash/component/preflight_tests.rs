//! Which images may go on which cards, with images of the lab's builder.

use super::preflight::{Refusal, Target, preflight};
use crate::card::BootImage;
use crate::identity::Psid;
use crate::image::{self, HwId, SecurityAttribute};
use crate::lab::build::{ImageSpec, Security, build_image};
use crate::model;
use crate::registers::mcqi::Capabilities;
use crate::registers::mcqs::UpdateState;
use crate::registers::mlock::LockState;
use crate::version::FwVersion;

const CONNECTX_4_LX: u16 = 0x20b;

fn spec() -> ImageSpec {
    ImageSpec::new(
        model::by_hw_id(CONNECTX_4_LX).unwrap(),
        Psid::new("MT_2420110034").unwrap(),
        FwVersion::new(14, 32, 1010),
    )
}

/// A card the image of [`spec`] is made for.
pub(super) fn card() -> Target {
    let stored = Some(FwVersion::new(14, 25, 1020));
    Target {
        hw_id: HwId {
            id: CONNECTX_4_LX,
            revision: 0,
        },
        model: model::by_hw_id(CONNECTX_4_LX).unwrap(),
        psid: Psid::new("MT_2420110034"),
        running: stored,
        uptime: 3600,
        stored,
        security: Vec::new(),
        encrypted: Some(false),
        secure_host: LockState::Unlocked,
        can_reactivate: true,
        boot_image: BootImage {
            index: 3,
            update_state: UpdateState::Idle,
        },
        capabilities: Capabilities {
            max_component_size: 0x80_0000,
            mcda_max_write_size: 128,
            log_mcda_word_size: 2,
            ..Capabilities::default()
        },
    }
}

fn refused(image: &[u8], card: &Target) -> Refusal {
    preflight(image, card).expect_err("refused")
}

#[test]
fn an_image_for_the_board_is_planned_with_what_the_card_takes() {
    let image = build_image(&spec()).unwrap();
    let cleared = preflight(&image, &card()).unwrap();
    assert_eq!(cleared.component, image::component(&image).unwrap());
    let plan = cleared.plan;
    assert_eq!(plan.to, FwVersion::new(14, 32, 1010));
    assert_eq!(plan.stored, Some(FwVersion::new(14, 25, 1020)));
    assert_eq!((plan.component_index, plan.block, plan.word), (3, 128, 4));
    assert_eq!(usize::try_from(plan.size).unwrap(), cleared.component.len());
}

#[test]
fn one_flipped_bit_anywhere_in_a_section_is_found_before_anything_is_sent() {
    let image = build_image(&spec()).unwrap();
    let layout = image::layout(&image, 0).unwrap();
    for section in layout.image_sections() {
        let mut damaged = image.clone();
        let middle = usize::try_from(section.address + section.size / 2).unwrap();
        damaged[middle] ^= 0x10;
        let refusal = refused(&damaged, &card());
        assert_eq!(
            refusal.reason(),
            "image_invalid",
            "{}: {refusal}",
            section.name
        );
    }
    assert_eq!(refused(&image[..0x1000], &card()).reason(), "image_invalid");
    assert_eq!(refused(b"no image", &card()).reason(), "image_invalid");
}

#[test]
fn another_board_chip_or_revision_is_refused_by_name() {
    let other_board = ImageSpec {
        psid: Psid::new("MT_2420110035").unwrap(),
        ..spec()
    };
    assert_eq!(
        refused(&build_image(&other_board).unwrap(), &card()).to_string(),
        "PSID mismatch. Device PSID (MT_2420110034) differs from image PSID (MT_2420110035)."
    );

    let connectx_4 = ImageSpec {
        model: model::by_hw_id(0x209).unwrap(),
        ..spec()
    };
    let refusal = refused(&build_image(&connectx_4).unwrap(), &card());
    assert_eq!(refusal.reason(), "chip_mismatch");

    let connectx_5 = ImageSpec::new(
        model::by_hw_id(0x20d).unwrap(),
        spec().psid,
        FwVersion::new(16, 35, 4506),
    );
    assert_eq!(
        refused(&build_image(&connectx_5).unwrap(), &card()).to_string(),
        "the image is FS4, but ConnectX-4 Lx boots FS3"
    );

    let later_chip = Target {
        hw_id: HwId {
            id: CONNECTX_4_LX,
            revision: 1,
        },
        ..card()
    };
    assert_eq!(
        refused(&build_image(&spec()).unwrap(), &later_chip).to_string(),
        "the image is not for this chip: hardware id 0x20b revision 0x01 is not in its list \
         (0x20b revision 0x00)"
    );
}

#[test]
fn a_card_without_psid_gets_no_image() {
    let nameless = Target {
        psid: None,
        ..card()
    };
    let image = build_image(&spec()).unwrap();
    assert_eq!(refused(&image, &nameless).reason(), "no_psid");
}

#[test]
fn signatures_the_card_insists_on_are_looked_for() {
    let with = |security| build_image(&ImageSpec { security, ..spec() }).unwrap();
    let running = |attribute| Target {
        security: vec![attribute],
        ..card()
    };
    let secure = running(SecurityAttribute::SecureFw);
    let signed = running(SecurityAttribute::SignedFw);
    assert_eq!(
        refused(&with(Security::LegacyOnly), &card()).reason(),
        "no_digest"
    );
    assert_eq!(
        refused(&with(Security::Unsigned), &signed).reason(),
        "unsigned"
    );
    assert_eq!(
        refused(&with(Security::Signed), &secure).to_string(),
        "The component is not signed: the card runs secure-fw firmware, the image is signed-fw"
    );
    preflight(&with(Security::Secure), &secure).unwrap();
    preflight(&with(Security::Secure), &signed).unwrap();
    preflight(&with(Security::Signed), &signed).unwrap();
}

#[test]
fn what_the_card_cannot_take_is_refused_before_it_is_begun() {
    let image = build_image(&spec()).unwrap();
    let change = |change: fn(&mut Target)| {
        let mut card = card();
        change(&mut card);
        refused(&image, &card).reason()
    };
    assert_eq!(
        change(|card| card.capabilities.max_component_size = 0x1000),
        "too_large"
    );
    assert_eq!(
        change(|card| card.capabilities.log_mcda_word_size = 9),
        "transfer_size"
    );
    assert_eq!(
        change(|card| card.secure_host = LockState::FirmwareUpdateLocked),
        "secure_host"
    );
    assert_eq!(
        change(|card| card.encrypted = Some(true)),
        "encryption_mismatch"
    );
}
