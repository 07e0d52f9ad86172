//! Many processes on one card at the same time: each is right, or fails cleanly, and none leaves
//! a lock behind.

use std::process::{Child, Stdio};

use serde_json::Value;

use crate::bench::{
    Bench, CONNECTX_3, CONNECTX_4_LX, CONNECTX_5, CONNECTX_6_DX, Subject, Way, full, witness,
};
use crate::query_text::QueryText;

const QUERIES: usize = 8;

/// Rounds: all with `CXFW_WITNESS=full`.
fn rounds() -> usize {
    if full() { 50 } else { 3 }
}

fn start_query(bench: &Bench) -> Child {
    let mut command = bench.command(&["query", "--format", "json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn answer(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["cards"][0].clone()
}

/// Nothing on the chip is held: the next program of either kind gets through at once.
fn assert_nothing_held(bench: &Bench, way: Way) {
    assert_eq!(bench.query()["error"], Value::Null);
    bench.witness_query(way);
    let locks = bench.lab().roots().locks;
    let claims: Vec<_> = std::fs::read_dir(locks)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".claims"))
        .collect();
    assert!(claims.is_empty(), "{claims:?}");
}

#[test]
fn eight_queries_at_once_all_give_the_right_answer() {
    for subject in [CONNECTX_3, CONNECTX_4_LX] {
        let bench = Bench::new(subject);
        let expected = bench.query();
        assert_eq!(expected["error"], Value::Null);
        let mut right = 0;
        for _ in 0..rounds() {
            let queries: Vec<Child> = (0..QUERIES).map(|_| start_query(&bench)).collect();
            for query in queries {
                assert_eq!(answer(query), expected);
                right += 1;
            }
        }
        println!("{}: {right} right answers", subject.name);
        bench.assert_well_behaved();
    }
}

/// What the witness may do when it cannot have a lock.
fn gave_up(text: &str) -> bool {
    text.contains("Resource temporarily unavailable") || text.contains("semaphore")
}

#[test]
fn both_programs_at_once_are_right_or_give_up_and_leave_nothing_held() {
    if !witness() {
        return;
    }
    for subject in [CONNECTX_3, CONNECTX_4_LX, CONNECTX_5, CONNECTX_6_DX] {
        together(subject);
    }
}

fn together(subject: Subject) {
    let bench = Bench::new(subject);
    let expected = bench.query();
    let witnessed = QueryText::new(&bench.witness_query(Way::Firmware));
    for _ in 0..rounds() {
        let mut command = bench.mstflint_command(Way::Firmware, &["query", "full"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let witness = command.spawn().unwrap();
        let queries: Vec<Child> = (0..2).map(|_| start_query(&bench)).collect();
        for query in queries {
            assert_eq!(answer(query), expected, "{}", subject.name);
        }
        let output = witness.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        if output.status.success() {
            assert_eq!(QueryText::new(&text), witnessed);
        } else {
            let text = text + &String::from_utf8(output.stderr).unwrap();
            assert!(gave_up(&text), "{}: {text}", subject.name);
        }
    }
    bench.assert_well_behaved();
    assert_nothing_held(&bench, Way::Firmware);
}
