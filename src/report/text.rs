//! The query report as mlxup prints it (mft-compat 2.1), trailing blanks included.

use std::io::{self, Write};

use super::versions::{self, VersionRow};
use super::{CardView, address, printable, status};
use crate::card::Firmware;
use crate::plan::{Offer, Reason, Status};

/// Value of a label that has none.
const MISSING: &str = "N/A";
/// Value of a field of a card that could not be opened.
const UNOPENED: &str = "--";

/// The whole report: heading and a block a card.
///
/// # Errors
/// What the writer says.
pub fn query(out: &mut dyn Write, cards: &[CardView<'_>], detail: Detail) -> io::Result<()> {
    writeln!(out, "Querying Mellanox devices firmware ...")?;
    writeln!(out)?;
    for (index, card) in cards.iter().enumerate() {
        block(out, index + 1, card, detail)?;
    }
    Ok(())
}

/// How much is told of each card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// What mlxup tells.
    #[default]
    Usual,
    /// Also why the standing is what it is, and where the image on offer is from.
    Full,
}

/// One card's block. `number` counts from 1.
fn block(
    out: &mut dyn Write,
    number: usize,
    view: &CardView<'_>,
    detail: Detail,
) -> io::Result<()> {
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
        let mut no_offer = no_offer(&view.decision.reason);
        for row in versions::rows(view) {
            version_row(out, &row, no_offer)?;
            no_offer = MISSING;
        }
    } else {
        columns(out, "FW", UNOPENED, "")?;
    }
    writeln!(out)?;
    label(out, "Status", &status::text(view.decision))?;
    if detail == Detail::Full {
        label(out, "Reason", &view.decision.reason.to_string())?;
        if let Some(offer) = view.offer {
            label(out, "Source", &origin(offer))?;
        }
    }
    writeln!(out)?;
    notes(out, view, detail)
}

/// The file, and who lists it.
fn origin(offer: &Offer) -> String {
    match &offer.provenance {
        Some(list) => format!("{}, listed by {}", offer.place(), list.name),
        None => offer.place(),
    }
}

/// Release notes of an image that the card needs (mft-compat 2.2), or of any that is on offer.
fn notes(out: &mut dyn Write, view: &CardView<'_>, detail: Detail) -> io::Result<()> {
    let wanted = detail == Detail::Full || view.decision.status == Status::UpdateRequired;
    let list = view.offer.and_then(|offer| offer.provenance.as_ref());
    let Some(notes) = list.and_then(|list| list.notes.as_ref()).filter(|_| wanted) else {
        return Ok(());
    };
    writeln!(out, "Release notes for the available Firmware:")?;
    writeln!(out, "-----------------------------------------\n")?;
    for line in notes.lines() {
        writeln!(out, "  {}", printable(line))?;
    }
    writeln!(out)
}

/// What stands in place of available firmware that is not there: that nobody lists the board is
/// one thing, that nobody could be asked another.
const fn no_offer(reason: &Reason) -> &'static str {
    match reason {
        Reason::NotListed { .. } => "Not listed",
        Reason::SourceFailed { .. } => "Unknown",
        _ => MISSING,
    }
}

/// Two blanks, the label, and the value in column 21; an empty value leaves the padding.
fn label(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {:<18}{}", format!("{name}:"), printable(value))
}

fn version_row(out: &mut dyn Write, row: &VersionRow, no_offer: &str) -> io::Result<()> {
    let current = row.current.as_deref().unwrap_or(MISSING);
    let available = row.available.as_deref().unwrap_or(no_offer);
    columns(out, &row.kind, current, available)
}

/// A long type name (`UEFI Virtio net`) pushes the columns to the right.
fn columns(out: &mut dyn Write, kind: &str, current: &str, available: &str) -> io::Result<()> {
    let kind = printable(kind);
    writeln!(out, "     {kind:<12}   {current:<14} {available:<14}")
}
