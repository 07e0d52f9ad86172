//! `lab fault` and `lab status`: arming, telling, clearing, counting.

use serde_json::Value;

use crate::cli_common::{TestLab, schema};

const LX: &str = "cx4lx";

impl TestLab {
    /// Breaks a card; what `lab status` says of it then.
    fn faults_after(&self, card: &str, kind: &[&str]) -> Vec<String> {
        let ran = self.run(&[&["lab", "fault", card, "--format", "json"], kind].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{kind:?}");
        let status = lab_card(&ran.json(), card);
        let faults = status["faults"].as_array().unwrap();
        let text = |fault: &Value| fault.as_str().unwrap().to_owned();
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
    let faults = lab.faults_after(LX, &["hold", "flash"]);
    assert_eq!(
        faults,
        [
            "power loss (back half done) at flash operation 12 from now",
            "flash semaphore held by a dead owner (0x5ead0001)"
        ]
    );
    assert_eq!(lab.faults_after(LX, &["--clear"]), [""; 0]);
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
