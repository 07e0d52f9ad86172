//! Semaphores that somebody left held: told by query and update, freed with `--release-lock` and
//! never otherwise.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program has failed"
)]

mod cli_common;

use std::mem;
use std::sync::Arc;

use cli_common::{TestLab, equal_cards};
use cxfw::access::Device;
use cxfw::lab::Lab;
use cxfw::pci::ConfigSpace;

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
    assert_eq!(lab.run(&["update", "--yes"]).code, Some(1), "still held");
    drop(held);
    assert_eq!(lab.run(&["update", "--yes"]).code, Some(0));
}

#[test]
fn without_a_stuck_semaphore_nothing_is_freed_and_one_card_must_be_named() {
    let lab = TestLab::of(&equal_cards(2, 0));
    let ran = lab.run(&["query", "-d", DEVICE, "--release-lock", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("no semaphore is stuck"),
        "{}",
        ran.stderr
    );
    for devices in [&["-d", "all"][..], &["-d", DEVICE, "-d", "21:00.0"], &[]] {
        let ran = lab.run(&[&["query", "--release-lock", "--yes"], devices].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
}
