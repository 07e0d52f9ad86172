//! Burns that are broken off: by kill -9, by Ctrl-C, and by a second run.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program has failed"
)]

mod cli_common;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Stdio};

use cli_common::TestLab;
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

/// Starts the update of the ConnectX-4 Lx and returns when `phase` is under way.
fn update_in(lab: &TestLab, phase: &str) -> Update {
    let mut child = lab
        .command(&["update", "--yes", "-d", LX_ADDRESS, "--progress", "json"])
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
    assert_eq!(lab.run(&["lab", "reset"]).code, Some(0));
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
    let mut update = update_in(&lab, "write");
    kill_process(Pid::from_child(&update.child), Signal::INT).unwrap();
    let mut rest = String::new();
    update.stderr.read_to_string(&mut rest).unwrap();
    let mut stdout = String::new();
    update
        .child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut stdout)
        .unwrap();
    assert_eq!(update.child.wait().unwrap().code(), Some(130), "{rest}");
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
