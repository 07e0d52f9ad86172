//! What a burn sends and gives back, in fair weather and foul, against [`Fake`] firmware.

use std::time::Duration;

use super::closing;
use super::fake::{self, Fake, Trouble};
use super::machine::Machine;
use super::run::run;
use super::*;
use crate::flash::Activation;
use crate::identity::Psid;
use crate::progress::{Event, Phase};
use crate::registers::mcc::{ControlState, ErrorCode, Instruction};
use crate::registers::mcqs::Owner;
use crate::registers::mirc::Status as MircStatus;
use crate::sys::Roots;
use crate::version::FwVersion;

const OLD: FwVersion = FwVersion::new(14, 25, 1020);
const NEW: FwVersion = FwVersion::new(14, 32, 1010);

/// Bounds that tests do not have to wait for.
pub(super) const HURRY: Pacing = Pacing {
    shortest: Duration::ZERO,
    longest: Duration::from_micros(100),
    retry: Duration::ZERO,
    retries: 5,
    handle: Duration::from_millis(20),
    cancel: Duration::from_millis(20),
    initialize: Duration::from_millis(20),
    finish: Duration::from_millis(20),
    reactivate: Duration::from_millis(20),
    urged: Duration::from_millis(1),
};

/// A place for lock files and an image of 1000 bytes, no multiple of any block.
pub(super) struct Bench {
    roots: Roots,
    component: Vec<u8>,
    _dir: tempfile::TempDir,
}

impl Bench {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            locks: dir.path().join("locks"),
            ..Roots::default()
        };
        Self {
            roots,
            component: (0..1000u32).map(|n| n.to_le_bytes()[0]).collect(),
            _dir: dir,
        }
    }

    pub(super) fn lock(&self) -> CardLock {
        // A child another test forks holds the file for the moment until it runs its program.
        CardLock::take(&self.roots, "pci-0000:03:00.0", Duration::from_secs(5)).unwrap()
    }

    fn cleared(&self) -> Cleared {
        let (block, word) = steps::block_size(fake::MAX_WRITE, fake::LOG_WORD).unwrap();
        Cleared {
            plan: Plan {
                psid: Psid::new("MT_2420110034").unwrap(),
                running: Some(OLD),
                stored: Some(OLD),
                to: NEW,
                component_index: fake::INDEX,
                size: 1000,
                block,
                word,
                reactivate: false,
            },
            component: self.component.clone(),
        }
    }

    fn burn(&self, firmware: &Fake) -> Result<Activation, BurnError> {
        self.burn_with(firmware, |_| (), &Cancel::new(), &mut |_| ())
    }

    fn burn_with(
        &self,
        firmware: &Fake,
        change: impl FnOnce(&mut BurnOptions<'_>),
        cancel: &Cancel,
        sink: &mut Sink<'_>,
    ) -> Result<Activation, BurnError> {
        let lock = self.lock();
        let mut options = BurnOptions::under(&lock);
        options.pacing = HURRY;
        change(&mut options);
        let mut cleared = self.cleared();
        cleared.plan.reactivate = options.staged_update == StagedUpdate::TakeBack;
        run(firmware, &cleared, &options, cancel, sink)
    }

    /// No handle is open, on the card or on record.
    pub(super) fn assert_clean(&self, firmware: &Fake, what: &str) {
        firmware.state(|state| {
            assert_eq!(state.control, ControlState::Idle, "{what}");
            assert_eq!(state.owner, None, "{what}");
        });
        let abandoned = self.lock().abandoned().cloned();
        assert_eq!(abandoned, None, "{what}");
    }
}

pub(super) fn fresh() -> Fake {
    Fake::new(OLD, NEW)
}

#[test]
fn a_burn_sends_the_image_whole_and_in_measure_and_gives_the_handle_back() {
    let bench = Bench::new();
    let firmware = fresh();
    let activation = bench.burn(&firmware).unwrap();
    assert_eq!(activation, Activation::Reset);
    firmware.state(|state| {
        assert_eq!(state.received[..1000], bench.component);
        assert_eq!((state.running, state.stored), (OLD, NEW));
        assert_eq!(
            state.instructions,
            [
                Instruction::LockUpdateHandle,
                Instruction::UpdateComponent,
                Instruction::VerifyComponent,
                Instruction::Activate,
                Instruction::ReleaseUpdateHandle,
            ]
        );
    });
    bench.assert_clean(&firmware, "success");
}

#[test]
fn events_come_in_the_promised_order_and_never_go_back() {
    let bench = Bench::new();
    let mut events = Vec::new();
    bench
        .burn_with(&fresh(), |_| (), &Cancel::new(), &mut |event| {
            events.push(event)
        })
        .unwrap();
    assert_eq!(events.first(), Some(&Event::Started { bytes: 1000 }));
    let done: Vec<Phase> = events
        .iter()
        .filter_map(|event| match event {
            Event::PhaseDone { phase } => Some(*phase),
            _ => None,
        })
        .collect();
    assert_eq!(
        done,
        [
            Phase::Initialize,
            Phase::Write,
            Phase::Verify,
            Phase::Activate
        ]
    );
    let written: Vec<(u64, u64)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Progress {
                phase: Phase::Write,
                done,
                total,
            } => Some((*done, *total)),
            _ => None,
        })
        .collect();
    assert!(written.is_sorted());
    assert_eq!(written.last(), Some(&(1000, 1000)));
}

#[test]
fn every_error_code_at_every_instruction_is_named_and_taken_back() {
    let bench = Bench::new();
    for instruction in [
        Instruction::LockUpdateHandle,
        Instruction::UpdateComponent,
        Instruction::VerifyComponent,
        Instruction::Activate,
    ] {
        for &code in ErrorCode::ALL.iter().skip(1) {
            let firmware = fresh().with(Trouble::Refuse(instruction, code));
            let error = bench.burn(&firmware).expect_err("refused");
            let what = format!("{instruction} {code}");
            assert!(
                matches!(error.fault, Fault::Firmware(said) if said.code() == code),
                "{what}: {error}"
            );
            let raw = format!("(MCC error {:#04x})", code.code());
            assert!(error.to_string().ends_with(&raw), "{what}: {error}");
            assert_eq!(error.boots, Boots::Old(Some(OLD)), "{what}");
            assert_eq!(error.left_open, None, "{what}");
            bench.assert_clean(&firmware, &what);
            let cancelled =
                firmware.state(|state| state.instructions.contains(&Instruction::Cancel));
            let begun = [Instruction::UpdateComponent, Instruction::VerifyComponent];
            assert_eq!(cancelled, begun.contains(&instruction), "{what}");
        }
    }
}

#[test]
fn a_refused_burn_says_the_step_the_last_good_one_and_what_boots() {
    let bench = Bench::new();
    let firmware = fresh().with(Trouble::Refuse(
        Instruction::VerifyComponent,
        ErrorCode::DigestMismatch,
    ));
    let error = bench.burn(&firmware).expect_err("refused");
    insta::assert_snapshot!(
        format!("{error}\n{}\n{}\n{}", error.reason(), error.state(), error.advice()),
        @"
    The Digest in the signature is wrong (MCC error 0x02)
    signature_digest_mismatch
    stopped at verifying the image (last done: writing the image); the card still boots 14.25.1020
    the image is corrupted or was edited: fetch it again
    "
    );
}

#[test]
fn a_state_that_never_ends_runs_into_its_bound_and_is_taken_back() {
    let bench = Bench::new();
    for state in [ControlState::Initialize, ControlState::Verify] {
        let firmware = fresh().with(Trouble::Stuck(state));
        let error = bench.burn(&firmware).expect_err("stuck");
        let text = error.to_string();
        assert!(
            text.starts_with("Time-out reached while waiting for the FSM to be updated"),
            "{text}"
        );
        assert_eq!(error.boots, Boots::Old(Some(OLD)));
        bench.assert_clean(&firmware, &text);
    }
}

#[test]
fn an_activation_that_never_ends_says_what_the_card_boots_now() {
    let bench = Bench::new();
    let firmware = fresh().with(Trouble::Stuck(ControlState::Activate));
    let error = bench.burn(&firmware).expect_err("stuck");
    assert_eq!(error.failed, Step::Activate);
    assert_eq!(error.boots, Boots::New(NEW));
    bench.assert_clean(&firmware, "stuck in activate");
}

#[test]
fn a_state_no_step_leads_to_stops_the_burn() {
    let bench = Bench::new();
    let firmware = fresh().with(Trouble::Strange(
        Instruction::UpdateComponent,
        ControlState::Upload,
    ));
    let error = bench.burn(&firmware).expect_err("strange");
    assert!(matches!(error.fault, Fault::State { .. }), "{error}");
    assert_eq!(error.failed, Step::Initialize);
}

#[test]
fn a_lost_answer_still_has_what_it_began_taken_back() {
    let bench = Bench::new();
    for instruction in [
        Instruction::LockUpdateHandle,
        Instruction::UpdateComponent,
        Instruction::VerifyComponent,
        Instruction::Activate,
    ] {
        let firmware = fresh().with(Trouble::Lost(instruction));
        let error = bench.burn(&firmware).expect_err("lost");
        assert!(matches!(error.fault, Fault::Register(_)), "{error}");
        bench.assert_clean(&firmware, &instruction.to_string());
    }
}

#[test]
fn a_handle_that_cannot_be_given_back_stays_on_record_and_the_next_burn_closes_it() {
    let bench = Bench::new();
    let firmware = fresh().with(Trouble::Lost(Instruction::ReleaseUpdateHandle));
    let error = bench.burn(&firmware).expect_err("release lost");
    assert_eq!(error.failed, Step::Release);
    assert_eq!(error.boots, Boots::New(NEW));
    assert!(
        error.state().contains("could not be given back"),
        "{}",
        error.state()
    );
    assert!(bench.lock().abandoned().is_some());

    firmware.state(|state| state.trouble = None);
    bench.burn(&firmware).unwrap();
    bench.assert_clean(&firmware, "the next burn");
}

#[test]
fn the_update_a_killed_burn_left_is_closed_by_its_handle() {
    let bench = Bench::new();
    let firmware = fresh();
    // What a burn killed in the middle of its data leaves behind.
    firmware.state(|state| {
        state.control = ControlState::Download;
        state.owner = Some((0x00be_ef01, Owner::Icmd));
    });
    bench.lock().note_update_handle(Some(0x00be_ef01)).unwrap();

    let mut notes = Vec::new();
    bench
        .burn_with(&firmware, |_| (), &Cancel::new(), &mut |event| {
            if let Event::Note { text } = event {
                notes.push(text);
            }
        })
        .unwrap();
    assert!(
        notes[0].starts_with("closed the update that process"),
        "{notes:?}"
    );
    firmware.state(|state| {
        assert_eq!(
            state.instructions[1..3],
            [Instruction::Cancel, Instruction::ReleaseUpdateHandle]
        );
        assert_eq!(state.stored, NEW);
    });
    bench.assert_clean(&firmware, "after the second burn");
}

#[test]
fn somebody_elses_update_is_left_alone_and_its_owner_named() {
    let bench = Bench::new();
    let firmware = fresh();
    firmware.state(|state| {
        state.control = ControlState::Download;
        state.owner = Some((0x0012_3456, Owner::CommandInterface));
    });
    // A handle on record that is not the open one changes nothing.
    bench.lock().note_update_handle(Some(0x00be_ef01)).unwrap();
    let error = bench.burn(&firmware).expect_err("busy");
    insta::assert_snapshot!(error.to_string(), @"another update has the card: driver (command interface) (host 1), last command 42 s ago, state download");
    firmware.state(|state| {
        assert_eq!(state.control, ControlState::Download);
        assert!(
            !state
                .instructions
                .contains(&Instruction::ForceHandleRelease)
        );
        assert!(!state.instructions.contains(&Instruction::Cancel));
    });
}

#[test]
fn a_foreign_handle_that_is_taken_away_makes_room() {
    let bench = Bench::new();
    let firmware = fresh();
    firmware.state(|state| {
        state.control = ControlState::Locked;
        state.owner = Some((0x0012_3456, Owner::Bmc));
    });
    bench.burn(&firmware).expect_err("busy");
    let (pacing, cancel) = (Pacing::default(), Cancel::new());
    let machine = Machine {
        registers: &firmware,
        pacing: &pacing,
        cancel: &cancel,
    };
    closing::force_release(machine, 0).unwrap();
    bench.burn(&firmware).unwrap();
    firmware.state(|state| {
        assert_eq!(state.instructions[0], Instruction::ForceHandleRelease);
        assert_eq!(state.stored, NEW);
    });
}

#[test]
fn stopping_at_any_register_leaves_the_card_free_and_its_state_told() {
    let bench = Bench::new();
    let counted = fresh();
    bench.burn(&counted).unwrap();
    let registers = counted.state(|state| state.registers_seen);
    let mut stopped = 0;
    for nth in 0..registers {
        let cancel = Cancel::new();
        let firmware = fresh().cancelling(nth, &cancel);
        let what = format!("stop at register {nth}");
        match bench.burn_with(&firmware, |_| (), &cancel, &mut |_| ()) {
            Ok(_) => firmware.state(|state| assert_eq!(state.stored, NEW, "{what}")),
            Err(error) => {
                stopped += 1;
                assert!(error.is_interrupted(), "{what}: {error}");
                assert_eq!(error.boots, Boots::Old(Some(OLD)), "{what}");
                firmware.state(|state| assert_eq!(state.stored, OLD, "{what}"));
            }
        }
        bench.assert_clean(&firmware, &what);
    }
    assert!(stopped > 10, "{stopped} of {registers}");
}

#[test]
fn who_asks_twice_is_not_kept_waiting_by_a_card_that_hangs() {
    let bench = Bench::new();
    let firmware = fresh().with(Trouble::Stuck(ControlState::Initialize));
    let cancel = Cancel::new();
    let for_ever = |options: &mut BurnOptions<'_>| {
        let hour = Duration::from_secs(3600);
        options.pacing.initialize = hour;
        options.pacing.cancel = hour;
        options.pacing.handle = hour;
    };
    let error = bench
        .burn_with(&firmware, for_ever, &cancel, &mut |event| {
            if matches!(event, Event::Progress { .. }) {
                cancel.urge();
            }
        })
        .expect_err("stopped");
    assert!(error.is_interrupted(), "{error}");
    assert_eq!(error.boots, Boots::Old(Some(OLD)));
    firmware.state(|state| {
        let last = &state.instructions[state.instructions.len() - 2..];
        assert_eq!(
            last,
            [Instruction::Cancel, Instruction::ReleaseUpdateHandle]
        );
    });
}

#[test]
fn firmware_without_room_is_asked_again_but_not_for_ever() {
    let bench = Bench::new();
    bench.burn(&fresh().with(Trouble::Crowded(3))).unwrap();
    let error = bench
        .burn(&fresh().with(Trouble::Crowded(6)))
        .expect_err("crowded");
    assert!(matches!(&error.fault, Fault::Register(error) if error.status() == Some(8)));
}

#[test]
fn an_image_the_card_does_not_keep_is_no_success() {
    let bench = Bench::new();
    let error = bench
        .burn(&fresh().with(Trouble::Forgets))
        .expect_err("forgets");
    assert_eq!(error.reason(), "flash_not_changed");
    assert_eq!(error.boots, Boots::Old(Some(OLD)));
    assert_eq!(error.failed, Step::ReadBack);
}

#[test]
fn a_staged_update_is_taken_back_only_when_asked_and_its_refusal_told() {
    let bench = Bench::new();
    let take_back = |options: &mut BurnOptions<'_>| options.staged_update = StagedUpdate::TakeBack;
    let quiet = Cancel::new();
    bench
        .burn_with(&fresh(), take_back, &quiet, &mut |_| ())
        .unwrap();
    bench
        .burn_with(
            &fresh().with(Trouble::Mirc(MircStatus::AlreadyActivated)),
            take_back,
            &quiet,
            &mut |_| (),
        )
        .unwrap();
    let firmware = fresh().with(Trouble::Mirc(MircStatus::ProhibitedVersion));
    let error = bench
        .burn_with(&firmware, take_back, &quiet, &mut |_| ())
        .expect_err("prohibited");
    assert_eq!(error.failed, Step::Reactivate);
    assert!(error.to_string().contains("prohibited version"), "{error}");
    bench.assert_clean(&firmware, "prohibited");
}
