//! Power is lost at every moment of a burn, and the card goes on.
//!
//! A matrix of card generations, ways to burn, boot rules and slots. In each cell a burn is cut at
//! its flash operations (before each, and torn three ways), at its register accesses and at its
//! config cycles; then power returns, and the card must boot the old or the new image, as cxfw said
//! it would; still be the same card; answer a query; and take the next update.
//!
//! Plain `cargo test` samples it. `CXFW_MATRIX=full cargo test --release --test power_cuts` cuts at
//! every flash operation and register access, and `CXFW_MATRIX_REPORT=FILE` has the table written
//! into FILE (docs/reliability.md), between its marks.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a matrix that cannot be set up has failed"
)]

mod bench;
mod cuts;
mod path;
mod report;
mod run;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cxfw::lab::build::Slot;
use cxfw::lab::chip::BootRule;

use bench::{Bench, GENERATIONS, Generation};
use cuts::{Extent, cut_list};
use path::BurnPath;
use report::Row;
use run::Tally;

/// Cells worked on at the same time.
const THREADS: usize = 2;

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

fn sweep(cell: Cell, extent: Extent, number: usize) -> Tally {
    let bench = Bench::new(cell.generation, cell.rule, cell.slot);
    let size = run::measure(&bench, cell.path);
    let mut tally = Tally::default();
    for cuts in cut_list(&size, extent, number) {
        tally.add(&cuts, run::run(&bench, cell.path, &cuts));
    }
    tally
}

#[test]
fn a_power_cut_at_any_moment_leaves_a_card_that_boots_and_takes_the_next_update() {
    let extent = Extent::from_environment();
    let cells = cells(extent);
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&cell) = cells.get(number) else {
                        return;
                    };
                    let tally = sweep(cell, extent, number);
                    rows.lock().unwrap().push((number, Row { cell, tally }));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(number, _)| *number);
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    println!("{}", report::table(&rows));
    if let Some(path) = std::env::var_os("CXFW_MATRIX_REPORT") {
        report::write(path.as_ref(), &rows);
    }
    let failures: Vec<String> = rows.iter().flat_map(Row::failures).collect();
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
