//! Chips that break, and what is left of them.

use super::client::{ADDRESS, CR, DATA, ICMD, SEMAPHORE, SEMAPHORES};
use super::direct::{Gateway, recovered};
use super::updater::{BAD_PARAMETER, Update};
use super::*;
use crate::lab::chip::faults::{Accident, DEAD_OWNER, Lock, Moment, Part, Torn, Unit};
use crate::lab::chip::{ChipError, Fault};
use crate::registers::mcc::{ControlState, ErrorCode, Instruction};
use crate::registers::{Mcc, Mfba, Mfbe, Mfmc, Mgir};

fn break_at(card: &Card, accident: Accident, unit: Unit, number: u32) {
    let moment = Moment { unit, number };
    card.chip.arm(Fault::Accident { accident, moment }).unwrap();
}

fn newer() -> Vec<u8> {
    component(&image_spec(CONNECTX_4_LX, "14.32.1010"))
}

#[test]
fn power_lost_at_a_config_cycle_leaves_nothing_but_ones_until_the_reset() {
    let card = connectx_4_lx();
    let client = card.client();
    break_at(
        &card,
        Accident::PowerLoss(Torn::Whole),
        Unit::ConfigCycle,
        3,
    );
    let armed = card.chip.faults().unwrap();
    assert_eq!(
        armed[0].to_string(),
        "power loss at config cycle 3 from now"
    );
    assert_eq!(client.config(0), 0x1015_15b3);
    client.set_config(4, 0x400);
    assert_eq!(client.config(0), u32::MAX, "the third");
    client.set_config(4, 0);
    assert_eq!(client.config(4), u32::MAX);
    assert_eq!(card.chip.status().unwrap(), None);
    let struck = Fault::Struck(Accident::PowerLoss(Torn::Whole));
    assert_eq!(card.chip.faults().unwrap(), [struck]);
    assert_eq!(card.reboot().version, [14, 25, 1020]);
    assert_eq!(card.chip.faults().unwrap(), []);
    assert_eq!(client.config(0), 0x1015_15b3);
}

#[test]
fn power_lost_at_a_register_leaves_it_unanswered() {
    let card = connectx_4_lx();
    let client = card.client();
    break_at(&card, Accident::PowerLoss(Torn::Whole), Unit::Register, 2);
    client.ask(&Mgir::default()).unwrap();
    assert_eq!(client.config(0), 0x1015_15b3);
    client.write(SEMAPHORES, 0, 1);
    client.lock();
    client.select(ICMD);
    client.set_config(DATA, (0x9001 << 16) | 1);
    client.set_config(ADDRESS, 1 << 31);
    assert_eq!(client.config(ADDRESS), u32::MAX);
    assert_eq!(card.reboot().version, [14, 25, 1020]);
}

/// The flash after an update whose power was lost at flash operation `number`.
fn cut_update(torn: Torn, number: u32) -> Card {
    let card = connectx_4_lx();
    card.chip.write_flash(0x80_0000, &[0x5a; 0x2_0000]).unwrap();
    let update = Update::locked(&card);
    break_at(
        &card,
        Accident::PowerLoss(torn),
        Unit::FlashOperation,
        number,
    );
    let request = Mcc {
        instruction: Instruction::UpdateComponent,
        update_handle: update.handle,
        component_size: 0x2_0000,
        ..Mcc::default()
    };
    let mut image = crate::registers::Register::encode(&request);
    let sent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        update
            .client
            .send(0x9062, super::super::icmd::Method::Write, &mut image)
    }));
    assert!(sent.is_err(), "all ones are no answer");
    card
}

#[test]
fn a_flash_operation_is_torn_as_asked_and_none_follows_it() {
    let at = |card: &Card, address| card.chip.read_flash(address, 1).unwrap()[0];
    let card = cut_update(Torn::Whole, 1);
    assert_eq!(at(&card, 0x80_0000), 0x5a, "not begun");
    let card = cut_update(Torn::Whole, 2);
    assert_eq!(at(&card, 0x80_ffff), 0xff, "the first one is whole");
    assert_eq!(at(&card, 0x81_0000), 0x5a);
    let card = cut_update(Torn::Front, 1);
    assert_eq!([at(&card, 0x80_7fff), at(&card, 0x80_8000)], [0xff, 0x5a]);
    assert_eq!(at(&card, 0x81_0000), 0x5a, "there was no power for it");
    let card = cut_update(Torn::Back, 1);
    assert_eq!([at(&card, 0x80_7fff), at(&card, 0x80_8000)], [0x5a, 0xff]);
    assert_eq!(card.chip.counters().flash_operations(), 1);
    assert_eq!(card.reboot().version, [14, 25, 1020]);
}

#[test]
fn an_accident_waits_for_its_moment_in_every_process() {
    let card = connectx_4_lx();
    break_at(&card, Accident::Vanish, Unit::ConfigCycle, 2);
    let again = Chip::open(card.dir.path(), &card.spec).unwrap();
    let other = Client::new(again.function(1).unwrap());
    assert_ne!(other.config(0), u32::MAX);
    assert_eq!(card.client().config(0), u32::MAX);
    assert_eq!(other.config(0), u32::MAX);
    assert_eq!(
        again.faults().unwrap()[0].to_string(),
        "vanished from the bus"
    );
    card.chip.clear_faults().unwrap();
    assert_eq!(other.config(0), u32::MAX, "what struck lasts until a reset");
    again.boot().unwrap();
    assert_ne!(card.client().config(0), u32::MAX);
}

#[test]
fn a_cleared_accident_never_strikes() {
    let card = connectx_4_lx();
    break_at(&card, Accident::Vanish, Unit::ConfigCycle, 1);
    card.chip.clear_faults().unwrap();
    assert_eq!(card.client().config(0), 0x1015_15b3);
}

#[test]
fn firmware_that_hangs_stays_busy_and_does_nothing() {
    let card = connectx_4_lx();
    break_at(&card, Accident::Hang(Part::Firmware), Unit::Register, 1);
    let client = card.client();
    client.lock();
    client.select(ICMD);
    client.put(0, (0x9001 << 16) | 1);
    for _ in 0..100 {
        assert_eq!(client.get(0) & 1, 1);
    }
    client.unlock();
    assert_eq!(client.read(CR, 0xf_0014), 0x20b, "the chip itself is there");
    card.reboot();
    card.client().ask(&Mgir::default()).unwrap();
}

#[test]
fn a_capability_that_hangs_never_turns_its_flag() {
    let card = connectx_4_lx();
    break_at(
        &card,
        Accident::Hang(Part::Capability),
        Unit::ConfigCycle,
        1,
    );
    let client = card.client();
    client.lock();
    client.select(CR);
    client.set_config(ADDRESS, 0xf_0014);
    assert_eq!(client.config(ADDRESS), 0xf_0014);
    client.set_config(ADDRESS, 0xf_0204 | (1 << 31));
    assert_eq!(client.config(ADDRESS), 0xf_0204 | (1 << 31));
}

#[test]
fn gateway_and_flash_part_can_hang() {
    let card = recovered(CONNECTX_5);
    let gateway = Gateway::old(&card);
    gateway.lock();
    break_at(&card, Accident::Hang(Part::Flash), Unit::FlashOperation, 1);
    gateway.write_enable();
    gateway.program(0, &[[0x11; 16]]);
    assert!((0..100).all(|_| gateway.status() & 1 == 1));
    assert_eq!(card.chip.read_flash(0, 1).unwrap(), [0x11], "it was done");
    break_at(&card, Accident::Hang(Part::Gateway), Unit::ConfigCycle, 1);
    let busy = gateway.client.read(CR, 0xf_0400);
    assert_eq!(busy >> 30, 3);
}

#[test]
fn a_dead_owner_keeps_its_lock_until_it_is_cleared_or_the_chip_reset() {
    let card = connectx_4_lx();
    let client = card.client();
    for lock in Lock::ALL {
        for clear in [true, false] {
            card.chip.arm(Fault::Held(lock)).unwrap();
            assert_eq!(card.chip.faults().unwrap(), [Fault::Held(lock)]);
            let taken = || match lock {
                Lock::Capability => client.config(SEMAPHORE) != 0,
                Lock::Icmd => client.read(SEMAPHORES, 0) == DEAD_OWNER,
                Lock::Flash => client.read(SEMAPHORES, 0x10) == DEAD_OWNER,
                Lock::Gateway => client.read(CR, 0xf_0400) >> 31 == 1,
            };
            assert!(taken(), "{lock}");
            assert!(taken(), "{lock}");
            if clear {
                card.chip.clear_faults().unwrap();
            } else {
                card.reboot();
            }
            assert_eq!(card.chip.faults().unwrap(), []);
            assert!(!taken(), "{lock}");
            card.reboot();
        }
    }
    let legacy = connectx_3();
    legacy.chip.arm(Fault::Held(Lock::Flash)).unwrap();
    legacy.chip.arm(Fault::Held(Lock::Gateway)).unwrap();
    let client = legacy.client();
    for semaphore in [0xf_03a0, 0xf_03fc] {
        client.set_config(0x58, semaphore);
        assert_eq!([client.config(0x5c), client.config(0x5c)], [1, 1]);
    }
    assert_eq!(legacy.chip.faults().unwrap().len(), 2);
}

#[test]
fn every_error_code_can_be_had_at_every_instruction_of_an_update() {
    let card = connectx_4_lx();
    let update = Update::locked(&card);
    for &code in ErrorCode::ALL.iter().filter(|code| **code != ErrorCode::Ok) {
        let instruction = Instruction::VerifyComponent;
        card.chip.arm(Fault::Refusal { instruction, code }).unwrap();
        update.begin(0x1000);
        assert_eq!(update.tell(instruction, 0).unwrap().error_code, code);
        let refused = card.chip.faults().unwrap();
        assert!(refused[0].to_string().contains(code.name()));
    }
    let component = newer();
    let size = u32::try_from(component.len()).unwrap();
    for instruction in [
        Instruction::LockUpdateHandle,
        Instruction::UpdateComponent,
        Instruction::Activate,
        Instruction::ReleaseUpdateHandle,
    ] {
        let card = connectx_4_lx();
        let code = ErrorCode::ForbiddenVersion;
        card.chip.arm(Fault::Refusal { instruction, code }).unwrap();
        let update = Update::with_handle(&card);
        let told = |asked, size| update.tell(asked, size).unwrap().error_code;
        let expect = |asked| {
            if asked == instruction {
                code
            } else {
                ErrorCode::Ok
            }
        };
        let lock = Instruction::LockUpdateHandle;
        assert_eq!(told(lock, 0), expect(lock));
        if instruction == lock {
            continue;
        }
        let begin = Instruction::UpdateComponent;
        assert_eq!(told(begin, size), expect(begin));
        if instruction != begin {
            update.query();
            update.query();
            update.send(&component);
            assert_eq!(told(Instruction::VerifyComponent, 0), ErrorCode::Ok);
            assert_eq!(
                told(Instruction::Activate, 0),
                expect(Instruction::Activate)
            );
        }
        let release = Instruction::ReleaseUpdateHandle;
        assert_eq!(told(release, 0), expect(release));
    }
}

#[test]
fn a_refused_verify_ends_the_download() {
    let card = connectx_4_lx();
    let update = Update::locked(&card);
    update.begin(0x1000);
    card.chip
        .arm(Fault::Refusal {
            instruction: Instruction::VerifyComponent,
            code: ErrorCode::AuthenticationFailed,
        })
        .unwrap();
    let mcc = update.tell(Instruction::VerifyComponent, 0).unwrap();
    assert_eq!(mcc.control_state, ControlState::Locked);
    let mcc = update.tell(Instruction::Activate, 0).unwrap();
    assert_eq!(mcc.error_code, ErrorCode::General, "nothing was verified");
    card.chip.clear_faults().unwrap();
    update.tell(Instruction::ReleaseUpdateHandle, 0).unwrap();
    assert_eq!(Update::locked(&card).verify(&newer()), ErrorCode::Ok);
}

#[test]
fn bit_errors_come_and_go() {
    let card = recovered(CONNECTX_5);
    let gateway = Gateway::old(&card);
    gateway.lock();
    card.chip.arm(Fault::BitErrors { interval: 3 }).unwrap();
    let wrong: Vec<u32> = (0..9)
        .map(|_| gateway.read(0).iter().map(|byte| byte.count_zeros()).sum())
        .collect();
    assert_eq!(wrong, [0, 0, 1, 0, 0, 1, 0, 0, 1]);
    card.chip.boot().unwrap();
    assert_eq!(
        card.chip.faults().unwrap().len(),
        1,
        "the part is as it was"
    );
    let card = connectx_4_lx();
    card.chip.arm(Fault::BitErrors { interval: 1 }).unwrap();
    let request = Mfba {
        address: 0x40,
        data: vec![0; 16],
        ..Mfba::default()
    };
    let found = card.client().ask(&request).unwrap().data;
    assert_ne!(found, card.chip.read_flash(0x40, 16).unwrap());
}

#[test]
fn a_write_protected_flash_stays_as_it_is_whichever_way_one_comes() {
    let card = connectx_4_lx();
    card.chip.arm(Fault::WriteProtected).unwrap();
    let before = card.chip.read_flash(0, FLASH).unwrap();
    let code = |update: &Update| {
        let size = 0x1000;
        let mcc = update.tell(Instruction::UpdateComponent, size).unwrap();
        mcc.error_code
    };
    let update = Update::locked(&card);
    assert_eq!(code(&update), ErrorCode::FlashWriteProtected);
    let client = card.client();
    assert!(client.ask(&Mfmc::default()).unwrap().wrp_en);
    let erase = Mfbe {
        address: 0x80_0000,
        ..Mfbe::default()
    };
    assert_eq!(client.tell(&erase), Err(BAD_PARAMETER));
    let program = Mfba {
        address: 0x80_0000,
        data: vec![0; 16],
        ..Mfba::default()
    };
    assert_eq!(client.tell(&program), Err(BAD_PARAMETER));

    let gateway = Gateway::old(&card);
    gateway.lock();
    gateway.client.write(CR, 0xf_0420, 0);
    assert_eq!(gateway.status(), 0x9c);
    gateway.write_enable();
    gateway.program(0x80_0000, &[[0; 16]]);
    gateway.write_enable();
    gateway.erase(0x20, 0);
    assert_eq!(card.chip.read_flash(0, FLASH).unwrap(), before);
    card.chip.clear_faults().unwrap();
    gateway.wait();
    assert_eq!(gateway.status(), 0);
}

#[test]
fn what_a_chip_does_not_have_cannot_be_broken() {
    let refused = |card: &Card, fault| match card.chip.arm(fault) {
        Err(ChipError::CannotBreak { reason }) => reason,
        other => panic!("{fault}: {other:?}"),
    };
    let card = connectx_3();
    let hang = |part| Fault::Accident {
        accident: Accident::Hang(part),
        moment: Moment::AT_ONCE,
    };
    assert!(refused(&card, Fault::Held(Lock::Capability)).contains("capability"));
    assert!(refused(&card, hang(Part::Capability)).contains("capability"));
    assert!(refused(&card, hang(Part::Firmware)).contains("mailbox"));
    assert!(refused(&card, Fault::Held(Lock::Icmd)).contains("mailbox"));
    let never = Fault::Accident {
        accident: Accident::Vanish,
        moment: Moment {
            unit: Unit::FlashOperation,
            number: 0,
        },
    };
    assert!(refused(&card, never).contains("from 1"));
    assert!(refused(&card, Fault::BitErrors { interval: 0 }).contains("from 1"));
    let card = connectx_4_lx();
    let ok = Fault::Refusal {
        instruction: Instruction::Activate,
        code: ErrorCode::Ok,
    };
    assert!(refused(&card, ok).contains("no error"));
    assert!(refused(&card, Fault::Struck(Accident::Vanish)).contains("moment"));
    assert_eq!(card.chip.faults().unwrap(), []);
}

#[test]
fn registers_are_counted_by_name() {
    let card = connectx_4_lx();
    card.chip.reset_counters().unwrap();
    let client = card.client();
    client.ask(&Mgir::default()).unwrap();
    client.ask(&Mgir::default()).unwrap();
    client.ask(&crate::registers::Mpir::default()).unwrap_err();
    let counts: Vec<(&str, u32)> = card
        .chip
        .register_counts()
        .iter()
        .map(|register| (register.name, register.count))
        .collect();
    assert_eq!(counts, [("MGIR", 2), ("unknown", 1)]);
    assert_eq!(card.chip.counters().register_accesses, 3);
    card.chip.reset_counters().unwrap();
    assert_eq!(card.chip.register_counts(), []);
}
