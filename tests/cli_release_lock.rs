//! Locks that somebody left held: told by query and update, freed with `--release-lock` and
//! never otherwise.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program has failed"
)]

mod cli_common;

use std::fs::File;
use std::mem;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cli_common::{TestLab, equal_cards};
use cxfw::access::{Device, read_register, write_register};
use cxfw::lab::Lab;
use cxfw::pci::ConfigSpace;
use cxfw::registers::Mcc;
use cxfw::registers::mcc::Instruction;

const DEVICE: &str = "0000:20:00.0";

/// Registers of the capability of a lab's functions: a new ticket, the owner's ticket.
const TICKET: u16 = 0xc8;
const OWNER: u16 = 0xcc;

fn config(lab: &TestLab) -> Arc<dyn ConfigSpace> {
    let source = Lab::open(&lab.path()).unwrap().config_source();
    source.open(DEVICE.parse().unwrap()).unwrap()
}

#[test]
fn a_capability_that_a_dead_tool_kept_is_freed_on_the_users_word_only() {
    let lab = TestLab::of(&equal_cards(1, 0));
    let config = config(&lab);
    let ticket = config.read(TICKET).unwrap();
    config.write(OWNER, ticket).unwrap();

    let ran = lab.run(&["query"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("--release-lock"), "{}", ran.stderr);
    let ran = lab.run(&["update", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let ran = lab.run(&["query", "-d", DEVICE, "--release-lock"]);
    assert_eq!(ran.code, Some(2), "nobody could be asked: {ran:?}");
    assert_eq!(config.read(OWNER).unwrap(), ticket);

    let ran = lab.run(&["query", "-d", DEVICE, "--release-lock", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = format!("the capability semaphore is held by {ticket:#x}, which is no process");
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("it blocks every access to the card"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("14.25.1020"), "{}", ran.stdout);
    assert_eq!(config.read(OWNER).unwrap(), 0);
}

#[test]
fn a_flash_semaphore_that_a_dead_tool_kept_is_freed_and_the_card_can_be_burned() {
    let lab = TestLab::of(&equal_cards(1, 0));
    let device = Device::open(config(&lab), None).unwrap();
    mem::forget(device.flash_semaphore().unwrap());
    assert_eq!(lab.run(&["update", "--yes"]).code, Some(1));
    let ran = lab.run(&["query", "-d", DEVICE, "--release-lock", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("it blocks every burn"),
        "{}",
        ran.stderr
    );
    assert_eq!(lab.run(&["update", "--yes"]).code, Some(0));
}

#[test]
fn a_semaphore_of_a_living_process_is_named_and_kept() {
    let lab = TestLab::of(&equal_cards(1, 0));
    let device = Device::open_shared(config(&lab), None, &lab.path().join("locks")).unwrap();
    let held = device.flash_semaphore().unwrap();
    let ran = lab.run(&["query", "-d", DEVICE, "--release-lock", "--yes"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let owner = format!(
        "the flash semaphore is held by process {}",
        std::process::id()
    );
    assert!(ran.stderr.contains(&owner), "{}", ran.stderr);
    let ran = lab.run(&["update", "--yes"]);
    assert_eq!(ran.code, Some(1), "still held: {ran:?}");
    let owner = format!("(process {} (`", std::process::id());
    assert!(ran.stderr.contains(&owner), "{}", ran.stderr);
    drop(held);
    assert_eq!(lab.run(&["update", "--yes"]).code, Some(0));
}

/// Cards whose flash is read through the gateway, and where they are.
const BY_GATEWAY: [(&str, &str); 2] = [("cx5-recovery", "81:00.0"), ("cx3-10g", "01:00.0")];

/// A lab with the gateway of a card held by a dead owner.
fn lab_with_held_gateway(card: &str) -> TestLab {
    let lab = TestLab::new();
    let ran = lab.run(&["lab", "fault", card, "hold", "gateway"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    lab
}

#[test]
fn a_gateway_that_a_dead_tool_kept_is_watched_and_freed() {
    for (card, device) in BY_GATEWAY {
        let lab = lab_with_held_gateway(card);
        let ran = lab.run(&["query", "-d", device, "--release-lock", "--yes"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for told in [
            "the flash gateway is held by somebody it does not name, without a change for 5 s; it \
             blocks every direct access to the flash",
            "flash gateway: freed",
        ] {
            assert!(ran.stderr.contains(told), "{}", ran.stderr);
        }
        let ran = lab.run(&["query", "-d", device]);
        assert!(!ran.stderr.contains("gateway"), "{}", ran.stderr);
    }
}

#[test]
fn a_gateway_that_somebody_works_with_is_not_stuck() {
    /// The address register.
    const ADDRESS: u32 = 0xf_0404;
    let (card, device) = BY_GATEWAY[0];
    let lab = lab_with_held_gateway(card);
    let source = Lab::open(&lab.path()).unwrap().config_source();
    let config = source.open(format!("0000:{device}").parse().unwrap());
    let at_work = Device::open(config.unwrap(), None).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for address in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                at_work.write_cr(ADDRESS, address).unwrap();
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let ran = lab.run(&["query", "-d", device, "--release-lock", "--yes"]);
        done.store(true, Ordering::Relaxed);
        assert!(ran.stderr.contains("no lock is stuck"), "{}", ran.stderr);
    });
    let ran = lab.run(&["query", "-d", device]);
    assert!(ran.stderr.contains("was locked for"), "{}", ran.stderr);
}

#[test]
fn a_gateway_is_kept_while_a_tool_has_the_card_open() {
    let (card, device) = BY_GATEWAY[0];
    let lab = lab_with_held_gateway(card);
    // something with that name that does nothing, and has the card's configuration space open
    let tool = lab.beside("mstflint");
    let copied = Command::new("cp").arg("/bin/sleep").arg(&tool).status();
    assert!(copied.unwrap().success());
    let config = format!("sys/bus/pci/devices/0000:{device}/config");
    let mut tool = Command::new(tool)
        .arg("100")
        .stdin(File::open(lab.path().join(config)).unwrap())
        .spawn()
        .unwrap();
    let ran = lab.run(&["query", "-d", device, "--release-lock", "--yes"]);
    let told = format!("held by process {} (`mstflint`)", tool.id());
    tool.kill().unwrap();
    tool.wait().unwrap();
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    let ran = lab.run(&["query", "-d", device]);
    assert!(ran.stderr.contains("was locked for"), "{}", ran.stderr);
}

#[test]
fn an_update_handle_that_a_dead_tool_kept_is_named_and_taken_away() {
    let lab = TestLab::of(&equal_cards(1, 0));
    let device = Device::open(config(&lab), None).unwrap();
    let registers = device.registers().unwrap();
    let fresh = read_register(registers, &Mcc::default()).unwrap();
    let lock = Mcc {
        instruction: Instruction::LockUpdateHandle,
        update_handle: fresh.update_handle,
        ..Mcc::default()
    };
    write_register(registers, &lock).unwrap();
    let ran = lab.run(&["update", "--yes", "--no-backup"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("--release-lock"), "{}", ran.stderr);
    // again, for firmware forgets an owner that it does not hear of
    write_register(registers, &lock).unwrap();
    let ran = lab.run(&["query", "-d", DEVICE, "--release-lock", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for told in [
        "the update handle is held by tool (ICMD) of host 0, state locked",
        "it blocks every update through the firmware",
        "update handle: freed",
    ] {
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
    assert_eq!(lab.run(&["update", "--yes", "--no-backup"]).code, Some(0));
}

#[test]
fn without_a_stuck_lock_nothing_is_freed_and_one_card_must_be_named() {
    let lab = TestLab::of(&equal_cards(2, 0));
    let ran = lab.run(&["query", "-d", DEVICE, "--release-lock", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("no lock is stuck"), "{}", ran.stderr);
    for devices in [&["-d", "all"][..], &["-d", DEVICE, "-d", "21:00.0"], &[]] {
        let ran = lab.run(&[&["query", "--release-lock", "--yes"], devices].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
}
