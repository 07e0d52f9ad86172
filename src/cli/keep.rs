//! The backup before a burn: where it goes, and the command that puts it back.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::host::Host;
use super::settings::{Settings, Target};
use crate::access::Device;
use crate::card::{Card, advice_for};
use crate::flash::backup::{self, BackupError, BackupOptions, Destination, Scope};
use crate::flash::component::Readable;
use crate::flash::direct::Through;
use crate::flash::{Cancel, CardLock};
use crate::image::SecurityAttribute;
use crate::progress::{Event, Sink};
use crate::report::{Backup, Ending, Outcome};
use crate::sys;

/// Whether and where the old flash contents are kept.
#[derive(Debug, Clone, Default, Args)]
pub struct KeepArgs {
    /// Folder for the copy of the old firmware that is made before a burn [default: that of the
    /// configuration, else /var/lib/cxfw/backups or the user's state directory]
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "no_backup",
        help_heading = "Way back"
    )]
    backup: Option<PathBuf>,

    /// Burn without a copy of the old firmware to go back to
    #[arg(long, help_heading = "Way back")]
    no_backup: bool,
}

/// What is done before a burn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Keeping {
    /// Nothing, as the user wishes.
    Nothing,
    /// A backup in this folder.
    In(PathBuf),
}

/// Backups in a folder from which on their number is told.
const MANY: usize = 20;

/// What to do when the folder cannot take a backup.
const OTHER_FOLDER: &str =
    "name another folder with --backup DIR, or burn without a way back with --no-backup";

impl KeepArgs {
    /// What they mean on this host.
    #[must_use]
    pub(super) fn resolve(&self, settings: &Settings, host: &Host) -> Keeping {
        if self.no_backup {
            return Keeping::Nothing;
        }
        let named = self.backup.as_ref().or(settings.config.backup.as_ref());
        let default = || host.backups.clone().unwrap_or_else(sys::default_backup_dir);
        Keeping::In(named.cloned().unwrap_or_else(default))
    }
}

/// Why there is no backup.
pub(super) struct NotKept {
    pub(super) error: Box<BackupError>,
    /// What to do about it.
    pub(super) advice: String,
}

impl From<BackupError> for NotKept {
    fn from(error: BackupError) -> Self {
        let advice = if error.is_of_file() {
            OTHER_FOLDER.to_owned()
        } else {
            error.advice()
        };
        Self {
            error: Box::new(error),
            advice,
        }
    }
}

impl NotKept {
    /// The end of a burn that did not begin; `outcome` is that of its card. A card whose flash
    /// cannot be read has failed; a folder is for the user to choose, and secure firmware is no
    /// fault.
    pub(super) fn outcome(
        self,
        device: &str,
        outcome: impl FnOnce(Ending, String) -> Outcome,
    ) -> Outcome {
        let Self { error, advice } = self;
        let (ending, reason) = if error.is_interrupted() {
            let reason = "stopped while the old firmware was saved; nothing was written";
            (Ending::Interrupted, reason.to_owned())
        } else {
            let reason = format!("no backup could be made, so nothing was written: {error}");
            let of_choice = error.is_of_file() || error.is_refusal();
            let ending = if of_choice {
                Ending::Refused
            } else {
                Ending::Failed
            };
            (ending, reason)
        };
        Outcome {
            code: Some(error.reason().to_owned()),
            advice: Some(advice_for(device, &advice)),
            ..outcome(ending, reason)
        }
    }
}

impl Keeping {
    /// What a dry run says of it.
    pub(super) fn step(&self, card: &Card) -> String {
        let folder = match self {
            Self::Nothing => return "make no backup of the old firmware (--no-backup)".to_owned(),
            Self::In(folder) => folder.display(),
        };
        let secure = card.report.security.contains(&SecurityAttribute::SecureFw);
        let handed_out = || Readable::of(card.device.as_ref()?).ok()?;
        let what = if !secure {
            "firmware and the device data"
        } else if handed_out().is_some() {
            "firmware image, without the device data,"
        } else {
            return "make no backup of the old firmware: secure firmware lets no tool read the flash"
                .to_owned();
        };
        format!("save the old {what} into {folder}, in a file named by PSID, version, MAC and date")
    }
}

/// What was kept of the flash before a burn.
pub(super) struct Kept {
    /// As it is reported.
    pub(super) backup: Backup,
    /// There is firmware in it that a restore puts back: of a card that had none there is none.
    pub(super) leads_back: bool,
}

impl Kept {
    /// Nothing, and why.
    pub(super) fn nothing(why: impl Into<String>) -> Self {
        Self {
            backup: Backup::Without(why.into()),
            leads_back: false,
        }
    }
}

/// The outcome of a burn with its backup, and with the way back where it broke off and there is one.
pub(super) fn told(outcome: Outcome, kept: Kept, settings: &Settings, device: &str) -> Outcome {
    let Kept { backup, leads_back } = kept;
    let broke_off = matches!(outcome.ending, Ending::Failed | Ending::Interrupted);
    let advice = match &backup {
        Backup::File(file) if broke_off && leads_back => {
            let command = way_back(settings, device, file);
            let back = format!("to go back to the firmware that was there: `{command}`");
            let first = outcome.advice.map(|advice| format!("{advice}; "));
            Some(format!("{}{back}", first.unwrap_or_default()))
        }
        _ => outcome.advice,
    };
    Outcome {
        backup,
        advice,
        ..outcome
    }
}

/// Saves what is in use of a card's flash into `folder`, which is made if it is not there.
pub(super) fn save(
    (device, lock): (&Device, &CardLock),
    folder: &Path,
    (cancel, sink): (&Cancel, &mut Sink<'_>),
) -> Result<Kept, NotKept> {
    make(folder)?;
    let options = BackupOptions {
        lock,
        through: Through::Auto,
        scope: Scope::InUse,
    };
    let to = Destination::Folder(folder);
    let saved = backup::save(device, &options, to, cancel, &mut *sink)?;
    if let Some(text) = many(folder) {
        sink(Event::Note { text });
    }
    Ok(Kept {
        backup: Backup::File(absolute(&saved.path)),
        leads_back: saved.sound,
    })
}

/// As [`save`], before a burn that is safe without: the firmware itself keeps the old image until
/// the new one is verified. A card that lets no tool at its flash is burned all the same.
pub(super) fn save_where_it_can(
    (device, lock): (&Device, &CardLock),
    folder: &Path,
    (cancel, sink): (&Cancel, &mut Sink<'_>),
) -> Result<Kept, NotKept> {
    match save((device, lock), folder, (cancel, &mut *sink)) {
        Err(NotKept { error, .. }) if error.is_closed() => {
            sink(Event::Note {
                text: format!(
                    "warning: {}: no backup: {error}; the card's firmware keeps the old image \
                     until the new one is verified",
                    device.name()
                ),
            });
            Ok(Kept::nothing(error.to_string()))
        }
        saved => saved,
    }
}

/// What is said of a folder with so many backups that somebody should think of clearing it.
fn many(folder: &Path) -> Option<String> {
    let sizes: Vec<u64> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "bin"))
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .collect();
    (sizes.len() >= MANY).then(|| {
        format!(
            "{} backups in {} take {} MiB; none is ever removed by itself",
            sizes.len(),
            folder.display(),
            sizes.iter().sum::<u64>() >> 20
        )
    })
}

/// Makes a folder for backups if it is not there. For its owner only: a flash may hold keys.
pub(super) fn make(folder: &Path) -> Result<(), BackupError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| BackupError::File {
        action: "make",
        path: folder.to_owned(),
        source,
    })
}

/// The command that puts a backup back, as a shell takes it, from any folder.
pub(super) fn way_back(settings: &Settings, device: &str, file: &Path) -> String {
    let program = program(settings);
    format!("{program} restore -d {device} {}", quoted(&absolute(file)))
}

/// What to do with firmware that is no backup.
pub(super) fn update_instead(settings: &Settings, device: &str, file: &Path) -> String {
    format!(
        "there is firmware in it, but it is no copy of this card's flash; burn it with `{} update -d \
         {device} --image {}`",
        program(settings),
        quoted(&absolute(file))
    )
}

/// The program with the host it works on.
fn program(settings: &Settings) -> String {
    match &settings.target {
        Target::Host(None) => "cxfw".to_owned(),
        Target::Host(Some(sysfs)) => format!("cxfw --sysfs {}", quoted(&absolute(sysfs))),
        Target::Lab(dir) => format!("cxfw --lab={}", quoted(&absolute(dir))),
    }
}

/// The same file by a name that holds in every folder.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_fills_up_is_told_of() {
        let dir = tempfile::tempdir().unwrap();
        for number in 1..MANY {
            let file = fs::File::create(dir.path().join(format!("{number}.bin"))).unwrap();
            file.set_len(1 << 20).unwrap();
        }
        fs::write(dir.path().join("notes.txt"), "").unwrap();
        assert_eq!(many(dir.path()), None);
        fs::File::create(dir.path().join("x.bin")).unwrap();
        assert_eq!(
            many(dir.path()).unwrap(),
            format!(
                "20 backups in {} take 19 MiB; none is ever removed by itself",
                dir.path().display()
            )
        );
    }

    #[test]
    fn a_path_is_one_word_for_a_shell() {
        let quoted = |text: &str| quoted(Path::new(text));
        assert_eq!(quoted("/var/lib/a_b-1.2.bin"), "/var/lib/a_b-1.2.bin");
        assert_eq!(quoted("/my files/x"), "'/my files/x'");
        assert_eq!(quoted("/it's"), r"'/it'\''s'");
        assert_eq!(quoted("/$(id)"), "'/$(id)'");
    }
}
