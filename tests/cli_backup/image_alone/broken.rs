//! What stands in the way of reading the image, and what is left then: no file, and an idle card.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

use cxfw::access::{read_register, write_register};
use cxfw::image;
use cxfw::lab::Lab;
use cxfw::lab::chip::ReadBack;
use cxfw::registers::Mcc;
use cxfw::registers::mcc::{ControlState, Instruction};

use super::{DEVICE, NAME, assert_left_as_found, device, fault, secure};
use crate::{Bench, files};

/// A card whose image takes a moment to read.
fn slow() -> Bench {
    Bench::with(NAME, |card| {
        card.read_back = ReadBack::Masked;
        card.cycle_delay_ns = 5_000;
    })
}

/// A backup that has read the first piece of the image, with what it says from then on.
fn reading(bench: &Bench, to: &str) -> (Child, BufReader<ChildStderr>) {
    let args = ["backup", "-d", DEVICE, "-o", to, "--progress", "json"];
    let mut command = bench.lab.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"read\"") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "no progress");
    }
    (child, stderr)
}

#[test]
fn another_tools_update_is_named_and_left_alone() {
    let bench = secure(ReadBack::Masked);
    let device = device(&bench);
    let registers = device.registers().unwrap();
    let fresh = read_register(registers, &Mcc::default()).unwrap();
    let theirs = Mcc {
        instruction: Instruction::LockUpdateHandle,
        update_handle: fresh.update_handle,
        ..Mcc::default()
    };
    write_register(registers, &theirs).unwrap();
    let file = bench.file("x.bin");
    let ran = bench.run("backup", &["-o", &file]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("another update has the card: tool (ICMD) (host 0), last command "),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("`cxfw query -d 0000:41:00.0 --release-lock`"),
        "{ran:?}"
    );
    assert!(!Path::new(&file).exists());

    let image = bench.image(1);
    let ran = bench.run("update", &["--yes", "--image", &image]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("another update has the card"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("--no-backup"), "{ran:?}");
    assert!(bench.automatic().is_empty());
    let mcc = read_register(registers, &Mcc::default()).unwrap();
    assert_eq!(mcc.control_state, ControlState::Locked);
}

#[test]
fn firmware_that_refuses_after_all_is_burned_without_a_backup() {
    let bench = secure(ReadBack::Masked);
    fault(&bench, &["refuse", "read", "0x01"]);
    let file = bench.file("x.bin");
    let ran = bench.run("backup", &["-o", &file]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("no backup was made: the firmware was asked for its image: "),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("(MCC error 0x01)"), "{ran:?}");
    assert!(!Path::new(&file).exists());
    assert_left_as_found(&bench);

    let image = bench.image(1);
    let ran = bench.run("update", &["--yes", "--image", &image]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr
            .contains("warning: 0000:41:00.0: no backup: the firmware was asked for its image: "),
        "{ran:?}"
    );
    assert!(bench.automatic().is_empty());
    assert_left_as_found(&bench);
}

#[test]
fn an_image_that_does_not_check_out_is_no_backup() {
    let bench = secure(ReadBack::Masked);
    let lab = Lab::open(&bench.lab.path()).unwrap();
    let chip = lab.chip(NAME).unwrap();
    let layout = image::flash_image_at(&bench.flash(), 0).unwrap().0;
    let boot2 = layout.boot2.unwrap();
    let at = u32::try_from(boot2.address + boot2.size / 2).unwrap();
    let good = chip.read_flash(at, 1).unwrap();
    chip.write_flash(at, &[good[0] ^ 0x10]).unwrap();
    let folder = bench.file("copies/");
    let ran = bench.run("backup", &["-o", &folder]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("what the firmware handed out is not the image it runs: BOOT2"),
        "{ran:?}"
    );
    assert!(files(Path::new(&folder)).is_empty());
    assert_left_as_found(&bench);
}

#[test]
fn ctrl_c_leaves_no_file_and_gives_the_handle_back() {
    let bench = slow();
    let folder = bench.file("copies/");
    fs::create_dir(&folder).unwrap();
    let (mut child, stderr) = reading(&bench, &folder);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest = std::io::read_to_string(stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("no backup was made: "), "{rest}");
    assert!(files(Path::new(&folder)).is_empty());
    assert_left_as_found(&bench);
}

#[test]
fn what_a_killed_backup_left_open_is_closed_by_the_next_one() {
    let bench = slow();
    let file = bench.file("x.bin");
    let (mut child, _) = reading(&bench, &file);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!Path::new(&file).exists());
    let ran = bench.run("backup", &["-o", &file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("left open"), "{ran:?}");
    assert_left_as_found(&bench);
}

#[test]
fn power_lost_anywhere_leaves_no_file_and_the_card_as_it_was() {
    let bench = secure(ReadBack::Whole);
    let flash = bench.flash();
    let folder = bench.file("copies/");
    for register in [1, 8, 16, 20, 40, 300, 700, 1100, 1140] {
        let at = register.to_string();
        fault(&bench, &["power-loss", "--of", "register", "--at", &at]);
        let ran = bench.run("backup", &["-o", &folder]);
        if ran.code == Some(0) {
            // it was over before
            assert!(register > 1000, "{register}: {ran:?}");
            break;
        }
        assert_eq!(ran.code, Some(1), "{register}: {ran:?}");
        assert!(!ran.stderr.contains("update"), "{register}: {ran:?}");
        assert!(files(Path::new(&folder)).is_empty(), "{register}");
        bench.lab.reset();
        assert!(bench.flash() == flash, "{register}");
    }
    fault(&bench, &["--clear"]);
    bench.lab.reset();
    assert_left_as_found(&bench);
}
