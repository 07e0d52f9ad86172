//! Backups and restores as text.

use std::io::{self, Write};

use super::{Backup as Kept, Ending, Outcome, printable};
use crate::flash::backup::{Backup, Contents};
use crate::flash::direct::Owner;
use crate::version::FwVersion;

/// What was saved, and how it is put back, if anything sound is in it.
///
/// # Errors
/// What the writer says.
pub fn saved(
    out: &mut dyn Write,
    device: &str,
    backup: &Backup,
    restore: Option<&str>,
) -> io::Result<()> {
    let sound = match (backup.sound, backup.contents) {
        (true, Contents::Flash) => {
            "yes: every checksum of the image and of the device data in it is right"
        }
        (true, Contents::Image) => "yes: every checksum of the image is right",
        (false, _) => "no: it is the flash as it is, but no image in it checks out as a whole",
    };
    writeln!(out, "Device:   {device}")?;
    writeln!(
        out,
        "File:     {}",
        printable(&backup.path.display().to_string())
    )?;
    if backup.contents == Contents::Image {
        writeln!(
            out,
            "Holds:    the firmware image alone: the flash with the device data is closed to tools"
        )?;
    }
    writeln!(out, "Size:     {} bytes", backup.size)?;
    writeln!(out, "SHA-256:  {}", backup.sha256)?;
    writeln!(out, "Of:       {}", of(&backup.owner))?;
    writeln!(out, "Sound:    {sound}")?;
    match restore {
        Some(command) => writeln!(out, "Restore:  {}", printable(command)),
        None => Ok(()),
    }
}

/// What a restore will put on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restoring {
    /// What the backup is of.
    pub of: Owner,
    /// What the card boots now.
    pub from: Option<FwVersion>,
    /// What it will boot.
    pub to: FwVersion,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// What a restore is about to do, before the question.
///
/// # Errors
/// What the writer says.
pub fn planned(
    out: &mut dyn Write,
    device: &str,
    file: &str,
    planned: &Restoring,
) -> io::Result<()> {
    let now = planned.from.map_or_else(
        || "nothing that boots".to_owned(),
        |version| version.to_string(),
    );
    writeln!(out, "Device:   {device}")?;
    writeln!(out, "Backup:   {}", printable(file))?;
    writeln!(out, "Of:       {}", of(&planned.of))?;
    writeln!(out, "On card:  {now}")?;
    writeln!(out, "Restored: {}", planned.to)?;
    for note in &planned.notes {
        writeln!(out, "Note:     {}", printable(note))?;
    }
    Ok(())
}

/// How a restore ended: what has to follow.
///
/// # Errors
/// What the writer says.
pub fn restored(out: &mut dyn Write, outcome: &Outcome) -> io::Result<()> {
    match outcome.ending {
        Ending::Burned => writeln!(out, "Done")?,
        Ending::Interrupted => writeln!(out, "Interrupted")?,
        Ending::Skipped => writeln!(out, "{}", printable(&outcome.reason))?,
        _ => writeln!(out, "Fail : {}", printable(&outcome.reason))?,
    }
    for (index, step) in outcome.steps.iter().enumerate() {
        writeln!(out, "  {}. {}", index + 1, printable(step))?;
    }
    kept(out, "", outcome)?;
    match outcome.activation {
        None => Ok(()),
        Some(activation) => writeln!(out, "Needed to run it: {activation}"),
    }
}

/// The line that names the copy made before a burn.
///
/// # Errors
/// What the writer says.
pub fn kept(out: &mut dyn Write, prefix: &str, outcome: &Outcome) -> io::Result<()> {
    match &outcome.backup {
        Kept::File(path) => {
            let path = path.display().to_string();
            writeln!(out, "{prefix}Backup: {}", printable(&path))
        }
        Kept::NotDue | Kept::Without(_) => Ok(()),
    }
}

/// Board, version and addresses, as far as they are told.
fn of(owner: &Owner) -> String {
    let words = [
        owner.psid.as_ref().map(ToString::to_string),
        owner.version.map(|version| version.to_string()),
        owner.mac.map(|mac| format!("MAC {mac}")),
        owner.guid.map(|guid| format!("GUID {guid}")),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    if words.is_empty() {
        "a card that does not say who it is".to_owned()
    } else {
        printable(&words.join(", "))
    }
}
