//! What the firmware does not take, and how it says so.

use super::updater::{BAD_PARAMETER, NOT_AVAILABLE, Update};
use super::*;
use crate::registers::mcc::{ControlState, ErrorCode, Instruction};
use crate::registers::mcqs::UpdateState;
use crate::registers::{Mcc, Mcqs};

#[test]
fn every_reason_to_refuse_an_image_has_its_code() {
    let new = || image_spec(CONNECTX_4_LX, "14.32.1010");
    let code = |component: &[u8]| {
        let card = connectx_4_lx();
        let code = Update::locked(&card).verify(component);
        let update = Update::locked_again(&card);
        let refused = update.tell(Instruction::Activate, 0).unwrap();
        assert_eq!(
            refused.error_code,
            ErrorCode::General,
            "nothing to activate"
        );
        assert_eq!(card.reboot().version, [14, 25, 1020]);
        code
    };
    let mut flipped = component(&new());
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    assert_eq!(code(&flipped), ErrorCode::BadFormat);

    let whole = component(&new());
    assert_eq!(code(&whole[..whole.len() / 2]), ErrorCode::BadFormat);
    assert_eq!(code(&[0x55; 0x1000]), ErrorCode::BadFormat);

    let mut other_board = new();
    other_board.psid = Psid::new("MT_0000000001").unwrap();
    assert_eq!(code(&component(&other_board)), ErrorCode::NotApplicable);

    let other_chip = image_spec(0x209, "12.28.2006");
    assert_eq!(code(&component(&other_chip)), ErrorCode::NotApplicable);

    let mut other_slots = new();
    other_slots.slot_log2 = 21;
    assert_eq!(code(&component(&other_slots)), ErrorCode::BadFormat);
}

#[test]
fn a_secure_card_refuses_what_is_not_secure() {
    for (security, code) in [
        (Security::Unsigned, ErrorCode::Unsigned),
        (Security::Signed, ErrorCode::NotSecuredFirmware),
        (Security::Secure, ErrorCode::Ok),
    ] {
        let mut image = image_spec(CONNECTX_6_DX, "22.36.1010");
        image.security = security;
        let card = connectx_6_dx();
        assert_eq!(Update::locked(&card).verify(&component(&image)), code);
    }
}

#[test]
fn firmware_can_forbid_old_versions() {
    let mut spec = chip_spec(CONNECTX_4_LX);
    spec.oldest_version = Some([14, 25, 1000]);
    let card = Card::with(spec, &image_spec(CONNECTX_4_LX, "14.25.1020"));
    let update = Update::locked(&card);
    let old = component(&image_spec(CONNECTX_4_LX, "14.24.9999"));
    assert_eq!(update.verify(&old), ErrorCode::ForbiddenVersion);
    let allowed = component(&image_spec(CONNECTX_4_LX, "14.25.1000"));
    assert_eq!(update.verify(&allowed), ErrorCode::Ok);
}

#[test]
fn a_second_update_waits_for_a_reset() {
    let card = connectx_4_lx();
    let image = component(&image_spec(CONNECTX_4_LX, "14.32.1010"));
    Update::locked(&card).burn(&image);
    let update = Update::locked(&card);
    let size = u32::try_from(image.len()).unwrap();
    let mcc = update.tell(Instruction::UpdateComponent, size).unwrap();
    assert_eq!(mcc.error_code, ErrorCode::PendingReset);
    assert_eq!(mcc.control_state, ControlState::Locked);
    let mcqs = update.client.ask(&Mcqs::default()).unwrap();
    assert_eq!(mcqs.component_update_state, UpdateState::ActivePendingReset);
    card.reboot();
    Update::locked(&card).burn(&image);
}

#[test]
fn sizes_and_components_are_checked_before_anything_is_erased() {
    let card = connectx_4_lx();
    let update = Update::locked(&card);
    let begin = |size| {
        update
            .tell(Instruction::UpdateComponent, size)
            .unwrap()
            .error_code
    };
    assert_eq!(begin(0), ErrorCode::BadFormat);
    assert_eq!(begin(0x1001), ErrorCode::BadFormat);
    assert_eq!(begin(card.running().room + 4), ErrorCode::NoPlace);
    let token = Mcc {
        instruction: Instruction::UpdateComponent,
        component_index: 1,
        update_handle: update.handle,
        component_size: 0x1000,
        ..Mcc::default()
    };
    let mcc = update.instruct(&token).unwrap();
    assert_eq!(mcc.error_code, ErrorCode::NotApplicable);
    assert_eq!(card.chip.counters().flash_erases, 0);
    begin(card.running().room);
    let erased = u64::from(card.running().room) / 0x1_0000;
    assert_eq!(u64::from(card.chip.counters().flash_erases), erased);
    assert_eq!(card.reboot().version, [14, 25, 1020]);
}

#[test]
fn an_instruction_in_the_wrong_state_changes_nothing() {
    let card = connectx_4_lx();
    let update = Update::locked(&card);
    for instruction in [
        Instruction::VerifyComponent,
        Instruction::Activate,
        Instruction::ActivateComponent,
        Instruction::DownstreamDeviceTransfer,
        Instruction::Other(0x55),
    ] {
        let mcc = update.tell(instruction, 0).unwrap();
        assert_eq!(mcc.error_code, ErrorCode::General, "{instruction}");
        assert_eq!(mcc.control_state, ControlState::Locked);
    }
    update.begin(0x1000);
    let again = update.tell(Instruction::UpdateComponent, 0x1000).unwrap();
    assert_eq!(again.error_code, ErrorCode::General);
    assert_eq!(again.control_state, ControlState::Download);
    let ok = update.tell(Instruction::CheckUpdateHandle, 0).unwrap();
    assert_eq!(ok.error_code, ErrorCode::Ok);
}

#[test]
fn pieces_must_fit_the_component_and_the_moment() {
    let card = connectx_4_lx();
    let update = Update::locked(&card);
    assert_eq!(update.write(0, &[0; 4]), Err(NOT_AVAILABLE));
    update.begin(0x100);
    for (offset, length) in [(0, 0), (0, 132), (0, 6), (2, 4), (0x100, 4), (0xfc, 8)] {
        let refused = update.write(offset, &vec![0; length]);
        assert_eq!(refused, Err(BAD_PARAMETER), "{offset:#x} {length}");
    }
    assert!(update.write(0xfc, &[1, 2, 3, 4]).is_ok());
    assert_eq!(card.chip.read_flash(0x80_00fc, 4).unwrap(), [1, 2, 3, 4]);
}
