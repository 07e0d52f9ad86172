//! The query report as mlxup prints it (mft-compat 2.1), trailing blanks included.

use std::io::{self, Write};

use super::versions::{self, VersionRow};
use super::{CardView, address, printable, status};
use crate::card::Firmware;
use crate::plan::Status;

/// Value of a label that has none.
const MISSING: &str = "N/A";
/// Value of a field of a card that could not be opened.
const UNOPENED: &str = "--";

/// The whole report: heading and a block a card.
///
/// # Errors
/// What the writer says.
pub fn query(out: &mut dyn Write, cards: &[CardView<'_>]) -> io::Result<()> {
    writeln!(out, "Querying Mellanox devices firmware ...")?;
    writeln!(out)?;
    for (index, card) in cards.iter().enumerate() {
        block(out, index + 1, card)?;
    }
    Ok(())
}

/// One card's block. `number` counts from 1.
fn block(out: &mut dyn Write, number: usize, view: &CardView<'_>) -> io::Result<()> {
    let card = view.card;
    // A card that cannot be opened may still be known to its driver.
    let opened = !matches!(view.decision.status, Status::Failed | Status::Recovery)
        || card.firmware != Firmware::default();
    writeln!(out, "Device #{number}:")?;
    writeln!(out, "----------")?;
    writeln!(out)?;
    label(
        out,
        "Device Type",
        card.model.map_or(MISSING, |model| model.name),
    )?;
    let no_part = if opened { MISSING } else { UNOPENED };
    label(
        out,
        "Part Number",
        card.part_number.as_deref().unwrap_or(no_part),
    )?;
    label(
        out,
        "Description",
        card.description.as_deref().unwrap_or(""),
    )?;
    label(
        out,
        "PSID",
        card.psid.as_ref().map_or("", |psid| psid.as_str()),
    )?;
    label(out, "PCI Device Name", &card.device)?;
    for line in address::lines(card) {
        label(out, line.label, line.value.as_deref().unwrap_or(MISSING))?;
    }
    writeln!(
        out,
        "  {:<18}{:<14} {:<14}",
        "Versions:", "Current", "Available"
    )?;
    if opened {
        for row in versions::rows(view) {
            version_row(out, &row)?;
        }
    } else {
        columns(out, "FW", UNOPENED, "")?;
    }
    writeln!(out)?;
    label(out, "Status", &status::text(view.decision))?;
    writeln!(out)
}

/// Two blanks, the label, and the value in column 21; an empty value leaves the padding.
fn label(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {:<18}{}", format!("{name}:"), printable(value))
}

fn version_row(out: &mut dyn Write, row: &VersionRow) -> io::Result<()> {
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| MISSING.to_owned());
    columns(out, &row.kind, &side(&row.current), &side(&row.available))
}

/// A long type name (`UEFI Virtio net`) pushes the columns to the right.
fn columns(out: &mut dyn Write, kind: &str, current: &str, available: &str) -> io::Result<()> {
    let kind = printable(kind);
    writeln!(out, "     {kind:<12}   {current:<14} {available:<14}")
}
