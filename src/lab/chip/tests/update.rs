use super::*;
use crate::lab::chip::cells::Cell;
use crate::lab::chip::icmd::Method;
use crate::registers::mcc::{ControlState, ErrorCode, Instruction};
use crate::registers::mcqi::{Info, InfoType};
use crate::registers::mcqs::{Owner, UpdateState};
use crate::registers::{Mcc, Mcda, Mcqi, Mcqs, Register};

pub const BAD_PARAMETER: u8 = 7;
pub const NOT_AVAILABLE: u8 = 8;

/// One update, instruction by instruction.
pub struct Update {
    pub client: Client,
    pub handle: u32,
    component_index: u16,
}

impl Update {
    /// Gets a handle and locks it.
    pub fn locked(card: &Card) -> Self {
        let update = Self::with_handle(card);
        let mcc = update.tell(Instruction::LockUpdateHandle, 0).unwrap();
        assert_eq!(mcc.control_state, ControlState::Locked);
        update
    }

    pub fn with_handle(card: &Card) -> Self {
        let client = card.client();
        let handle = client.ask(&Mcc::default()).unwrap().update_handle;
        assert_ne!(handle, 0);
        Self {
            client,
            handle,
            component_index: if card.spec.secure { 2 } else { 0 },
        }
    }

    /// The answer to an instruction, also where it says why it is refused.
    pub fn tell(&self, instruction: Instruction, component_size: u32) -> Result<Mcc, u8> {
        self.instruct(&Mcc {
            instruction,
            component_index: self.component_index,
            update_handle: self.handle,
            component_size,
            ..Mcc::default()
        })
    }

    fn instruct(&self, request: &Mcc) -> Result<Mcc, u8> {
        let mut image = request.encode();
        let status = self.client.send(Mcc::ID, Method::Write, &mut image);
        let mcc = Mcc::decode(&image).unwrap();
        if mcc.error_code == ErrorCode::Ok {
            return status.map(|()| mcc);
        }
        assert_eq!(status, Err(BAD_PARAMETER), "a refusal fails the register");
        assert_eq!(self.query().error_code, mcc.error_code, "queries say why");
        Ok(mcc)
    }

    pub fn query(&self) -> Mcc {
        let request = Mcc {
            update_handle: self.handle,
            ..Mcc::default()
        };
        self.client.ask(&request).unwrap()
    }

    /// UPDATE_COMPONENT and the wait for DOWNLOAD.
    pub fn begin(&self, size: u32) {
        let mcc = self.tell(Instruction::UpdateComponent, size).unwrap();
        assert_eq!(mcc.error_code, ErrorCode::Ok);
        assert_eq!(mcc.control_state, ControlState::Initialize);
        assert_eq!(self.query().control_state, ControlState::Initialize);
        assert_eq!(self.query().control_state, ControlState::Download);
    }

    pub fn write(&self, offset: u32, data: &[u8]) -> Result<Mcda, u8> {
        self.client.tell(&Mcda {
            update_handle: self.handle,
            offset,
            data: data.to_vec(),
        })
    }

    pub fn send(&self, component: &[u8]) {
        for (piece, offset) in component.chunks(128).zip((0..).step_by(128)) {
            self.write(offset, piece).unwrap();
        }
    }

    /// Begins, sends and verifies; what VERIFY says.
    pub fn verify(&self, component: &[u8]) -> ErrorCode {
        self.begin(u32::try_from(component.len()).unwrap());
        self.send(component);
        let mcc = self.tell(Instruction::VerifyComponent, 0).unwrap();
        assert_eq!(mcc.control_state, ControlState::Locked);
        mcc.error_code
    }

    pub fn burn(&self, component: &[u8]) {
        assert_eq!(self.verify(component), ErrorCode::Ok);
        let mcc = self.tell(Instruction::Activate, 0).unwrap();
        assert_eq!(mcc.error_code, ErrorCode::Ok);
        let mcc = self.tell(Instruction::ReleaseUpdateHandle, 0).unwrap();
        assert_eq!(mcc.control_state, ControlState::Idle);
    }
}

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

impl Update {
    /// The handle that is locked now.
    fn locked_again(card: &Card) -> Self {
        let handle = card.chip.cells.get(Cell::UpdateHandle);
        Self {
            handle,
            ..Self::with_handle(card)
        }
    }
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
    card.chip.cells.set(Cell::UpdateLastCommand, before - 4);
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
