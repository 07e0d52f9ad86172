//! The same for mstflint's own burns: power is lost at every flash operation of a burn, whole and
//! torn, and the card is looked at.
//!
//! mstflint burns once. Whenever it changes the flash ([`recording`]), an equal card is brought into
//! the state the card was in, and the very config write is made there with power lost in each of its
//! flash operations: what is left is what a burn cut there leaves, which a test holds against a
//! real one.

mod recording;
mod sweep;
pub mod table;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cxfw::lab::build::Slot;

use super::THREADS;
use super::bench::{Generation, generation};
use super::cuts::Extent;
use super::way::{self, Way};
use sweep::Sweep;
use table::Row;

/// One way of mstflint to burn a card.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub generation: &'static Generation,
    pub way: Way,
    /// Where the image is that runs.
    pub slot: Slot,
}

/// Ways that differ, of each card.
const WAYS: [(&str, &[Way]); 4] = [
    ("cx3-10g", &[Way::Firmware]),
    ("cx4lx", &[Way::Firmware, Way::Registers, Way::Gateway]),
    (
        "cx5-recovery",
        &[Way::Firmware, Way::Registers, Way::Gateway],
    ),
    ("cx6dx", &[Way::Firmware]),
];

/// All cells, or of the smallest card one.
pub fn cells(extent: Extent) -> Vec<Cell> {
    let all = WAYS.iter().flat_map(|(card, ways)| {
        let generation = generation(card);
        ways.iter().flat_map(move |&way| {
            [Slot::First, Slot::Second].map(|slot| Cell {
                generation,
                way,
                slot,
            })
        })
    });
    match extent {
        Extent::Full => all.collect(),
        Extent::Sampled => all.take(1).collect(),
    }
}

#[test]
fn mstflint_cut_at_every_flash_operation() {
    if !way::witness() {
        return;
    }
    let extent = Extent::from_environment();
    let cells = cells(extent);
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(&cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let work = scope.spawn(move || Sweep::new(cell, extent).run());
                    let tally = work.join().unwrap();
                    rows.lock().unwrap().push(Row { cell, tally });
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|row| {
        let same = |cell: &Cell| table::place(*cell) == table::place(row.cell);
        cells.iter().position(same)
    });
    println!("{}", table::table(&rows));
    if let Some(path) = std::env::var_os("CXFW_MATRIX_REPORT") {
        table::MARKS.write(path.as_ref(), &table::table(&rows));
    }
    // What becomes of the cards is mstflint's affair; that they were cut and looked at is ours.
    for row in &rows {
        let tally = &row.tally;
        assert!(tally.states >= 4 * tally.operations, "{row:?}");
        assert!(tally.shown > 0, "{row:?}");
    }
}

#[test]
fn what_is_remade_from_a_recording_is_what_a_real_cut_leaves() {
    if way::witness() {
        std::thread::scope(|scope| {
            scope.spawn(sweep::compare_with_a_real_cut).join().unwrap();
        });
    }
}

#[test]
fn the_document_has_the_cells_of_mstflints_matrix() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reliability.md");
    let document = std::fs::read_to_string(path).unwrap();
    table::check(&document, &cells(Extent::Full));
}
