//! Burns that cannot begin, and burns that end in the middle.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::cli_common::TestLab;
use crate::{CX3, LX, card_at, small, small_host};

#[test]
fn flash_that_cannot_be_written_is_found_out_before_anything_is() {
    let lab = small();
    assert_eq!(
        lab.run(&["lab", "fault", "cx3-10g", "write-protect"]).code,
        Some(0)
    );
    let ran = lab.update_text(CX3, &["--yes", "--no-progress"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:01:00.0: the flash is write protected: block protection of the upper end is on (status register 1 is 0x9c; the status register is locked too) (stopped at checking the image (last done: taking the flash); the card still boots its old firmware)

    advice: remove the write protection with the tool that set it, then run the update again
    ");
    assert_eq!(lab.flash_operations(CX3), 0);

    let mut host = small_host();
    card_at(&mut host, CX3).flash.jedec = Some(0xabcd);
    let lab = TestLab::of(&host);
    let ran = lab.update_text(CX3, &["--yes", "--no-progress"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:01:00.0: the flash part with JEDEC id 0xabcd15 is of no known family, so it is not written (stopped at taking the flash (last done: reading the card); the card still boots its old firmware)

    advice: a newer cxfw may know the part; please report its id
    ");
    assert_eq!(lab.flash_operations(CX3), 0);
}

#[test]
fn a_flash_semaphore_of_a_dead_tool_is_named_with_the_way_to_free_it() {
    let lab = small();
    let held = lab.run(&["lab", "fault", "cx4lx", "hold", "flash"]);
    assert_eq!(held.code, Some(0));
    let ran = lab.update_text(LX, &["--yes", "--method", "direct"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("the flash semaphore was held by token 0x5ead0001"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("still boots 14.25.1020"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("`cxfw query -d 0000:03:00.0 --release-lock`"),
        "{}",
        ran.stderr
    );
    let freed = lab.run(&["query", "-d", LX, "--release-lock", "--yes"]);
    assert_eq!(freed.code, Some(0), "{freed:?}");
    let card = lab.update(LX, &["--method", "direct"], 0);
    assert_eq!(card["result"], "burned");
}

#[test]
fn power_lost_in_the_middle_leaves_the_old_firmware_and_words_about_it() {
    let lab = small();
    let fault = [
        "lab",
        "fault",
        "cx3-10g",
        "power-loss",
        "--of",
        "flash",
        "--at",
        "40",
    ];
    assert_eq!(lab.run(&fault).code, Some(0));
    let card = lab.update(CX3, &[], 1);
    assert_eq!(
        (&card["result"], &card["code"]),
        (&"failed".into(), &"gone".into())
    );
    let state = card["state"].as_str().unwrap();
    assert!(state.contains("the card still boots 2.36.5150"), "{state}");
    let advice = card["advice"].as_str().unwrap();
    assert!(advice.contains("fell off the bus"), "{advice}");
    assert_eq!(lab.restart(CX3), "2.36.5150");
    assert_eq!(lab.update(CX3, &[], 0)["result"], "burned");
    assert_eq!(lab.restart(CX3), "2.42.5000");
}

#[test]
fn ctrl_c_stops_a_direct_burn_and_the_card_boots_its_old_firmware() {
    let lab = small();
    let args = ["--no-backup", "--yes", "--progress", "json", "-d", CX3];
    let mut child = lab
        .command(&[&["update"], &args[..]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"phase\":\"write\"") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "no write begun");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("the card still boots 2.36.5150"), "{rest}");
    lab.assert_well_behaved();
    assert_eq!(lab.restart(CX3), "2.36.5150");
    assert_eq!(lab.update(CX3, &[], 0)["result"], "burned");
    assert_eq!(lab.restart(CX3), "2.42.5000");
}
