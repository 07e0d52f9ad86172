//! Cards break, and the program says what happened, what state the card is in and what to do.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the program's output has failed"
)]

mod cli_common;

use cli_common::{TestLab, schema};
use serde_json::Value;

const LX: &str = "cx4lx";

impl TestLab {
    /// Breaks a card; what `lab status` says of it then.
    fn break_card(&self, card: &str, kind: &[&str]) -> Vec<String> {
        let ran = self.run(&[&["lab", "fault", card, "--format", "json"], kind].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{kind:?}");
        let status = lab_card(&ran.json(), card);
        let faults = status["faults"].as_array().unwrap();
        faults.iter().map(text).collect()
    }

    fn status(&self, card: &str) -> Value {
        let document = self.run(&["lab", "status", "--format", "json"]).json();
        schema::check(&document, "lab.json");
        lab_card(&document, card)
    }
}

fn lab_card(document: &Value, name: &str) -> Value {
    let cards = document["cards"].as_array().unwrap();
    let card = cards.iter().find(|card| card["name"] == name);
    card.unwrap().clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A broken card and what the program says of it on stderr: how long it waited left out.
struct Told {
    code: Option<i32>,
    text: String,
}

/// Breaks a card of a new lab and runs the program on it.
fn told(card: &str, kind: &[&str], command: &[&str]) -> Told {
    let lab = TestLab::new();
    lab.break_card(card, kind);
    let ran = lab.run(command);
    let violations = lab.status(card)["violations"].clone();
    let violations = violations.as_object().unwrap();
    assert!(
        violations.values().all(|count| *count == 0),
        "{violations:?}"
    );
    Told {
        code: ran.code,
        text: without_times(&ran.stderr),
    }
}

fn query(card: &str, device: &str, kind: &[&str]) -> Told {
    told(card, kind, &["query", "-d", device])
}

/// An update of the ConnectX-4 Lx, with no progress shown. Without a backup, so that what is counted
/// is the burn.
fn update(kind: &[&str]) -> Told {
    told(
        LX,
        kind,
        &[
            "update",
            "-d",
            "03:00.0",
            "--yes",
            "--no-backup",
            "--no-progress",
        ],
    )
}

/// Every `1234 ms` as `N ms`.
fn without_times(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let follows = |at: usize| words.get(at + 1).is_some_and(|next| next.starts_with("ms"));
    let shown: Vec<&str> = words
        .iter()
        .enumerate()
        .map(|(at, word)| match word.parse::<u32>() {
            Ok(_) if follows(at) => "N",
            _ => word,
        })
        .collect();
    shown.join(" ")
}

const AT_A_REGISTER: [&str; 4] = ["--of", "register", "--at", "120"];

#[test]
fn a_card_that_vanishes() {
    let before = query(LX, "03:00.0", &["vanish"]);
    assert_eq!(before.code, Some(1));
    insta::assert_snapshot!(before.text, @r"
    error: 0000:03:00.0: config dword 0x004 reads all ones; the function is gone from the bus

    advice: the device fell off the bus: look at the kernel log, then restart the machine
    ");
    let meanwhile = query(LX, "03:00.0", &["vanish", "--at", "300"]);
    assert_eq!(meanwhile.code, Some(1));
    insta::assert_snapshot!(meanwhile.text, @r"
    error: 0000:03:00.0: config dword 0x0d0 reads all ones; the function is gone from the bus

    advice: the device fell off the bus: look at the kernel log, then restart the machine
    ");
    let legacy = query("cx3-10g", "01:00.0", &["vanish", "--at", "2000"]);
    insta::assert_snapshot!(legacy.text, @r"warning: 0000:01:00.0: flash: image header: at 0x10000: 0000:01:00.0: config dword 0x05c reads all ones; the function is gone from the bus; query again; if it stays so, restart the machine");
    let burning = update(&[&["vanish"], AT_A_REGISTER.as_slice()].concat());
    assert_eq!(burning.code, Some(1));
    insta::assert_snapshot!(burning.text, @r"
    error: 0000:03:00.0: register 0x9063: 0000:03:00.0: config dword 0x0d0 reads all ones; the function is gone from the bus (stopped at writing the image (last done: preparing the slot); the card still boots 14.25.1020)

    advice: the card lost power or fell off the bus: restart the machine (without power for a moment, if the card stays away), then run the update again
    ");
}

#[test]
fn power_lost_while_the_image_is_written() {
    let told = update(&["power-loss", "--of", "flash", "--at", "40"]);
    assert_eq!(told.code, Some(1));
    insta::assert_snapshot!(told.text, @r"
    error: 0000:03:00.0: register 0x9063: 0000:03:00.0: config dword 0x0d0 reads all ones; the function is gone from the bus (stopped at writing the image (last done: preparing the slot); the card still boots 14.25.1020)

    advice: the card lost power or fell off the bus: restart the machine (without power for a moment, if the card stays away), then run the update again
    ");
}

#[test]
fn a_capability_that_hangs() {
    let told = query(LX, "03:00.0", &["hang", "capability"]);
    assert_eq!(told.code, Some(1));
    insta::assert_snapshot!(told.text, @r"
    error: 0000:03:00.0: read of 0xf0014 in space 0x2 did not finish: the flag did not change in 2048 reads

    advice: query again; if it stays so, restart the machine
    ");
}

#[test]
fn firmware_that_hangs_while_the_image_is_written() {
    let told = update(&[&["hang", "firmware"], AT_A_REGISTER.as_slice()].concat());
    assert_eq!(told.code, Some(1));
    insta::assert_snapshot!(told.text, @r"
    error: 0000:03:00.0: register 0x9063: 0000:03:00.0: the firmware did not finish command 0x9001 in N ms (stopped at writing the image (last done: preparing the slot); the card still boots 14.25.1020; update handle 0x000001 could not be given back: register 0x9062: 0000:03:00.0: the command mailbox is busy although its semaphore was free)

    advice: query the card and run the update again; if it does not answer, restart the machine
    ");
}

#[test]
fn a_gateway_and_a_flash_part_that_hang() {
    let legacy = query("cx3-10g", "01:00.0", &["hang", "gateway"]);
    insta::assert_snapshot!(legacy.text, @r"warning: 0000:01:00.0: flash command 0x00 did not finish in 5000 reads; query again; if it stays so, restart the machine without power for a moment, so that flash and chip begin anew");
    let recovery = query("cx5-recovery", "81:00.0", &["hang", "gateway"]);
    insta::assert_snapshot!(recovery.text, @r"
    warning: 0000:81:00.0: flash command 0x00 did not finish in 5000 reads; query again; if it stays so, restart the machine without power for a moment, so that flash and chip begin anew
    warning: 0000:81:00.0: ConnectX-5 is in flash recovery: no firmware runs on it; `cxfw update -d 0000:81:00.0 --image FILE` writes the image for exactly this board (PSID on the label); add --guid and --mac from the label if the flash has lost them, and switch the machine off and on afterwards
    ");
}

#[test]
fn locks_that_dead_owners_hold() {
    let texts: Vec<String> = std::thread::scope(|scope| {
        let runs = [
            scope.spawn(|| query(LX, "03:00.0", &["hold", "capability"])),
            scope.spawn(|| query(LX, "03:00.0", &["hold", "icmd"])),
            scope.spawn(|| update(&["hold", "flash"])),
            scope.spawn(|| query("cx3-10g", "01:00.0", &["hold", "flash"])),
            scope.spawn(|| query("cx3-10g", "01:00.0", &["hold", "gateway"])),
            scope.spawn(|| query("cx5-recovery", "81:00.0", &["hold", "gateway"])),
        ];
        runs.into_iter()
            .map(|run| run.join().unwrap().text)
            .collect()
    });
    insta::assert_snapshot!(texts.join("\n"), @r"
    error: 0000:03:00.0: the semaphore of the vendor-specific capability was held by ticket 0x5ead0001 (no process known here) for N ms, which blocks every access to the card

    advice: let the other tool end (mlxup, mstflint, a driver's dump); if none runs, a dead one left it held: `cxfw query -d 0000:03:00.0 --release-lock` names its owner and frees it

    error: 0000:03:00.0: the ICMD semaphore was held by token 0x5ead0001 (no process known here) for N ms, which blocks every access to the card's firmware

    advice: let the other tool end (mlxup, mstflint, a driver's dump); if none runs, a dead one left it held: `cxfw query -d 0000:03:00.0 --release-lock` names its owner and frees it

    error: 0000:03:00.0: the card's flash semaphore could not be taken: 0000:03:00.0: the flash semaphore was held by token 0x5ead0001 (no process known here) for N ms, which blocks every burn (stopped at taking the flash semaphore (last done: checking the image); the card still boots 14.25.1020)

    advice: let the tool that holds the flash end; if none runs, a dead one left it locked: `cxfw query -d 0000:03:00.0 --release-lock` names its owner and frees it

    warning: 0000:01:00.0: the flash gateway (0xf03a0) was locked for N ms, by somebody it does not name, which blocks every direct access to the flash; let the other tool end (mlxup, mstflint); if none runs, a dead one left the flash locked: `cxfw query -d 0000:01:00.0 --release-lock` watches it and frees it

    warning: 0000:01:00.0: the flash gateway (0xf03fc) was locked for N ms, by somebody it does not name, which blocks every direct access to the flash; let the other tool end (mlxup, mstflint); if none runs, a dead one left the flash locked: `cxfw query -d 0000:01:00.0 --release-lock` watches it and frees it

    warning: 0000:81:00.0: the flash gateway (0xf0400) was locked for N ms, by somebody it does not name, which blocks every direct access to the flash; let the other tool end (mlxup, mstflint); if none runs, a dead one left the flash locked: `cxfw query -d 0000:81:00.0 --release-lock` watches it and frees it
    warning: 0000:81:00.0: ConnectX-5 is in flash recovery: no firmware runs on it; `cxfw update -d 0000:81:00.0 --image FILE` writes the image for exactly this board (PSID on the label); add --guid and --mac from the label if the flash has lost them, and switch the machine off and on afterwards
    ");
}

#[test]
fn flash_that_reads_wrong_or_cannot_be_written() {
    let wrong = query("cx3-10g", "01:00.0", &["bit-errors"]);
    insta::assert_snapshot!(wrong.text, @r"warning: 0000:01:00.0: flash: no firmware image found: no image marker at any possible start address; query again; if it stays so, the flash needs an image written directly");
    let protected = update(&["write-protect"]);
    assert_eq!(protected.code, Some(1));
    insta::assert_snapshot!(protected.text, @r"
    error: 0000:03:00.0: Flash is write protected (MCC error 0x28) (stopped at preparing the slot (last done: locking the update handle); the card still boots 14.25.1020)

    advice: remove the write protection of the flash first
    ");
}

#[test]
fn firmware_that_refuses_a_step() {
    let texts = [
        ("lock", "0x11"),
        ("update", "0x10"),
        ("verify", "0x05"),
        ("activate", "0x1e"),
        ("release", "0x01"),
    ]
    .map(|(instruction, code)| {
        let told = update(&["refuse", instruction, code]);
        assert_eq!(told.code, Some(1), "{instruction}");
        told.text
    });
    insta::assert_snapshot!(texts.join("\n"), @r"
    error: 0000:03:00.0: the firmware is finishing a copy (MCC error 0x11) (stopped at locking the update handle (last done: asking for an update handle); the card still boots 14.25.1020)

    advice: wait a minute and update again

    error: 0000:03:00.0: flash erase error (MCC error 0x10) (stopped at preparing the slot (last done: locking the update handle); the card still boots 14.25.1020)

    advice: the flash may be write protected or faulty; the running image is untouched

    error: 0000:03:00.0: Rejected authentication (MCC error 0x05) (stopped at verifying the image (last done: writing the image); the card still boots 14.25.1020)

    advice: the signature of the image is not valid: fetch it again from the vendor

    error: 0000:03:00.0: no place (MCC error 0x1e) (stopped at activating the image (last done: verifying the image); the card still boots 14.25.1020)

    advice: run the update once more; if it fails the same way, report it with the code to the vendor of the card

    error: 0000:03:00.0: general error (MCC error 0x01) (stopped at releasing the update handle (last done: activating the image); the card boots 14.32.1010 next; update handle 0x000001 could not be given back: general error (MCC error 0x01))

    advice: the new firmware is in place: restart the machine to run it, then query the card
    ");
}

#[test]
fn what_goes_by_on_a_card_is_counted_for_every_process_until_it_is_told_to_begin_anew() {
    let lab = TestLab::new();
    let ran = lab.run(&["lab", "status", "--reset-counters"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(lab.status(LX)["counters"]["config_reads"], 0);
    lab.run(&["query", "-d", "03:00.0"]);
    let status = lab.status(LX);
    let count = |name: &str| status["counters"][name].as_u64().unwrap();
    assert!(count("config_reads") > 1000 && count("config_writes") > 500);
    assert_eq!(count("icmd_commands"), count("register_accesses"));
    let registers = status["registers"].as_array().unwrap();
    let sum: u64 = registers.iter().map(|r| r["count"].as_u64().unwrap()).sum();
    assert_eq!(sum, count("register_accesses"));
    let mgir = registers.iter().find(|r| r["name"] == "MGIR").unwrap();
    assert_eq!((&mgir["id"], &mgir["count"]), (&"0x9020".into(), &1.into()));
    let violations = status["violations"].as_object().unwrap();
    assert!(violations.values().all(|count| *count == 0));
}

#[test]
fn faults_are_armed_shown_and_cleared() {
    let lab = TestLab::new();
    let power = [
        "power-loss",
        "--at",
        "12",
        "--of",
        "flash",
        "--torn",
        "back",
    ];
    let by_address = [&["lab", "fault", "03:00.1"], power.as_slice()].concat();
    assert_eq!(lab.run(&by_address).code, Some(0));
    let faults = lab.break_card(LX, &["hold", "flash"]);
    assert_eq!(
        faults,
        [
            "power loss (back half done) at flash operation 12 from now",
            "flash semaphore held by a dead owner (0x5ead0001)"
        ]
    );
    assert_eq!(lab.break_card(LX, &["--clear"]), [""; 0]);
    let unknown = lab.run(&["lab", "fault", "nobody", "vanish"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("there is no card `nobody`"));
    let impossible = lab.run(&["lab", "fault", "cx3-10g", "hold", "icmd"]);
    assert_eq!(impossible.code, Some(1));
    assert!(impossible.stderr.contains("cannot break that"));
}

#[test]
fn violations_show_in_the_status_for_people_too() {
    let lab = TestLab::new();
    let opened = cxfw::lab::Lab::open(&lab.path()).unwrap();
    let function = opened.find_chip(LX).unwrap().function(0).unwrap();
    function.write(0xc4, 2).unwrap();
    let status = lab.run(&["lab", "status"]).stdout;
    assert!(
        status.contains("violation: no_capability_semaphore, 1 times"),
        "{status}"
    );
}
