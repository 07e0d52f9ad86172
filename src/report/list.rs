//! The contents of bundles as mlxfwmanager lists them (mft-compat 3.4).

use std::io::{self, Write};

use super::printable;
use crate::bundle::Entry;

/// Width of the part-number column, when no part number is longer.
const PART_NUMBER: usize = 25;
/// The rule below the heading.
const RULE: usize = 110;

/// Marks a version that may not be the image's own.
const DOUBT: &str = " (?)";

/// A table for the entries of each file, the file's name above where there are several; and below
/// them what a mark means.
///
/// # Errors
/// What the writer says.
pub fn tables(out: &mut dyn Write, entries: &[&Entry]) -> io::Result<()> {
    let same_place = |a: &&Entry, b: &&Entry| (&a.file, &a.member) == (&b.file, &b.member);
    let several = entries.chunk_by(same_place).count() > 1;
    for of_file in entries.chunk_by(same_place) {
        if let Some(entry) = of_file.first().filter(|_| several) {
            let file = entry.file.display();
            let place = entry.member.as_ref();
            let place = place.map_or_else(|| file.to_string(), |name| format!("{file} ({name})"));
            heading(out, &place)?;
        }
        table(out, of_file)?;
    }
    if entries.iter().any(|entry| entry.is_doubtful()) {
        writeln!(
            out,
            "{}: the bundle may have cut or exchanged these numbers; list --deep reads them from the images",
            DOUBT.trim()
        )?;
    }
    Ok(())
}

fn table(out: &mut dyn Write, entries: &[&Entry]) -> io::Result<()> {
    let width = entries
        .iter()
        .map(|entry| {
            entry
                .part_number
                .as_deref()
                .map_or(0, |name| name.chars().count())
        })
        .fold(PART_NUMBER, usize::max);
    writeln!(
        out,
        "{:<width$} {:<18} {:<28} {:<14} {:<32} ",
        "PN", "PSID", "Version", "Tag", "Description"
    )?;
    writeln!(out, "{}", "-".repeat(RULE))?;
    for entry in entries {
        row(out, entry, width)?;
    }
    writeln!(out)
}

/// Announces what is said of a file, or of one image in it.
///
/// # Errors
/// What the writer says.
pub fn heading(out: &mut dyn Write, place: &str) -> io::Result<()> {
    writeln!(out, "{}:", printable(place))
}

/// The description; of what is no adapter firmware, what it is.
fn description(entry: &Entry) -> &str {
    let other = entry.other.as_deref();
    entry.description.as_deref().or(other).unwrap_or_default()
}

fn row(out: &mut dyn Write, entry: &Entry, width: usize) -> io::Result<()> {
    let mut versions = entry.versions.iter().map(|version| {
        let doubt = if version.trusted { "" } else { DOUBT };
        printable(&format!("{} {}{doubt}", version.kind, version.text))
    });
    let part_number = printable(entry.part_number.as_deref().unwrap_or("N/A"));
    let psid = entry.psid.as_ref().map_or("N/A", |psid| psid.as_str());
    let tag = if entry.tag.is_empty() {
        "--"
    } else {
        &entry.tag
    };
    writeln!(
        out,
        "{part_number:<width$} {psid:<18} {:<28} {:<14} {:<32}",
        versions.next().unwrap_or_default(),
        printable(tag),
        printable(description(entry)),
    )?;
    let indent = width + 1 + 18 + 1;
    for version in versions {
        writeln!(out, "{:indent$}{version:<12}  ", "")?;
    }
    Ok(())
}
