use super::updater::{BAD_PARAMETER, NOT_AVAILABLE, Update};
use super::*;
use crate::lab::chip::cells::Cell;
use crate::registers::mcc::{ControlState, ErrorCode, Instruction};
use crate::registers::mcqi::{Info, InfoType};
use crate::registers::mcqs::{Owner, UpdateState};
use crate::registers::{Mcda, Mcqi, Mcqs};

fn pending_version(client: &Client, component_index: u16) -> String {
    let request = Mcqi {
        read_pending_component: true,
        ..Mcqi::request(component_index, InfoType::Version)
    };
    match client.ask(&request).unwrap().info() {
        Some(Info::Version(version)) => version.fw_version().unwrap().to_string(),
        other => panic!("no version: {other:?}"),
    }
}

/// Burns `newer` in both directions and looks what runs in between.
fn updates_both_ways(card: &Card, old: &str, images: &[ImageSpec; 2]) {
    let index = if card.spec.secure { 2 } else { 0 };
    let client = card.client();
    let mut version = old.to_owned();
    for (image, start) in images.iter().zip([0x80_0000, 0]) {
        let before = card.running();
        assert_eq!(pending_version(&client, index), version);
        Update::locked(card).burn(&component(image));
        assert_eq!(card.running(), before, "the old one runs on");
        assert_eq!(pending_version(&client, index), image.version.to_string());
        let after = card.reboot();
        assert_eq!(after.start, start);
        assert_eq!(
            after.version,
            [
                image.version.major,
                image.version.minor,
                image.version.subminor
            ]
        );
        assert_eq!(after.mac.value, MAC, "addresses stay the card's");
        version = image.version.to_string();
    }
    card.assert_no_violation();
}

#[test]
fn an_fs3_card_is_updated_slot_by_slot_and_keeps_its_device_data() {
    let card = connectx_4_lx();
    let images = ["14.32.1010", "14.32.1020"].map(|version| {
        let mut image = image_spec(CONNECTX_4_LX, version);
        image.device.addresses = None;
        image
    });
    updates_both_ways(&card, "14.25.1020", &images);
}

#[test]
fn an_fs4_card_is_updated_slot_by_slot() {
    let images = ["16.35.1012", "16.26.0001"].map(|version| image_spec(CONNECTX_5, version));
    updates_both_ways(&connectx_5(), "16.25.1020", &images);
}

#[test]
fn a_secure_card_takes_secure_firmware() {
    let images = ["22.36.1010", "22.37.1014"].map(|version| {
        let mut image = image_spec(CONNECTX_6_DX, version);
        image.security = Security::Secure;
        image
    });
    updates_both_ways(&connectx_6_dx(), "22.32.1010", &images);
}

#[test]
fn until_activation_the_new_slot_has_no_marker() {
    let card = connectx_4_lx();
    let update = Update::locked(&card);
    let image = published(&image_spec(CONNECTX_4_LX, "14.32.1010"));
    let mut component = component(&image_spec(CONNECTX_4_LX, "14.32.1010"));
    component[..16].copy_from_slice(&image[..16]);
    assert_eq!(update.verify(&component), ErrorCode::Ok);
    let head = card.chip.read_flash(0x80_0000, 32).unwrap();
    assert_eq!(head[..16], [0xff; 16]);
    assert_eq!(head[16..], component[16..32]);
    assert_eq!(card.reboot().version, [14, 25, 1020]);
}

#[test]
fn the_lock_has_one_owner() {
    let card = connectx_4_lx();
    let first = Update::locked(&card);
    let second = Update::with_handle(&card);
    assert_ne!(first.handle, second.handle);
    assert_eq!(
        second.tell(Instruction::LockUpdateHandle, 0),
        Err(NOT_AVAILABLE)
    );
    assert_eq!(second.tell(Instruction::Cancel, 0), Err(BAD_PARAMETER));
    assert_eq!(second.write(0, &[0; 4]), Err(BAD_PARAMETER));
    let seen = second.query();
    assert_eq!(seen.control_state, ControlState::Locked);
    assert_eq!(seen.handle_owner_type, Owner::Icmd);
    first.tell(Instruction::ReleaseUpdateHandle, 0).unwrap();
    assert_eq!(
        first.tell(Instruction::ReleaseUpdateHandle, 0),
        Err(BAD_PARAMETER)
    );
    assert_eq!(second.query().handle_owner_type, Owner::Unknown);
    second.tell(Instruction::LockUpdateHandle, 0).unwrap();
    // a handle nobody was given
    let made_up = Update {
        handle: second.handle + 7,
        ..Update::with_handle(&card)
    };
    assert_eq!(
        made_up.tell(Instruction::LockUpdateHandle, 0),
        Err(BAD_PARAMETER)
    );
}

#[test]
fn an_update_can_be_given_up_and_begun_again() {
    let card = connectx_4_lx();
    let image = component(&image_spec(CONNECTX_4_LX, "14.32.1010"));
    let update = Update::locked(&card);
    update.begin(u32::try_from(image.len()).unwrap());
    update.send(&image[..0x1000]);
    let mcqs = update.client.ask(&Mcqs::default()).unwrap();
    assert_eq!(mcqs.component_update_state, UpdateState::InProgress);
    let mcc = update.tell(Instruction::Cancel, 0).unwrap();
    assert_eq!(mcc.control_state, ControlState::Locked);
    assert_eq!(update.verify(&image), ErrorCode::Ok);
}

#[test]
fn force_takes_the_lock_from_its_owner() {
    let card = connectx_4_lx();
    let first = Update::locked(&card);
    first.begin(0x1000);
    let second = Update::with_handle(&card);
    let mcc = second.tell(Instruction::ForceHandleRelease, 0).unwrap();
    assert_eq!(mcc.control_state, ControlState::Idle);
    assert_eq!(first.write(0, &[0; 4]), Err(BAD_PARAMETER));
    second.tell(Instruction::LockUpdateHandle, 0).unwrap();
}

#[test]
fn a_silent_owner_loses_the_lock() {
    let card = connectx_4_lx();
    let image = component(&image_spec(CONNECTX_4_LX, "14.32.1010"));
    let dead = Update::locked(&card);
    dead.begin(u32::try_from(image.len()).unwrap());
    dead.send(&image[..0x800]);
    let before = card.chip.cells.get(Cell::UpdateLastCommand);
    card.chip.cells.set(Cell::UpdateLastCommand, before - 2);
    let next = Update::with_handle(&card);
    let seen = next.query();
    assert!((2..=3).contains(&seen.time_elapsed_since_last_cmd));
    assert_eq!(seen.control_state, ControlState::Download);
    card.chip.cells.set(Cell::UpdateLastCommand, before - 11);
    assert_eq!(next.query().control_state, ControlState::Idle);
    assert_eq!(dead.write(0x800, &[0; 4]), Err(BAD_PARAMETER));
    next.tell(Instruction::LockUpdateHandle, 0).unwrap();
    next.burn(&image);
    assert_eq!(card.reboot().version, [14, 32, 1010]);
}

#[test]
fn a_reset_in_the_middle_leaves_the_old_image() {
    let card = connectx_4_lx();
    let image = component(&image_spec(CONNECTX_4_LX, "14.32.1010"));
    let update = Update::locked(&card);
    update.begin(u32::try_from(image.len()).unwrap());
    update.send(&image);
    assert_eq!(card.reboot().version, [14, 25, 1020]);
    assert_eq!(update.query().control_state, ControlState::Idle);
    Update::locked(&card).burn(&image);
    assert_eq!(card.reboot().version, [14, 32, 1010]);
}

#[test]
fn the_running_component_can_be_read_back() {
    let card = connectx_4_lx();
    let update = Update::locked(&card);
    let mcc = update.tell(Instruction::ReadComponent, 0).unwrap();
    assert_eq!(mcc.control_state, ControlState::Upload);
    assert_eq!(mcc.component_size, card.running().size);
    let piece = update
        .client
        .ask(&Mcda {
            update_handle: update.handle,
            offset: 0,
            data: vec![0; 64],
        })
        .unwrap();
    assert_eq!(piece.data[..16], [0xff; 16]);
    assert_eq!(piece.data[16..], card.chip.read_flash(16, 48).unwrap());
    assert_eq!(update.write(0, &[0; 4]), Err(NOT_AVAILABLE));
    let secure = connectx_6_dx();
    let update = Update::locked(&secure);
    let mcc = update.tell(Instruction::ReadComponent, 0).unwrap();
    assert_eq!(mcc.error_code, ErrorCode::General);
}
