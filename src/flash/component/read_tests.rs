//! The image read back, against [`Fake`] firmware.

use super::error::Fault;
use super::fake::{self, Fake, Trouble};
use super::machine::Machine;
use super::patient::Patient;
use super::read::{Told, read};
use super::steps::block_size;
use super::tests::{Bench, HURRY, fresh};
use crate::flash::cancel::Cancel;
use crate::progress::{Event, Phase};
use crate::registers::mcc::{ControlState, ErrorCode, Instruction};
use crate::registers::mcqs::Owner;

/// Bytes of the image: no multiple of a block, nor of a word.
const SIZE: u32 = 1003;

/// Firmware that hands out an image.
fn handing_out() -> Fake {
    let firmware = fresh();
    firmware.state(|state| state.image = image());
    firmware
}

fn image() -> Vec<u8> {
    (0..SIZE).map(|n| n.to_le_bytes()[0]).collect()
}

fn read_from(
    firmware: &Fake,
    bench: &Bench,
    cancel: &Cancel,
    events: &mut Vec<Event>,
) -> Result<Vec<u8>, Fault> {
    let (block, word) = block_size(fake::MAX_WRITE, fake::LOG_WORD).unwrap();
    let told = Told {
        index: fake::INDEX,
        size: SIZE,
        block,
        word,
    };
    let patient = Patient::new(firmware, &HURRY, cancel);
    let machine = Machine {
        registers: &patient,
        pacing: &HURRY,
        cancel,
    };
    let mut sink = |event| events.push(event);
    read(machine, &bench.lock(), &told, (Phase::Read, &mut sink))
}

fn quietly(firmware: &Fake, bench: &Bench) -> Result<Vec<u8>, Fault> {
    read_from(firmware, bench, &Cancel::new(), &mut Vec::new())
}

#[test]
fn the_image_comes_whole_and_the_handle_goes_back() {
    let bench = Bench::new();
    let firmware = handing_out();
    let mut events = Vec::new();
    let read = read_from(&firmware, &bench, &Cancel::new(), &mut events).unwrap();
    assert_eq!(read, image());
    firmware.state(|state| {
        let sent = [
            Instruction::LockUpdateHandle,
            Instruction::ReadComponent,
            Instruction::ReleaseUpdateHandle,
        ];
        assert_eq!(state.instructions, sent);
    });
    bench.assert_clean(&firmware, "read");
    let phase = Phase::Read;
    let (done, total) = (u64::from(SIZE), u64::from(SIZE));
    let end = [
        Event::Progress { phase, done, total },
        Event::PhaseDone { phase },
    ];
    assert!(events.ends_with(&end), "{events:?}");
}

#[test]
fn every_error_code_is_named_and_the_handle_goes_back() {
    let bench = Bench::new();
    for instruction in [Instruction::LockUpdateHandle, Instruction::ReadComponent] {
        for &code in ErrorCode::ALL.iter().skip(1) {
            let firmware = handing_out().with(Trouble::Refuse(instruction, code));
            let what = format!("{instruction} {code}");
            let fault = quietly(&firmware, &bench).expect_err("refused");
            assert!(fault.is_refusal_by_firmware(), "{what}: {fault}");
            bench.assert_clean(&firmware, &what);
        }
    }
}

#[test]
fn a_state_that_never_ends_and_one_nobody_expects_end_the_reading() {
    let bench = Bench::new();
    let pending = handing_out().with(Trouble::Stuck(ControlState::UploadPending));
    let fault = quietly(&pending, &bench).expect_err("stuck");
    assert!(matches!(fault, Fault::TimeOut { .. }), "{fault}");
    bench.assert_clean(&pending, "stuck");
    let strange = Trouble::Strange(Instruction::ReadComponent, ControlState::Apply);
    let strange = handing_out().with(strange);
    let fault = quietly(&strange, &bench).expect_err("strange");
    assert!(matches!(fault, Fault::State { .. }), "{fault}");
}

#[test]
fn pieces_that_come_short_are_never_joined() {
    let bench = Bench::new();
    let firmware = handing_out().with(Trouble::Short(4));
    let fault = quietly(&firmware, &bench).expect_err("short");
    insta::assert_snapshot!(fault, @"at 0x0 of the image the firmware handed out 92 of 96 bytes");
    bench.assert_clean(&firmware, "short");
}

#[test]
fn stopping_at_any_register_leaves_the_card_free() {
    let bench = Bench::new();
    let counted = handing_out();
    quietly(&counted, &bench).unwrap();
    let registers = counted.state(|state| state.registers_seen);
    let mut stopped = 0;
    for nth in 0..registers {
        let cancel = Cancel::new();
        let firmware = handing_out().cancelling(nth, &cancel);
        match read_from(&firmware, &bench, &cancel, &mut Vec::new()) {
            Ok(read) => assert_eq!(read, image(), "{nth}"),
            Err(fault) => {
                stopped += 1;
                assert!(matches!(fault, Fault::Cancelled), "{nth}: {fault}");
            }
        }
        bench.assert_clean(&firmware, &format!("stop at register {nth}"));
    }
    assert!(stopped > 10, "{stopped} of {registers}");
}

#[test]
fn somebody_elses_update_is_named_and_what_a_killed_reading_left_is_closed() {
    let bench = Bench::new();
    let firmware = handing_out();
    firmware.state(|state| {
        state.control = ControlState::Upload;
        state.owner = Some((0x0012_3456, Owner::Bmc));
    });
    let fault = quietly(&firmware, &bench).expect_err("busy");
    insta::assert_snapshot!(fault, @"another update has the card: BMC (host 1), last command 42 s ago, state upload");
    firmware.state(|state| assert!(state.instructions.is_empty()));

    bench.lock().note_update_handle(Some(0x0012_3456)).unwrap();
    assert_eq!(quietly(&firmware, &bench).unwrap(), image());
    bench.assert_clean(&firmware, "after the second reading");
    firmware.state(|state| assert!(!state.instructions.contains(&Instruction::Cancel)));
}
