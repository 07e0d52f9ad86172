//! The matrix as a table.

use std::fmt::Write;
use std::path::Path;

use cxfw::lab::build::Slot;
use cxfw::lab::chip::BootRule;

use super::Cell;
use super::run::{Failure, Tally};

const BEGIN: &str = "<!-- matrix -->";
const END: &str = "<!-- end of matrix -->";

/// A cell and what became of it.
#[derive(Debug)]
pub struct Row {
    pub cell: Cell,
    pub tally: Tally,
}

impl Row {
    fn count(&self, kind: impl Fn(&Failure) -> bool) -> usize {
        let failures = self.tally.failures.iter();
        failures.filter(|(_, failure)| kind(failure)).count()
    }

    /// Each failure with its place in the matrix.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        let Cell {
            generation,
            path,
            rule,
            slot,
        } = self.cell;
        self.tally.failures.iter().map(move |(cuts, failure)| {
            format!(
                "{}, {}, {rule:?}, image in the {slot:?} slot, cut at {cuts}: {failure:?}",
                generation.name,
                path.name()
            )
        })
    }
}

/// The table in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| card | burn | boot rule | image in | cuts | boots old | boots new | dead | changed | \
         not queried | not updated | untrue word | violations |\n\
         |---|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let Cell {
            generation,
            path,
            rule,
            slot,
        } = row.cell;
        let rule = match rule {
            BootRule::LowestGood => "lowest good image",
            BootRule::FirstPattern => "first start pattern",
        };
        let slot = match slot {
            Slot::First => "first slot",
            Slot::Second => "second slot",
        };
        let tally = &row.tally;
        let counts = [
            row.count(|failure| matches!(failure, Failure::Dead)),
            row.count(|failure| matches!(failure, Failure::Lost(_))),
            row.count(|failure| matches!(failure, Failure::NotQueried(_))),
            row.count(|failure| matches!(failure, Failure::NotUpdated(_))),
            row.count(|failure| matches!(failure, Failure::Untrue(_))),
            row.count(|failure| matches!(failure, Failure::Violation(_))),
        ];
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        writeln!(
            text,
            "| {} | {} | {rule} | {slot} | {} | {} | {} | {} |",
            generation.name,
            path.name(),
            tally.runs - tally.no_cut,
            tally.old,
            tally.new,
            counts.join(" | ")
        )
        .unwrap();
    }
    text
}

/// Puts the table into a document, between its marks.
pub fn write(path: &Path, rows: &[Row]) {
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the document has the marks");
    let (_, after) = rest.split_once(END).expect("the document has both marks");
    let new = format!("{before}{BEGIN}\n{}{END}{after}", table(rows));
    std::fs::write(path, new).unwrap();
}
