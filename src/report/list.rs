//! The contents of bundles as mlxfwmanager lists them (mft-compat 3.4).

use std::io::{self, Write};

use super::printable;
use crate::bundle::Entry;

/// Width of the part-number column, when no part number is longer.
const PART_NUMBER: usize = 25;
/// The rule below the heading.
const RULE: usize = 110;

/// One table for all entries.
///
/// # Errors
/// What the writer says.
pub fn table(out: &mut dyn Write, entries: &[&Entry]) -> io::Result<()> {
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
pub fn heading(out: &mut dyn Write, file: &str, image: Option<&str>) -> io::Result<()> {
    match image {
        Some(image) => writeln!(out, "{} ({}):", printable(file), printable(image)),
        None => writeln!(out, "{}:", printable(file)),
    }
}

fn row(out: &mut dyn Write, entry: &Entry, width: usize) -> io::Result<()> {
    let mut versions = entry
        .versions
        .iter()
        .map(|version| printable(&format!("{} {}", version.kind, version.text)));
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
        printable(entry.description.as_deref().unwrap_or("")),
    )?;
    let indent = width + 1 + 18 + 1;
    for version in versions {
        writeln!(out, "{:indent$}{version:<12}  ", "")?;
    }
    Ok(())
}
