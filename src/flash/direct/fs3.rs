//! FS3: device data stays where it is on the flash, but the table that names it is part of the
//! image. So the card's entries are put into the new image's table (images-fs3 8).
//!
//! The entries of the image keep their places, which its signature counts on; where the image has
//! an entry for device data the card's entry of that type goes, and where a package left blanks for
//! such entries, others: a blank would end the table. What the card has and the image does
//! not name (VPD of some boards) is appended: it is the card's all the same.

use crate::bytes::ByteSource;
use crate::image::section;
use crate::image::{Section, Whole};

use super::error::Fault;
use super::found::Image;
use super::refusal::Refusal;
use super::toc::{MOST_ENTRIES, RECORD, Record};

/// The entries for device data in the table of an image on the flash.
pub(super) fn device_entries(flash: &dyn ByteSource, image: &Image) -> Result<Vec<Record>, Fault> {
    let device = image.layout.sections.iter().filter(|s| s.device_data);
    device.map(|section| entry(flash, section)).collect()
}

fn entry(flash: &dyn ByteSource, section: &Section) -> Result<Record, Fault> {
    let bytes = flash.read(section.entry, RECORD as u64)?;
    let mut record = Record([0; RECORD]);
    record.0.copy_from_slice(&bytes);
    Ok(record)
}

/// Puts the card's entries into the image's table. Returns what the user should know.
pub(super) fn take_entries(image: &mut Whole, card: &[Record]) -> Result<Vec<String>, Refusal> {
    let mut notes = Vec::new();
    let Some(table) = table_start(image) else {
        return Ok(notes);
    };
    let mut records = records(image, table);
    let mut left = card.to_vec();
    for record in records.iter_mut().filter(|record| record.is_device_data()) {
        match left.iter().position(|own| own.kind() == record.kind()) {
            Some(index) => *record = agreeing(record, left.remove(index))?,
            None if record.has_no_crc() => {}
            None => {
                notes.push(format!("the card has no {} of its own", name(record)));
                *record = record.emptied();
            }
        }
    }
    for gap in records.iter_mut().filter(|record| record.is_blank()) {
        *gap = if left.is_empty() {
            Record::filler()
        } else {
            left.remove(0)
        };
    }
    for record in left {
        notes.push(format!(
            "the image does not name the card's {}; it is kept",
            name(&record)
        ));
        records.push(record);
    }
    if let Some(beyond) = records.get(MOST_ENTRIES) {
        return Err(Refusal::NoTableRoom { what: name(beyond) });
    }
    for (index, record) in records.iter().enumerate() {
        let at = table + index * RECORD;
        if let Some(place) = image.bytes.get_mut(at..at + RECORD) {
            place.copy_from_slice(&record.0);
        }
    }
    Ok(notes)
}

/// Where the entries begin in the image's bytes.
fn table_start(image: &Whole) -> Option<usize> {
    let header = usize::try_from(image.layout.itoc?.used).ok()?;
    header.checked_add(RECORD)
}

/// All records up to the last that is an entry. Packages leave blank places where the entries for
/// device data were.
fn records(image: &Whole, table: usize) -> Vec<Record> {
    let places = image.bytes.get(table..).unwrap_or_default();
    let known = image
        .layout
        .sections
        .iter()
        .filter_map(|section| image.layout.contiguous(section.entry))
        .filter_map(|entry| usize::try_from(entry).ok()?.checked_sub(table))
        .map(|offset| offset / RECORD + 1)
        .max()
        .unwrap_or(0);
    let (chunks, _) = places.as_chunks::<RECORD>();
    chunks.iter().take(known).copied().map(Record).collect()
}

/// The card's entry, if it describes its section as the image's does.
fn agreeing(image: &Record, card: Record) -> Result<Record, Refusal> {
    if image.attributes() == card.attributes() {
        Ok(card)
    } else {
        Err(Refusal::Attributes {
            section: name(&card),
        })
    }
}

fn name(record: &Record) -> String {
    section::name(record.kind()).into_owned()
}
