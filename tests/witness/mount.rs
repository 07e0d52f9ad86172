//! `lab mount` and `lab exec`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::bench::{finish, witness};
use crate::cli_common::{Ran, TestLab};

/// A lab that `cxfw lab mount` serves.
struct Mounted {
    child: Child,
    mountpoint: std::path::PathBuf,
}

impl Mounted {
    fn new(lab: &TestLab) -> Self {
        let mountpoint = lab.beside("mount");
        fs::create_dir(&mountpoint).unwrap();
        let mut command = lab.command(&["lab", "mount"]);
        command.arg(&mountpoint).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut first)
            .unwrap();
        assert!(first.contains("is served at"), "{first}");
        Self { child, mountpoint }
    }

    fn query(&self, lab: &TestLab) -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cxfw"));
        command
            .arg("--sysfs")
            .arg(&self.mountpoint)
            .arg("--lock-dir")
            .arg(lab.path().join("locks"))
            .args(["query", "--format", "json", "--image-dir"])
            .arg(lab.path().join("firmware"));
        finish(command).json()
    }

    /// Ctrl-C; the exit code.
    fn interrupt(mut self) -> Option<i32> {
        signal(&self.child, Signal::INT);
        self.child.wait().unwrap().code()
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// The cards of a query, without what differs by the way they were asked.
fn cards(mut document: Value) -> Value {
    for card in document["cards"].as_array_mut().unwrap() {
        card["source"].take();
    }
    document["cards"].take()
}

fn is_mounted(path: &Path) -> bool {
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    table.contains(path.to_str().unwrap())
}

#[test]
fn a_mounted_lab_answers_as_the_lab_itself_also_after_a_reset() {
    if !witness() {
        return;
    }
    let lab = TestLab::new();
    let mounted = Mounted::new(&lab);
    let before = cards(mounted.query(&lab));
    assert_eq!(before, cards(lab.query()));

    let ran = lab.run(&["update", "--yes", "-d", "03:00.0"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let staged = cards(mounted.query(&lab));
    assert_eq!(staged, cards(lab.query()));
    assert_ne!(staged, before);

    lab.reset();
    let after = cards(mounted.query(&lab));
    assert_eq!(after, cards(lab.query()));
    assert_ne!(after, staged);

    let mountpoint = mounted.mountpoint.clone();
    assert!(is_mounted(&mountpoint));
    assert_eq!(mounted.interrupt(), Some(0));
    assert!(!is_mounted(&mountpoint));
}

#[test]
fn a_reset_takes_functions_away_from_the_mounted_tree() {
    if !witness() {
        return;
    }
    let lab = TestLab::new();
    let mounted = Mounted::new(&lab);
    let second = [
        "bus/pci/devices/0000:03:00.1/config",
        "proc/bus/pci/03/00.1",
    ]
    .map(|path| mounted.mountpoint.join(path));
    assert!(second.iter().all(|path| fs::read(path).is_ok()));

    // No image left: the card goes into recovery, where it has one function.
    let opened = cxfw::lab::Lab::open(&lab.path()).unwrap();
    let chip = opened.chip("cx4lx").unwrap();
    chip.write_flash(0, &[0; 16]).unwrap();
    opened.reset().unwrap();

    assert!(second.iter().all(|path| !path.exists()), "{second:?}");
    let device = mounted
        .mountpoint
        .join("bus/pci/devices/0000:03:00.0/device");
    assert_eq!(fs::read_to_string(device).unwrap(), "0x020b\n");
    assert_eq!(mounted.interrupt(), Some(0));
}

#[test]
fn a_mount_that_is_in_use_still_ends() {
    if !witness() {
        return;
    }
    let lab = TestLab::new();
    let mounted = Mounted::new(&lab);
    let open = fs::File::open(mounted.mountpoint.join("kernel/security/lockdown")).unwrap();
    let mountpoint = mounted.mountpoint.clone();
    assert_eq!(mounted.interrupt(), Some(0));
    assert!(!is_mounted(&mountpoint));
    drop(open);
}

fn exec(lab: &TestLab, script: &str) -> Ran {
    lab.run(&["lab", "exec", "--", "sh", "-c", script])
}

#[test]
fn a_program_in_the_lab_sees_its_cards_and_ends_with_its_own_code() {
    if !witness() {
        return;
    }
    let lab = TestLab::new();
    let ran = exec(
        &lab,
        "cat /sys/bus/pci/devices/0000:41:00.0/device; grep -c 15b31015 /proc/bus/pci/devices; exit 7",
    );
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert_eq!(ran.stdout, "0x101d\n2\n");
    assert_eq!(exec(&lab, "kill -KILL $$").code, Some(137));
    assert!(!is_mounted(&lab.path()));

    let absent = lab.run(&["lab", "exec", "--", "no-such-program"]);
    assert_eq!(absent.code, Some(127));
    assert!(absent.stderr.contains("cannot run `no-such-program`"));
}

#[test]
fn cxfw_itself_runs_in_the_lab_and_keeps_its_locks_there() {
    if !witness() {
        return;
    }
    let lab = TestLab::new();
    let image_dir = lab.path().join("firmware");
    let inside = lab.run(&[
        "lab",
        "exec",
        "--",
        env!("CARGO_BIN_EXE_cxfw"),
        "query",
        "--format",
        "json",
        "--image-dir",
        image_dir.to_str().unwrap(),
    ]);
    assert_eq!(cards(inside.json()), cards(lab.query()));
    let locks = exec(&lab, "echo $CXFW_LOCK_DIR");
    assert_eq!(
        Path::new(locks.stdout.trim()),
        lab.path().join("locks").as_path()
    );
}

#[test]
fn a_signal_meant_for_the_program_reaches_it() {
    if !witness() {
        return;
    }
    let lab = TestLab::new();
    let script = "trap 'echo stopped; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let mut command = lab.command(&["lab", "exec", "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    signal(&child, Signal::TERM);
    assert_eq!(lines.next().unwrap().unwrap(), "stopped");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn two_programs_at_once_each_have_the_lab_to_themselves() {
    if !witness() {
        return;
    }
    let lab = TestLab::new();
    let meet = lab.beside("meet");
    fs::create_dir(&meet).unwrap();
    // Each waits inside its lab until the other is there too.
    let script = "touch $0/$1; while [ ! -e $0/$2 ]; do sleep 0.02; done; \
                  cat /sys/bus/pci/devices/0000:03:00.0/device";
    let children = [("a", "b"), ("b", "a")].map(|(own, other)| {
        let mut command = lab.command(&["lab", "exec", "--", "sh", "-c", script]);
        command.arg(&meet).args([own, other]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    });
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, b"0x1015\n");
    }
}
