//! mstflint's matrix as a table.

use std::fmt::Write;

use cxfw::lab::build::Slot;

use super::Cell;
use super::sweep::Tally;
use crate::report::Marks;
use crate::way::Way;

/// Its place in the document.
pub const MARKS: Marks = Marks {
    begin: "<!-- mstflint -->",
    end: "<!-- end of mstflint -->",
};

/// A cell and what became of it.
#[derive(Debug)]
pub struct Row {
    pub cell: Cell,
    pub tally: Tally,
}

const HEADING: &str = "| card | mstflint burn | image in | flash operations | cuts | \
     does not boot (lowest good image) | does not boot (first start pattern) | is another card | \
     different cards | shown to mstflint | refused the same way | refused every way |";

/// Columns that count.
const COLUMNS: usize = 9;

/// The first columns of a cell's row.
pub fn place(cell: Cell) -> String {
    let way = match cell.way {
        Way::Firmware => "default",
        Way::Registers => "`--no_fw_ctrl`",
        Way::Gateway => "`-ocr`",
    };
    let slot = match cell.slot {
        Slot::First => "first slot",
        Slot::Second => "second slot",
    };
    format!("| {} | {way} | {slot} |", cell.generation.name)
}

/// The table in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = format!("{HEADING}\n|---|---|---|{}\n", "--:|".repeat(COLUMNS));
    let mut words: Vec<&str> = Vec::new();
    for Row { cell, tally } in rows {
        let [lowest, first] = tally.booted;
        let counts = [
            tally.operations,
            tally.states,
            lowest.dead,
            first.dead,
            lowest.changed + first.changed,
            tally.different,
            tally.shown,
            tally.refused,
            tally.refused_by_every_way,
        ];
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        writeln!(text, "{} {} |", place(*cell), counts.join(" | ")).unwrap();
        words.extend(tally.words.iter().map(String::as_str));
    }
    words.sort_unstable();
    words.dedup();
    if !words.is_empty() {
        text.push_str("\nIts words to the cards it refused:\n\n");
        for word in words {
            writeln!(text, "    {word}").unwrap();
        }
    }
    text
}

/// The document's table has the columns and the cells of today.
pub fn check(document: &str, cells: &[Cell]) {
    let mut lines = MARKS.find(document).lines();
    assert_eq!(lines.next(), Some(HEADING));
    lines.next().expect("the line below the heading");
    for &cell in cells {
        let line = lines.next().unwrap_or_default();
        let counts = line.strip_prefix(place(cell).as_str());
        let counts = counts.unwrap_or_else(|| panic!("{} expected, not {line}", place(cell)));
        let counted = counts.split('|').filter(|count| {
            let number: Result<u32, _> = count.trim().parse();
            number.is_ok()
        });
        assert_eq!(counted.count(), COLUMNS, "{line}");
    }
    assert!(!lines.next().unwrap_or_default().starts_with('|'));
}
