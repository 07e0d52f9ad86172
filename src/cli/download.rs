//! `cxfw download`: releases into a folder, verified.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use super::args::DeviceArgs;
use super::error::CliError;
use super::exit::Exit;
use super::fetch::{Fetch, Haul};
use super::host::Host;
use super::interrupt::{Farewell, Interrupt};
use super::release_args::ReleaseArgs;
use super::release_error::ReleaseError;
use super::releases::{asked, refuse_unprotected};
use super::settings::{Format, Settings};
use crate::identity::Psid;
use crate::release::Asked;
use crate::report::json;
use crate::report::releases as text;
use crate::report::transfer::TransferBoard;

/// What is said when a signal ends it.
pub const FAREWELL: &str = "interrupted; the download goes on from where it stopped next time";

/// Arguments of `download`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub struct DownloadArgs {
    /// The newest release for this board; repeatable
    #[arg(long, value_name = "PSID", group = "what", conflicts_with = "all")]
    psid: Vec<String>,

    /// The newest release for this card (any of its names, or `all`); repeatable
    #[arg(
        short,
        long = "device",
        value_name = "DEV",
        group = "what",
        conflicts_with = "all"
    )]
    device: Vec<String>,

    /// Everything that the sources list
    #[arg(long, group = "what")]
    all: bool,

    /// Folder to put it into; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// Where to look.
    #[command(flatten)]
    releases: ReleaseArgs,
}

impl DownloadArgs {
    /// Looks, fetches, reports.
    ///
    /// # Errors
    /// What keeps it from looking at all. A source that gives no answer and a file that cannot be
    /// had are told of beside what was fetched.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("download")?;
        let list = self.releases.list(&settings.config)?;
        if list.is_empty() {
            return Err(ReleaseError::NoSource.into());
        }
        refuse_unprotected(&list)?;
        let network = &self.releases.network;
        let sources = network.sources(list, &settings.config)?;
        let fetch = Fetch {
            sources: &sources,
            folder: &self.to,
            freshness: network.freshness(),
            lines: &settings.config.branches,
        };
        let mut board = TransferBoard::new(settings.progress);
        let asked = self.asked(settings)?;
        let interrupt = Interrupt::listen()?;
        let waiting = interrupt.waiting(Farewell::of("download", settings, FAREWELL));
        let mut haul = if self.all {
            fetch.everything(&mut board)
        } else {
            fetch.boards(&asked, &mut board)
        };
        drop(waiting);
        super::warn(settings, &haul.warnings);
        self.judge_unlisted(&mut haul);
        report(settings, &haul)?;
        Ok(if haul.failures.is_empty() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }

    /// The boards that were named, and those of the cards that were.
    fn asked(&self, settings: &Settings) -> Result<Vec<Asked>, CliError> {
        let mut all = boards(&self.psid)?;
        if !self.device.is_empty() {
            let devices = DeviceArgs {
                device: self.device.clone(),
            };
            let survey = Host::open(settings)?.survey(&devices)?;
            for card in asked(&survey.reports) {
                if all.iter().all(|known| known.psid != card.psid) {
                    all.push(card);
                }
            }
        }
        Ok(all)
    }

    /// A board that was named and is not listed is a failure; of all cards of a host some may be
    /// of brands that publish their own, but not every one.
    fn judge_unlisted(&self, haul: &mut Haul) {
        let named = !self.psid.is_empty() || self.device.iter().any(|name| name != "all");
        if haul.not_listed.is_empty() || !(named || haul.files.is_empty()) {
            return;
        }
        let names = haul.searched.iter().map(|list| list.name.clone());
        let error = ReleaseError::NotListed {
            boards: haul.not_listed.iter().map(Psid::to_string).collect(),
            searched: names.collect(),
        };
        haul.failures.push(error.into());
    }
}

/// The boards of these names, each once.
///
/// # Errors
/// [`CliError::NotAPsid`].
pub fn boards(names: &[String]) -> Result<Vec<Asked>, CliError> {
    let mut boards: Vec<Asked> = Vec::new();
    for text in names.iter().flat_map(|text| text.split(',')) {
        let psid = Psid::new(text.trim()).ok_or_else(|| CliError::NotAPsid {
            text: text.to_owned(),
        })?;
        if boards.iter().all(|known| known.psid != psid) {
            boards.push(Asked {
                psid,
                version: None,
            });
        }
    }
    Ok(boards)
}

fn report(settings: &Settings, haul: &Haul) -> Result<(), CliError> {
    let not_listed: Vec<String> = haul.not_listed.iter().map(Psid::to_string).collect();
    let mut out = BufWriter::new(io::stdout().lock());
    if settings.format == Format::Json {
        let problems: Vec<_> = haul.failures.iter().map(CliError::problem).collect();
        let document = json::Download {
            sources: &haul.searched,
            files: &haul.files,
            not_listed: &not_listed,
        };
        json::download(&mut out, document, &problems)?;
    } else {
        text::fetched(&mut out, &haul.files, &not_listed)?;
    }
    out.flush()?;
    for error in &haul.failures {
        super::tell(settings, error);
    }
    Ok(())
}
