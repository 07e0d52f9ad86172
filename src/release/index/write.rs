//! Writes the XML of an index: the same rows always give the same bytes.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::document::{Document, FORMAT, Row};

type Out = Writer<Vec<u8>>;

/// The document as XML.
///
/// # Errors
/// None in practice: it is written to memory.
pub fn write(document: &Document) -> io::Result<Vec<u8>> {
    let mut out = Writer::new_with_indent(Vec::new(), b' ', 2);
    out.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut index = out
        .create_element("index")
        .with_attribute(("version", FORMAT))
        .with_attribute(("serial", document.serial.to_string().as_str()));
    if let Some(date) = document.date {
        index = index.with_attribute(("date", date.to_string().as_str()));
    }
    index
        .write_inner_content(|out| document.rows.iter().try_for_each(|row| write_row(out, row)))?;
    let mut bytes = out.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

fn write_row(out: &mut Out, row: &Row) -> io::Result<()> {
    let optional = [
        ("device", row.device.clone()),
        ("branch", row.branch.clone()),
        ("date", row.date.map(|date| date.to_string())),
        ("minimum", row.minimum.map(|version| version.to_string())),
    ];
    let mut release = out
        .create_element("release")
        .with_attribute(("psid", row.psid.as_str()));
    for (name, value) in &optional {
        if let Some(value) = value {
            release = release.with_attribute((*name, value.as_str()));
        }
    }
    release.write_inner_content(|out| {
        text(out, "description", row.description.as_deref())?;
        for part_number in &row.part_numbers {
            text(out, "part-number", Some(part_number))?;
        }
        for version in &row.versions {
            out.create_element("version")
                .with_attribute(("component", version.kind.as_str()))
                .write_text_content(BytesText::new(&version.text))?;
        }
        write_file(out, row)?;
        text(out, "notes", row.notes.as_deref())
    })?;
    Ok(())
}

fn write_file(out: &mut Out, row: &Row) -> io::Result<()> {
    let mut file = out
        .create_element("file")
        .with_attribute(("name", row.file.as_str()))
        .with_attribute(("size", row.size.to_string().as_str()))
        .with_attribute(("sha256", row.sha256.to_string().as_str()));
    if let Some(digest) = row.image_sha256 {
        file = file.with_attribute(("image-sha256", digest.to_string().as_str()));
    }
    file.write_empty()?;
    Ok(())
}

fn text(out: &mut Out, name: &str, value: Option<&str>) -> io::Result<()> {
    if let Some(value) = value {
        out.create_element(name)
            .write_text_content(BytesText::new(value))?;
    }
    Ok(())
}
