//! Power is lost at every moment of a burn, and the card goes on.
//!
//! A matrix of card generations, ways to burn, boot rules and slots. In each cell a burn is cut at
//! its flash operations (before each, and torn three ways), at its register accesses and at its
//! config cycles; then power returns, and the card must boot the old or the new image, as cxfw said
//! it would; still be the same card; answer a query; and take the next update. Where root runs the
//! tests and mstflint is installed, that tool must read and burn the card as well ([`witness`]), and its own
//! burns are cut in the same way ([`theirs`]).
//!
//! Plain `cargo test` samples it. `CXFW_MATRIX=full cargo test --release --test power_cuts` cuts at
//! every flash operation, and `CXFW_MATRIX_REPORT=FILE` has the table written
//! into FILE (docs/reliability.md), between its marks.

#![cfg(feature = "mount")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a matrix that cannot be set up has failed"
)]

#[path = "../cli_common/witness.rs"]
mod way;

mod bench;
mod cuts;
mod path;
mod report;
mod run;
mod state;
mod theirs;
mod tool;
mod witness;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cxfw::lab::build::Slot;
use cxfw::lab::chip::BootRule;

use bench::{Bench, GENERATIONS, Generation};
use cuts::{Extent, cut_list};
use path::BurnPath;
use report::Row;
use run::Tally;
use state::Seen;
use witness::Witness;

/// Cells worked on at the same time; mstflint mostly waits.
const THREADS: usize = 4;

/// One cell of the matrix.
#[derive(Debug, Clone, Copy)]
struct Cell {
    generation: &'static Generation,
    path: BurnPath,
    rule: BootRule,
    slot: Slot,
}

/// All cells, or of each way to burn one under each rule.
fn cells(extent: Extent) -> Vec<Cell> {
    let mut cells = Vec::new();
    let sampled = [
        (BootRule::LowestGood, Slot::Second),
        (BootRule::FirstPattern, Slot::First),
    ];
    for generation in GENERATIONS {
        for &path in generation.paths {
            for rule in [BootRule::LowestGood, BootRule::FirstPattern] {
                for slot in [Slot::First, Slot::Second] {
                    if extent == Extent::Sampled && !sampled.contains(&(rule, slot)) {
                        continue;
                    }
                    cells.push(Cell {
                        generation,
                        path,
                        rule,
                        slot,
                    });
                }
            }
        }
    }
    cells
}

/// All runs of a cell. With a witness the thread sees the lab in place of the hardware from then
/// on, so it works on no other cell.
fn sweep(cell: Cell, seen: Option<&Seen>, (extent, number): (Extent, usize)) -> Tally {
    let bench = Bench::new(cell.generation, cell.rule, cell.slot);
    let size = run::measure(&bench, cell.path);
    let witness = seen.map(|seen| Witness::new(&bench, seen, extent));
    let mut tally = Tally::default();
    for cuts in cut_list(&size, extent, number) {
        let result = run::run(&bench, witness.as_ref(), cell.path, &cuts);
        tally.add(&cuts, result);
    }
    tally.shown = witness.as_ref().map(Witness::shown).unwrap_or_default();
    tally
}

#[test]
fn a_power_cut_at_any_moment_leaves_a_card_that_boots_and_takes_the_next_update() {
    let extent = Extent::from_environment();
    let cells = cells(extent);
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    let seen = way::witness().then(Seen::default);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&cell) = cells.get(number) else {
                        return;
                    };
                    let seen = seen.as_ref();
                    let work = scope.spawn(move || sweep(cell, seen, (extent, number)));
                    let tally = work.join().unwrap();
                    let row = Row { cell, tally };
                    println!("{row}");
                    rows.lock().unwrap().push((number, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(number, _)| *number);
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    println!("{}", report::table(&rows));
    if let Some(path) = std::env::var_os("CXFW_MATRIX_REPORT") {
        report::MATRIX.write(path.as_ref(), &report::table(&rows));
    }
    let failures: Vec<String> = rows.iter().flat_map(Row::failures).collect();
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn the_document_has_the_cells_of_the_matrix_and_none_in_which_a_card_was_lost() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reliability.md");
    let document = std::fs::read_to_string(path).unwrap();
    report::check(&document, &cells(Extent::Full));
}
