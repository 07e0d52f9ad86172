//! Ctrl-C and SIGTERM while the flash is written directly, restored or saved: the command stops at a
//! safe point, says what the card boots and how to go on, and holds nothing on the card.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::bench::{Bench, Command, ConnectX3, ConnectX5, Lx, Recovery, Way};

/// A command that was told to stop, and what it said.
struct Stopped {
    code: Option<i32>,
    document: Value,
    stderr: String,
}

/// Starts the command on a slow bus and sends `signal` when `phase` has begun.
fn stop(bench: &Bench, command: Command, phase: &str, signal: Signal) -> Stopped {
    bench.slow_down(3_000);
    let mut child = bench
        .command(command, &["--progress", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    await_phase(&mut stderr, phase);
    kill_process(Pid::from_child(&child), signal).unwrap();
    let stopped = finish(child, stderr);
    bench.slow_down(0);
    stopped
}

fn await_phase(stderr: &mut BufReader<ChildStderr>, phase: &str) {
    loop {
        let mut line = String::new();
        let read = stderr.read_line(&mut line).unwrap();
        assert!(read > 0, "the command ended before its phase {phase}");
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["event"] == "progress" && event["phase"] == phase {
            return;
        }
    }
}

fn finish(mut child: Child, mut stderr: BufReader<ChildStderr>) -> Stopped {
    let (mut out, mut rest) = (String::new(), String::new());
    stderr.read_to_string(&mut rest).unwrap();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    Stopped {
        code: child.wait().unwrap().code(),
        document: serde_json::from_str(&out).unwrap(),
        stderr: rest,
    }
}

/// The card boots what it booted, and the same command, run again, ends well: nothing is held.
fn assert_goes_on(bench: &Bench, command: Command) {
    bench.lab.assert_well_behaved();
    bench.assert_boots_old();
    let again = bench.run(command);
    assert_eq!(again.code, Some(0), "{again:?}");
    bench.lab.assert_well_behaved();
}

fn interrupted(way: Way, command: Command, phase: &str, signal: Signal, code: i32) {
    let bench = Bench::new(way);
    let stopped = stop(&bench, command, phase, signal);
    let heard = &stopped.stderr;
    assert_eq!(stopped.code, Some(code), "{way:?} {command:?}: {heard}");
    assert!(heard.contains("stopping at the next safe point"), "{heard}");
    let card = &stopped.document["cards"][0];
    assert_eq!(
        (&card["result"], &card["code"]),
        (&"interrupted".into(), &"interrupted".into())
    );
    let state = card["state"].as_str().unwrap();
    let boots = match way {
        Recovery => "the card has no firmware to boot and stays in recovery".to_owned(),
        _ => format!("the card still boots {}", bench.old),
    };
    assert!(state.ends_with(&boots), "{state}");
    assert!(heard.contains(state), "{heard}");
    let verb = if command == Command::Restore {
        "restore"
    } else {
        "update"
    };
    let advice = format!("run the {verb} again when convenient");
    assert_eq!(card["advice"], *advice, "{card}");
    assert!(heard.contains(&advice), "{heard}");
    assert_goes_on(&bench, command);
    bench.assert_runs_new();
}

#[test]
fn a_direct_burn_that_is_stopped_leaves_the_old_firmware() {
    interrupted(ConnectX3, Command::Direct, "write", Signal::INT, 130);
    interrupted(Lx, Command::Direct, "write", Signal::TERM, 143);
    interrupted(ConnectX5, Command::Direct, "erase", Signal::INT, 130);
    interrupted(Recovery, Command::Direct, "write", Signal::TERM, 143);
}

/// It noted that the firmware would not know its flash, and then changed nothing of what boots.
#[test]
fn a_direct_burn_that_was_killed_does_not_bar_the_firmware_from_the_next_update() {
    for way in [Lx, ConnectX5] {
        let bench = Bench::new(way);
        bench.slow_down(3_000);
        let mut child = bench
            .command(Command::Direct, &["--progress", "json"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        await_phase(&mut BufReader::new(child.stderr.take().unwrap()), "write");
        child.kill().unwrap();
        child.wait().unwrap();
        bench.slow_down(0);
        let next = bench.run(Command::Component);
        assert_eq!(next.code, Some(0), "{way:?}: {next:?}");
        bench.lab.assert_well_behaved();
        bench.assert_runs_new();
    }
}

#[test]
fn a_restore_that_is_stopped_leaves_the_firmware_that_was_there() {
    interrupted(ConnectX3, Command::Restore, "write", Signal::TERM, 143);
    interrupted(Lx, Command::Restore, "write", Signal::INT, 130);
    interrupted(Recovery, Command::Restore, "write", Signal::INT, 130);
}

#[test]
fn a_backup_that_is_stopped_leaves_no_file_and_names_the_command() {
    for (way, signal, code) in [(ConnectX3, Signal::INT, 130), (Lx, Signal::TERM, 143)] {
        let bench = Bench::new(way);
        let stopped = stop(&bench, Command::Backup, "read", signal);
        let heard = &stopped.stderr;
        assert_eq!(stopped.code, Some(code), "{heard}");
        let problem = &stopped.document["errors"][0];
        assert_eq!(problem["code"], "interrupted", "{problem}");
        let advice = format!(
            "no file is left; make it again when convenient: `cxfw backup -d {} -o FILE`",
            bench.device
        );
        assert_eq!(problem["advice"], *advice);
        assert!(heard.contains(&advice), "{heard}");
        assert!(!bench.lab.beside("copy.bin").exists());
        assert_goes_on(&bench, Command::Saving);
    }
}
