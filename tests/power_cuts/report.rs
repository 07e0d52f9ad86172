//! The matrix as tables in a document, and what a document must hold.

use std::fmt::Write;
use std::path::Path;

use cxfw::lab::build::Slot;
use cxfw::lab::chip::BootRule;

use super::Cell;
use super::run::{Failure, Tally};

/// cxfw's own table in the document.
pub const MATRIX: Marks = Marks {
    begin: "<!-- matrix -->",
    end: "<!-- end of matrix -->",
};

/// What stands between two lines of a document is written by a program.
#[derive(Debug, Clone, Copy)]
pub struct Marks {
    pub begin: &'static str,
    pub end: &'static str,
}

impl Marks {
    /// Puts `table` into the document.
    pub fn write(self, path: &Path, table: &str) {
        let text = std::fs::read_to_string(path).unwrap();
        let (before, rest) = text.split_once(self.begin).expect("the first mark");
        let (_, after) = rest.split_once(self.end).expect("the last mark");
        let new = format!("{before}{}\n{table}{}{after}", self.begin, self.end);
        std::fs::write(path, new).unwrap();
    }
}

/// A cell and what became of it.
#[derive(Debug)]
pub struct Row {
    pub cell: Cell,
    pub tally: Tally,
}

/// A column of failures: its name, and which belong in it.
type Kind = (&'static str, fn(&Failure) -> bool);

/// Kinds of failures, as columns.
const FAILURES: [Kind; 8] = [
    ("does not boot", |failure| matches!(failure, Failure::Dead)),
    ("is another card", |failure| {
        matches!(failure, Failure::Lost(_))
    }),
    ("not read by cxfw", |failure| {
        matches!(failure, Failure::NotQueried(_))
    }),
    ("takes no update", |failure| {
        matches!(failure, Failure::NotUpdated(_))
    }),
    ("cxfw said untrue", |failure| {
        matches!(failure, Failure::Untrue(_))
    }),
    ("violations", |failure| {
        matches!(failure, Failure::Violation(_))
    }),
    ("not read by mstflint", |failure| {
        matches!(failure, Failure::WitnessQuery(_))
    }),
    ("not burned by mstflint", |failure| {
        matches!(failure, Failure::WitnessBurn(_))
    }),
];

/// Columns that count what was done.
const COUNTS: [&str; 5] = [
    "cuts",
    "boots old",
    "boots new",
    "read by mstflint",
    "burned by mstflint",
];

impl Row {
    /// Each failure with its place in the matrix.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        let place = place(self.cell);
        self.tally
            .failures
            .iter()
            .map(move |(cuts, failure)| format!("{place} cut at {cuts}: {failure:?}"))
    }

    fn counts(&self) -> Vec<u32> {
        let tally = &self.tally;
        let failed = FAILURES.map(|(_, is_this)| {
            let failures = tally.failures.iter();
            let count = failures.filter(|(_, failure)| is_this(failure)).count();
            u32::try_from(count).unwrap()
        });
        let done = [
            tally.runs - tally.no_cut,
            tally.old,
            tally.new,
            tally.shown.queried,
            tally.shown.burned,
        ];
        [done.as_slice(), &failed].concat()
    }
}

/// The first columns of a cell's row.
fn place(cell: Cell) -> String {
    let rule = match cell.rule {
        BootRule::LowestGood => "lowest good image",
        BootRule::FirstPattern => "first start pattern",
    };
    let slot = match cell.slot {
        Slot::First => "first slot",
        Slot::Second => "second slot",
    };
    let (card, path) = (cell.generation.name, cell.path.name());
    format!("| {card} | {path} | {rule} | {slot} |")
}

/// Names of the columns.
fn heading() -> String {
    let counted = COUNTS.into_iter().chain(FAILURES.map(|(name, _)| name));
    let names: Vec<&str> = ["card", "burn", "boot rule", "image in"]
        .into_iter()
        .chain(counted)
        .collect();
    format!("| {} |", names.join(" | "))
}

/// The table in Markdown, with a last row of sums.
pub fn table(rows: &[Row]) -> String {
    let columns = COUNTS.len() + FAILURES.len();
    let mut text = format!(
        "{}\n|---|---|---|---|{}\n",
        heading(),
        "--:|".repeat(columns)
    );
    let mut sums = vec![0; columns];
    let mut add = |place: &str, counts: &[u32]| {
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        writeln!(text, "{place} {} |", counts.join(" | ")).unwrap();
    };
    for row in rows {
        let counts = row.counts();
        for (sum, count) in sums.iter_mut().zip(&counts) {
            *sum += count;
        }
        add(&place(row.cell), &counts);
    }
    add("| all | | | |", &sums);
    text
}
