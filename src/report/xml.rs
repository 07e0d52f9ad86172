//! The query document of mlxfwmanager (mft-compat 3.1): element names, order and indentation.
//!
//! Unlike there, every value is escaped.

use std::io::{self, Write};

use quick_xml::escape::escape;

use super::address::AddressLine;
use super::versions::{self, VersionRow};
use super::{CardView, address, status};
use crate::card::Firmware;
use crate::plan::Status;

/// The `Devices` document.
///
/// # Errors
/// What the writer says.
pub fn query(out: &mut dyn Write, cards: &[CardView<'_>]) -> io::Result<()> {
    writeln!(out, "<Devices>")?;
    for card in cards {
        device(out, card)?;
    }
    writeln!(out, "</Devices>")
}

/// The document of a run that found no device (mft-compat 3.3).
///
/// # Errors
/// What the writer says.
pub fn no_devices(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<SVMInventory lang="en">"#)?;
    writeln!(out, r#"  <SPStatus result="false">"#)?;
    writeln!(
        out,
        r#"    <Message id="20">No devices found or specified</Message>"#
    )?;
    writeln!(out, "  </SPStatus>")?;
    writeln!(out, "</SVMInventory>")
}

fn device(out: &mut dyn Write, view: &CardView<'_>) -> io::Result<()> {
    let card = view.card;
    let opened = !matches!(view.decision.status, Status::Failed | Status::Recovery)
        || card.firmware != Firmware::default();
    writeln!(
        out,
        r#"    <Device pciName="{}" type="{}" psid="{}" partNumber="{}">"#,
        text(&card.device),
        card.model.map_or("N/A", |model| model.name),
        text(card.psid.as_ref().map_or("", |psid| psid.as_str())),
        text(
            card.part_number
                .as_deref()
                .unwrap_or(if opened { "N/A" } else { "--" })
        ),
    )?;
    writeln!(out, "      <Versions>")?;
    if opened {
        for row in versions::rows(view) {
            version(out, &row)?;
        }
    } else {
        writeln!(out, r#"        <FW current="--" available=""/>"#)?;
    }
    writeln!(out, "      </Versions>")?;
    addresses(out, &address::lines(card))?;
    writeln!(
        out,
        "      <Status>{}</Status>",
        status::mlxup(view.decision)
    )?;
    let description = card.description.as_deref().unwrap_or("");
    writeln!(
        out,
        "      <Description>{}</Description>",
        plain(description)
    )?;
    writeln!(out, "    </Device>")
}

/// The element is named after the version's kind, blanks changed to `_`, parentheses left out.
fn version(out: &mut dyn Write, row: &VersionRow) -> io::Result<()> {
    let name: String = row
        .kind
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('_'),
            c if c.is_ascii_alphanumeric() || c == '_' => Some(c),
            _ => None,
        })
        .collect();
    let side = |side: &Option<String>| text(side.as_deref().unwrap_or("N/A"));
    writeln!(
        out,
        r#"        <{name} current="{}" available="{}"/>"#,
        side(&row.current),
        side(&row.available)
    )
}

/// An attribute for each address that is known. Cards with base addresses tell `MACs` first, the
/// others `GUIDs`.
fn addresses(out: &mut dyn Write, lines: &[AddressLine]) -> io::Result<()> {
    let mut elements = [("GUIDs", "GUID"), ("MACs", "MAC")];
    if lines.iter().any(|line| line.label.starts_with("Base")) {
        elements.reverse();
    }
    for (element, ending) in elements {
        let attributes: Vec<String> = lines
            .iter()
            .filter_map(|line| attribute(line, ending))
            .collect();
        if !attributes.is_empty() {
            writeln!(out, "      <{element} {} />", attributes.join(" "))?;
        }
    }
    Ok(())
}

/// `Base_Mac="…"` or `port1="…"`.
fn attribute(line: &AddressLine, ending: &str) -> Option<String> {
    let value = line.value.as_deref()?;
    let stem = line.label.strip_suffix(ending)?.trim_end();
    let name = match (stem, ending) {
        ("Base", "GUID") => "Base_Guid",
        ("Base", _) => "Base_Mac",
        ("Port1", _) => "port1",
        _ => "port2",
    };
    Some(format!(r#"{name}="{}""#, text(value)))
}

fn text(value: &str) -> String {
    escape(plain_controls(value).as_str()).into_owned()
}

/// Characters XML 1.0 cannot hold at all are left out.
fn plain_controls(value: &str) -> String {
    value.chars().filter(|c| !c.is_control()).collect()
}

/// Descriptions lose the five characters that would need escaping, as readers expect.
fn plain(value: &str) -> String {
    plain_controls(value)
        .chars()
        .filter(|c| !matches!(c, '"' | '&' | '\'' | '<' | '>'))
        .collect()
}
