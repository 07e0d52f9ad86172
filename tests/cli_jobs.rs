//! Many cards at a time: how long that takes, in which order it is told, and that one card's
//! trouble is its own.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program has failed"
)]

mod cli_common;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cli_common::{TestLab, equal_cards, schema};
use cxfw::access::Device;
use cxfw::lab::Lab;
use cxfw::pci::Address;
use serde_json::Value;

/// Nanoseconds of a config cycle on a bus slow enough to be told from a busy machine.
const SLOW_BUS: u64 = 20_000;

/// The card on bus 0x20 + `number`, opened by somebody who is not the program under test.
fn opened(lab: &TestLab, number: u8) -> Device {
    let address: Address = format!("0000:{:02x}:00.0", 0x20 + number).parse().unwrap();
    let config = Lab::open(&lab.path()).unwrap().config_source();
    Device::open(config.open(address).unwrap(), None).unwrap()
}

fn results(document: &Value) -> Vec<&str> {
    let cards = document["cards"].as_array().unwrap();
    cards
        .iter()
        .map(|card| card["result"].as_str().unwrap())
        .collect()
}

#[test]
fn eight_equal_cards_take_at_most_half_as_long_again_as_one() {
    let lab = TestLab::of(&equal_cards(8, SLOW_BUS));
    let timed = |cards: usize, args: &[&str]| -> Duration {
        let start = Instant::now();
        let ran = lab.run(&[&["update", "--yes", "--no-backup"], args].concat());
        let took = start.elapsed();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let summary = format!("Summary: {cards} burned\n");
        assert!(ran.stdout.ends_with(&summary), "{}", ran.stdout);
        took
    };
    let one = timed(1, &["-d", "20:00.0"]);
    lab.reset();
    let eight = timed(8, &["--reinstall"]);
    println!("one card {one:?}, eight cards {eight:?}");
    assert!(
        eight < one.mul_f64(1.5),
        "{eight:?} for eight, {one:?} for one"
    );
}

#[test]
fn results_come_in_the_order_of_the_cards_and_lines_say_whose_they_are() {
    let lab = TestLab::of(&equal_cards(4, 0));
    let ran = lab.run(&["update", "--yes", "--jobs", "4"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let done: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.ends_with(": Done"))
        .collect();
    assert_eq!(
        done,
        [
            "Device #1 (0000:20:00.0): Done",
            "Device #2 (0000:21:00.0): Done",
            "Device #3 (0000:22:00.0): Done",
            "Device #4 (0000:23:00.0): Done",
        ]
    );
    assert!(
        ran.stdout.ends_with("Summary: 4 burned\n"),
        "{}",
        ran.stdout
    );
    for number in 0..4 {
        let line = format!(
            "Device #{} (0000:{:02x}:00.0): FSMST_INITIALIZE -   OK          \n",
            number + 1,
            0x20 + number
        );
        assert!(ran.stderr.contains(&line), "{}", ran.stderr);
    }
}

#[test]
fn the_events_of_every_card_name_it() {
    let lab = TestLab::of(&equal_cards(3, 0));
    let ran = lab.run(&["update", "--yes", "--format", "json", "--progress", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "update.json");
    assert_eq!(results(&document), ["burned"; 3]);
    let activated: BTreeSet<String> = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["event"] == "phase_done" && event["phase"] == "activate")
        .map(|event| event["device"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(activated.len(), 3);
}

#[test]
fn one_card_in_trouble_stops_no_other() {
    let lab = TestLab::of(&equal_cards(3, 0));
    let second = opened(&lab, 1);
    let held = second.flash_semaphore().unwrap();
    let ran = lab.run(&["update", "--yes", "--format", "json"]);
    drop(held);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "update.json");
    assert_eq!(results(&document), ["burned", "failed", "burned"]);
    assert_eq!(document["cards"][1]["code"], "semaphore_busy");
    assert_eq!(document["summary"]["burned"], 2);
    assert!(ran.stderr.contains("0000:21:00.0: "), "{}", ran.stderr);
    // nothing is left behind on any of them
    assert_eq!(lab.run(&["update", "--yes"]).code, Some(0));
}

#[test]
fn a_dry_run_of_many_cards_shows_the_steps_of_each_in_order() {
    let lab = TestLab::of(&equal_cards(3, 0));
    let before = lab.flashes();
    let ran = lab.run(&["update", "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let headings: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.contains("dry run"))
        .collect();
    assert_eq!(headings.len(), 3);
    for (number, heading) in headings.iter().enumerate() {
        let start = format!(
            "Device #{} (0000:{:02x}:00.0): dry run",
            number + 1,
            0x20 + number
        );
        assert!(heading.starts_with(&start), "{heading}");
    }
    assert_eq!(lab.flashes(), before);
}

#[test]
fn no_jobs_at_all_is_no_number_of_jobs() {
    let ran = cli_common::run(&["update", "--jobs", "0", "--yes"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
