//! `cxfw backup`: the whole flash of a card in a file, or its firmware image where only that can be read.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::args::DeviceArgs;
use super::error::CliError;
use super::exit::Exit;
use super::host::Host;
use super::keep;
use super::one_card::OneCard;
use super::settings::{Format, Settings};
use crate::flash::Cancel;
use crate::flash::backup::{self, Backup, BackupError, BackupOptions, Destination, Scope};
use crate::flash::direct::Through;
use crate::report::progress::Board;
use crate::report::{backup as text, json};

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// Which card.
    #[command(flatten)]
    devices: DeviceArgs,

    /// File to write, which must not be there; or a folder (one that is there, or a name that ends
    /// in /, which is made), in which the file is named by PSID, version, MAC and date
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl BackupArgs {
    /// Saves the flash and says what was saved.
    ///
    /// # Errors
    /// Not one card, a card that lets nobody at its flash, or a file that cannot be written.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("backup")?;
        let host = Host::open(settings)?;
        let card = OneCard::take(&host, &self.devices, settings, "backup")?;
        if let Destination::Folder(folder) = destination(&self.output) {
            keep::make(folder).map_err(|error| CliError::Backup {
                device: card.name().to_owned(),
                source: Box::new(error),
            })?;
        }
        let working = host.interrupt().burning();
        let backup = match self.save(&card, settings, working.cancel())? {
            Ok(backup) => backup,
            Err(error) => {
                let error = CliError::Backup {
                    device: card.name().to_owned(),
                    source: Box::new(error),
                };
                return match working.exit() {
                    Some(exit) => super::interrupted(settings, "backup", &error, exit),
                    None => Err(error),
                };
            }
        };
        let restore = backup
            .sound
            .then(|| keep::way_back(settings, card.name(), &backup.path));
        let restore = restore.as_deref();
        let mut out = io::stdout().lock();
        match settings.format {
            Format::Json => json::saved(&mut out, card.name(), &backup, restore)?,
            Format::Text | Format::Xml => text::saved(&mut out, card.name(), &backup, restore)?,
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    fn save(
        &self,
        card: &OneCard,
        settings: &Settings,
        cancel: &Cancel,
    ) -> Result<Result<Backup, BackupError>, CliError> {
        let options = BackupOptions {
            lock: &card.lock,
            through: Through::Auto,
            scope: Scope::Whole,
        };
        let mut board = Board::new(settings.progress);
        board.begin(0, card.name(), String::new());
        let saved = backup::save(
            card.device()?,
            &options,
            destination(&self.output),
            cancel,
            &mut |event| board.show(0, &event),
        );
        board.end(0);
        Ok(saved)
    }
}

/// A folder is one that is there, or is named like one.
fn destination(output: &Path) -> Destination<'_> {
    let like_a_folder = output.as_os_str().as_encoded_bytes().ends_with(b"/");
    if like_a_folder || output.is_dir() {
        Destination::Folder(output)
    } else {
        Destination::File(output)
    }
}
