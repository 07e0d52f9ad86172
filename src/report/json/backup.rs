//! Backups and restores in JSON.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::update::OutcomeFields;
use super::write;
use crate::flash::backup::{Backup, Contents};
use crate::flash::direct::Owner;
use crate::report::Outcome;

/// What a copy of a flash is of.
#[derive(Serialize)]
struct OwnerFields<'a> {
    psid: Option<&'a str>,
    firmware: Option<String>,
    base_mac: Option<String>,
    base_guid: Option<String>,
}

impl<'a> From<&'a Owner> for OwnerFields<'a> {
    fn from(owner: &'a Owner) -> Self {
        Self {
            psid: owner.psid.as_ref().map(|psid| psid.as_str()),
            firmware: owner.version.map(|version| version.to_string()),
            base_mac: owner.mac.map(|mac| mac.to_string()),
            base_guid: owner.guid.map(|guid| guid.to_string()),
        }
    }
}

/// `cxfw.backup/1`: the file that was written. `restore` is the command that puts it back; null when there is
/// nothing sound in it.
///
/// # Errors
/// What the writer says.
pub fn saved(
    out: &mut dyn Write,
    device: &str,
    backup: &Backup,
    restore: Option<&str>,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Body<'a> {
        cards: [Saved<'a>; 1],
    }
    #[derive(Serialize)]
    struct Saved<'a> {
        device: &'a str,
        file: String,
        contents: &'static str,
        size: u64,
        sha256: &'a str,
        #[serde(flatten)]
        owner: OwnerFields<'a>,
        sound: bool,
        restore: Option<&'a str>,
    }
    let saved = Saved {
        device,
        file: backup.path.display().to_string(),
        contents: match backup.contents {
            Contents::Flash => "flash",
            Contents::Image => "image",
        },
        size: backup.size,
        sha256: &backup.sha256,
        owner: OwnerFields::from(&backup.owner),
        sound: backup.sound,
        restore,
    };
    write(out, "cxfw.backup/1", Body { cards: [saved] }, &[])
}

/// What became of a restore.
#[derive(Debug, Clone, Copy)]
pub struct Restored<'a> {
    /// The card.
    pub device: &'a str,
    /// The backup.
    pub file: &'a Path,
    /// What the backup is of, where that could be told.
    pub of: Option<&'a Owner>,
    /// How it ended.
    pub outcome: &'a Outcome,
    /// Nothing was to be written.
    pub dry_run: bool,
}

/// `cxfw.restore/1`.
///
/// # Errors
/// What the writer says.
pub fn restored(out: &mut dyn Write, restored: &Restored<'_>) -> io::Result<()> {
    #[derive(Serialize)]
    struct Body<'a> {
        dry_run: bool,
        cards: [Card<'a>; 1],
    }
    #[derive(Serialize)]
    struct Card<'a> {
        device: &'a str,
        file: String,
        backup_of: Option<OwnerFields<'a>>,
        #[serde(flatten)]
        outcome: OutcomeFields<'a>,
    }
    let card = Card {
        device: restored.device,
        file: restored.file.display().to_string(),
        backup_of: restored.of.map(OwnerFields::from),
        outcome: OutcomeFields::from(restored.outcome),
    };
    let body = Body {
        dry_run: restored.dry_run,
        cards: [card],
    };
    write(out, "cxfw.restore/1", body, &[])
}
