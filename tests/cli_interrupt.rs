//! Burns that are broken off: by kill -9, by signals, and by a second run.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program has failed"
)]

mod cli_common;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cli_common::{TestLab, equal_cards};
use cxfw::access::{Device, read_register};
use cxfw::lab::Lab;
use cxfw::lab::chip::Violations;
use cxfw::registers::Mcc;
use cxfw::registers::mcc::ControlState;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const LX: &str = "ConnectX4LX";
const LX_ADDRESS: &str = "0000:03:00.0";

/// A running update, ended for good when the test is over.
struct Update {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Drop for Update {
    fn drop(&mut self) {
        // Both fail for a process that has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Update {
    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end: exit code, stdout, and what is left of stderr.
    fn finish(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut rest) = (String::new(), String::new());
        self.stderr.read_to_string(&mut rest).unwrap();
        let stdout = self.child.stdout.as_mut().unwrap();
        stdout.read_to_string(&mut out).unwrap();
        (self.child.wait().unwrap().code(), out, rest)
    }
}

/// Starts the update of the ConnectX-4 Lx and returns when `phase` is under way.
fn update_in(lab: &TestLab, phase: &str) -> Update {
    update_with(lab, &["-d", LX_ADDRESS], phase)
}

/// Starts an update and returns when `phase` of a card is half over. Without a backup, which takes
/// long on a slow bus; `cli_backup` breaks that off.
fn update_with(lab: &TestLab, args: &[&str], phase: &str) -> Update {
    let mut child = lab
        .command(
            &[
                &["update", "--yes", "--no-backup", "--progress", "json"],
                args,
            ]
            .concat(),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let mut update = Update { child, stderr };
    loop {
        let mut line = String::new();
        let read = update.stderr.read_line(&mut line).unwrap();
        assert!(read > 0, "the update ended before its phase {phase}");
        let event: Value = serde_json::from_str(&line).unwrap();
        let half_way = event["done"].as_u64() >= event["total"].as_u64().map(|total| total / 2);
        if event["event"] == "progress" && event["phase"] == phase && half_way {
            return update;
        }
    }
}

/// The old image boots, and the next update succeeds.
fn assert_recovers(lab: &TestLab) {
    let lx = lab.card(LX);
    assert_eq!(lx["firmware"]["stored"], "14.25.1020");
    lab.reset();
    let lx = lab.card(LX);
    assert_eq!(lx["firmware"]["running"], "14.25.1020");
    assert_eq!(lx["recovery"], false);
    assert_update_succeeds(lab);
}

fn assert_update_succeeds(lab: &TestLab) {
    let ran = lab.run(&["update", "--yes", "-d", LX_ADDRESS]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(lab.card(LX)["firmware"]["stored"], "14.32.1010");
}

#[test]
fn a_killed_burn_leaves_the_old_firmware_and_the_next_update_succeeds() {
    for phase in ["initialize", "write"] {
        let lab = TestLab::new();
        let mut update = update_in(&lab, phase);
        update.child.kill().unwrap();
        update.child.wait().unwrap();
        assert_recovers(&lab);
    }
}

#[test]
fn after_a_killed_burn_no_restart_is_needed_for_the_next_update() {
    let lab = TestLab::new();
    let mut update = update_in(&lab, "write");
    update.child.kill().unwrap();
    update.child.wait().unwrap();
    assert_eq!(lab.card(LX)["firmware"]["stored"], "14.25.1020");
    assert_update_succeeds(&lab);
}

#[test]
fn ctrl_c_stops_at_a_safe_point_and_says_what_the_card_boots() {
    let lab = TestLab::new();
    let update = update_in(&lab, "write");
    update.send(Signal::INT);
    let (code, stdout, rest) = update.finish();
    assert_eq!(code, Some(130), "{rest}");
    assert!(rest.contains("still boots 14.25.1020"), "{rest}");
    assert!(stdout.contains("\nInterrupted\n"), "{stdout}");
    assert!(stdout.ends_with("Summary: 1 interrupted\n"), "{stdout}");
    assert_recovers(&lab);
}

#[test]
fn two_updates_of_one_card_do_not_meet() {
    let lab = TestLab::new();
    let mut update = update_in(&lab, "write");
    let second = lab.run(&["update", "--yes", "-d", LX_ADDRESS, "--timeout", "0"]);
    let mut rest = String::new();
    update.stderr.read_to_string(&mut rest).unwrap();
    let first = update.child.wait().unwrap();
    assert_eq!(first.code(), Some(0));
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(
        second.stderr.contains("is held by process"),
        "{}",
        second.stderr
    );
    assert_eq!(lab.card(LX)["firmware"]["stored"], "14.32.1010");
}

/// Nothing is held on any card: no capability, ICMD or flash semaphore, no update handle. Looked
/// at without the lock files that would have a dead process's semaphores freed.
fn assert_nothing_is_held(lab: &TestLab) {
    let lab = Lab::open(&lab.path()).unwrap();
    let source = lab.config_source();
    for card in &lab.host().cards {
        let device = Device::open(source.open(card.address).unwrap(), None).unwrap();
        let registers = device.registers().unwrap();
        let mcc = read_register(registers, &Mcc::default()).unwrap();
        assert_eq!(mcc.control_state, ControlState::Idle, "{}", card.name);
        drop(device.flash_semaphore().unwrap());
        let chip = lab.chip(&card.name).unwrap();
        assert_eq!(chip.violations(), Violations::default(), "{}", card.name);
    }
}

/// A lab of four cards on a bus so slow that a burn takes seconds.
fn slow_lab() -> TestLab {
    TestLab::of(&equal_cards(4, 50_000))
}

#[test]
fn sigterm_stops_the_burns_of_all_cards_at_safe_points() {
    let lab = slow_lab();
    let update = update_with(&lab, &["--format", "json"], "write");
    update.send(Signal::TERM);
    let (code, stdout, rest) = update.finish();
    assert_eq!(code, Some(143), "{rest}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    for card in document["cards"].as_array().unwrap() {
        assert_eq!(card["result"], "interrupted", "{card}");
        assert_eq!(card["code"], "interrupted", "{card}");
        let state = card["state"].as_str().unwrap();
        assert!(state.contains("still boots 14.25.1020"), "{state}");
    }
    assert_eq!(document["summary"]["interrupted"], 4);
    assert_nothing_is_held(&lab);
    let ran = lab.run(&["update", "--yes", "--no-backup"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn cards_whose_turn_has_not_come_are_left_alone_after_a_signal() {
    let lab = slow_lab();
    let update = update_with(&lab, &["--jobs", "1", "--format", "json"], "write");
    update.send(Signal::INT);
    let (code, stdout, rest) = update.finish();
    assert_eq!(code, Some(130), "{rest}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let states: Vec<&Value> = (0..4)
        .map(|card| &document["cards"][card]["state"])
        .collect();
    assert!(states[0].is_string() && states[1..].iter().all(|state| state.is_null()));
    assert_eq!(document["summary"]["interrupted"], 4);
    assert_nothing_is_held(&lab);
}

#[test]
fn a_second_signal_stops_at_once_and_leaves_nothing_held() {
    // a register takes a fifth of a second: stopping in an orderly way takes a while
    let lab = TestLab::of(&equal_cards(2, 1_000_000));
    let update = update_with(&lab, &[], "initialize");
    update.send(Signal::INT);
    thread::sleep(Duration::from_millis(50));
    update.send(Signal::INT);
    let start = Instant::now();
    let (code, _, rest) = update.finish();
    assert_eq!(code, Some(130), "{rest}");
    assert!(rest.contains("stopping at once"), "{rest}");
    assert!(start.elapsed() < Duration::from_secs(6), "{rest}");
    assert_nothing_is_held(&lab);
}

/// Waits until a process has opened a card: it says so in the folder of lock files.
fn await_opened(lab: &TestLab, child: &Child) {
    let own = format!(".{}-", child.id());
    let opened = || {
        let files = std::fs::read_dir(lab.path().join("locks")).unwrap();
        files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .any(|name| name.contains(&own))
    };
    let start = Instant::now();
    while !opened() {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_signal_during_a_query_ends_it_between_two_transactions() {
    let lab = TestLab::of(&equal_cards(2, 300_000));
    for wait in [0, 20, 35, 50, 65] {
        let mut child = lab
            .command(&["query"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        await_opened(&lab, &child);
        thread::sleep(Duration::from_millis(wait));
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130), "after {wait} ms");
        assert_nothing_is_held(&lab);
    }
}

#[test]
fn a_program_that_was_told_to_ignore_hangups_ignores_them() {
    let lab = slow_lab();
    let command = lab.command(&["update", "--yes", "--no-backup"]);
    let mut child = std::process::Command::new("nohup")
        .arg(command.get_program())
        .args(command.get_args())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    await_opened(&lab, &child);
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_second_update_says_whom_it_waits_for_and_then_finds_the_work_done() {
    let lab = slow_lab();
    let first = update_with(&lab, &["-d", "20:00.0"], "write");
    let pid = first.child.id();
    let second = lab.run(&["update", "--yes", "-d", "20:00.0", "--timeout", "60"]);
    let (code, _, rest) = first.finish();
    assert_eq!(code, Some(0), "{rest}");
    assert_eq!(second.code, Some(0), "{second:?}");
    let told = format!("0000:20:00.0: waiting at most 60 s for process {pid} (`");
    assert!(second.stderr.contains(&told), "{}", second.stderr);
    assert!(
        second.stdout.ends_with("Summary: 1 already staged\n"),
        "{}",
        second.stdout
    );
}

#[test]
fn who_waits_for_a_card_can_be_stopped() {
    let lab = slow_lab();
    let first = update_with(&lab, &["-d", "20:00.0"], "initialize");
    let second = update_with(
        &lab,
        &["-d", "20:00.0", "-d", "21:00.0", "--timeout", "600"],
        "write",
    );
    second.send(Signal::INT);
    let (code, stdout, rest) = second.finish();
    assert_eq!(code, Some(130), "{rest}");
    assert!(stdout.ends_with("Summary: 2 interrupted\n"), "{stdout}");
    assert_eq!(first.finish().0, Some(0));
}

#[test]
fn queries_beside_a_burn_give_right_answers() {
    let lab = slow_lab();
    let burn = update_with(&lab, &["-d", "20:00.0"], "initialize");
    for _ in 0..4 {
        let cards = lab.query()["cards"].as_array().unwrap().clone();
        assert_eq!(cards.len(), 4);
        for card in cards {
            assert_eq!(card["error"], Value::Null, "{card}");
            assert_eq!(card["firmware"]["running"], "14.25.1020", "{card}");
            assert_eq!(card["psid"], "MT_2420110034", "{card}");
        }
    }
    let (code, _, rest) = burn.finish();
    assert_eq!(code, Some(0), "{rest}");
    assert_nothing_is_held(&lab);
}
