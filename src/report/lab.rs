//! What the simulated chips of a lab are doing.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::printable;
use crate::lab::CardStatus;
use crate::lab::chip::{Boot, RegisterCount};
use crate::version::FwVersion;

/// A line a card.
///
/// # Errors
/// What the writer says.
pub fn text(out: &mut dyn Write, dir: &Path, cards: &[CardStatus]) -> io::Result<()> {
    writeln!(out, "Lab in {}", printable(&dir.display().to_string()))?;
    for card in cards {
        writeln!(
            out,
            "  {:<14} {} {:<14} {:<20} {:<16} {}",
            card.name,
            card.address,
            card.model.name,
            printable(&card.part_number),
            card.psid,
            boot(card)
        )?;
        for fault in &card.faults {
            writeln!(out, "  {:<14} broken: {fault}", "")?;
        }
        for (name, count) in card.violations.by_name() {
            writeln!(out, "  {:<14} violation: {name}, {count} times", "")?;
        }
    }
    Ok(())
}

/// `cxfw.lab/1`.
///
/// # Errors
/// What the writer says.
pub fn json(out: &mut dyn Write, dir: &Path, cards: &[CardStatus]) -> io::Result<()> {
    let cards: Vec<_> = cards
        .iter()
        .map(|card| {
            json!({
                "name": card.name,
                "device": card.address.to_string(),
                "type": card.model.name,
                "part_number": card.part_number,
                "psid": card.psid.as_str(),
                "boot": boot(card),
                "counters": card.counters,
                "registers": registers(&card.registers),
                "violations": card.violations,
                "faults": card.faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        })
        .collect();
    let document = json!({"schema": "cxfw.lab/1", "dir": dir, "cards": cards, "errors": []});
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn registers(counts: &[RegisterCount]) -> Value {
    let register = |register: &RegisterCount| {
        json!({
            "id": register.id.map(|id| format!("{id:#06x}")),
            "name": register.name,
            "count": register.count,
        })
    };
    counts.iter().map(register).collect()
}

/// How to work on a lab that is mounted at `mountpoint`.
///
/// # Errors
/// What the writer says.
pub fn mounted(out: &mut dyn Write, dir: &Path, mountpoint: &Path, locks: &Path) -> io::Result<()> {
    let (dir, mountpoint, locks) = (dir.display(), mountpoint.display(), locks.display());
    writeln!(
        out,
        "Lab in {dir} is served at {mountpoint} until Ctrl-C.\n\n\
         Work on it from another terminal:\n  \
         cxfw --sysfs {mountpoint} --lock-dir {locks} query\n\
         Programs that know only /sys need no mount:\n  \
         cxfw --lab={dir} lab exec -- mstflint -d 03:00.0 query full"
    )
}

/// The same for programs, `cxfw.lab.mount/1`: printed when the tree is there.
///
/// # Errors
/// What the writer says.
pub fn mounted_json(out: &mut dyn Write, dir: &Path, mountpoint: &Path) -> io::Result<()> {
    let document = json!({
        "schema": "cxfw.lab.mount/1",
        "dir": dir,
        "mountpoint": mountpoint,
        "errors": [],
    });
    writeln!(out, "{document}")
}

fn boot(card: &CardStatus) -> String {
    match &card.boot {
        Some(Boot::Running(firmware)) => {
            let [major, minor, subminor] = firmware.version;
            format!("runs {}", FwVersion::new(major, minor, subminor))
        }
        Some(Boot::Recovery) => "in flash recovery".to_owned(),
        None => "without power".to_owned(),
    }
}
