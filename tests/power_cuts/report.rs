//! The matrix as tables in a document, and what a document must hold.

use std::fmt::{self, Write};
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
    /// What stands there.
    pub fn find(self, document: &str) -> &str {
        let (_, rest) = document.split_once(self.begin).expect("the first mark");
        rest.split_once(self.end).expect("the last mark").0.trim()
    }

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

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> = self.counts().iter().map(ToString::to_string).collect();
        write!(f, "{} {} |", place(self.cell), counts.join(" | "))
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
    for row in rows {
        for (sum, count) in sums.iter_mut().zip(row.counts()) {
            *sum += count;
        }
        writeln!(text, "{row}").unwrap();
    }
    let sums: Vec<String> = sums.iter().map(ToString::to_string).collect();
    writeln!(text, "| all | | | | {} |", sums.join(" | ")).unwrap();
    text
}

/// The document's table has the columns and the cells of today, something was cut in each, and
/// nothing failed in any.
pub fn check(document: &str, cells: &[Cell]) {
    let mut lines = MATRIX.find(document).lines();
    assert_eq!(lines.next(), Some(heading().as_str()));
    lines.next().expect("the line below the heading");
    for &cell in cells {
        let line = lines.next().unwrap_or_default();
        let counts = line.strip_prefix(place(cell).as_str());
        let counts = counts.unwrap_or_else(|| panic!("{} expected, not {line}", place(cell)));
        let counts: Vec<u32> = counts
            .split('|')
            .filter_map(|count| count.trim().parse().ok())
            .collect();
        let (done, failed) = counts.split_at(COUNTS.len());
        assert!(done[0] > 0 && done[1] + done[2] == done[0], "{line}");
        assert_eq!(failed, [0; FAILURES.len()], "{line}");
    }
    let sums = lines.next().unwrap_or_default();
    assert!(sums.starts_with("| all |"), "{sums}");
    assert_eq!(lines.next(), None);
}
