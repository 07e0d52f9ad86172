//! `cxfw restore`: the firmware of a backup goes back on its card.
//!
//! The backup is verified against the card and everything is planned before anything is asked,
//! and once more under the lock before anything is written. It is burned as any image is: to the
//! slot that is free, the old one bootable until the new one is ([`way`]).

mod way;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::args::DeviceArgs;
use super::ask;
use super::error::CliError;
use super::exit::Exit;
use super::host::Host;
use super::keep::{self, KeepArgs, Keeping, Kept};
use super::one_card::OneCard;
use super::settings::{Format, Settings};
use crate::bundle::Bundle;
use crate::flash::backup::OtherCard;
use crate::flash::direct::{Choices, Owner, PsidChange};
use crate::flash::{Activation, Burned, Cancel};
use crate::plan::Method;
use crate::progress::Sink;
use crate::report::backup::Restoring;
use crate::report::json::Restored;
use crate::report::progress::Board;
use crate::report::{Ending, Outcome, backup as text, json};
use way::Planned;

/// Largest file that is read: no flash of these cards has as many bytes.
const LARGEST: u64 = 1 << 28;

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// Which card.
    #[command(flatten)]
    devices: DeviceArgs,

    /// The backup, as `cxfw backup` or an update wrote it
    file: PathBuf,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,

    /// Show what would be done, step by step, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// Also a backup of another card: its firmware is put on this one, which keeps its own GUIDs and
    /// MACs; a card that has lost them takes those of the backup
    #[arg(long)]
    other_card: bool,

    /// Also a backup of another board
    #[arg(long)]
    allow_psid_change: bool,

    /// The backup before the restore.
    #[command(flatten)]
    keep: KeepArgs,
}

/// What a restore works with.
struct Run<'a> {
    args: &'a RestoreArgs,
    settings: &'a Settings,
    host: &'a Host,
    keeping: Keeping,
    bytes: Vec<u8>,
    choices: Choices,
    other: OtherCard,
}

impl RestoreArgs {
    /// Verifies, shows, asks and burns.
    ///
    /// # Errors
    /// Not one card, a file that cannot be read, nobody to ask. What happens to the card is the
    /// outcome.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("restore")?;
        let bytes = read(&self.file)?;
        let host = Host::open(settings)?;
        let run = Run {
            args: self,
            settings,
            keeping: self.keep.resolve(settings, &host),
            host: &host,
            bytes,
            choices: Choices {
                psid_change: if self.allow_psid_change {
                    PsidChange::Allow
                } else {
                    PsidChange::Refuse
                },
                identity: None,
            },
            other: if self.other_card {
                OtherCard::Allow
            } else {
                OtherCard::Refuse
            },
        };
        run.go()
    }
}

impl Run<'_> {
    fn go(&self) -> Result<Exit, CliError> {
        let card = OneCard::take(self.host, &self.args.devices, self.settings, "restore")?;
        let planned = match self.plan(&card)? {
            Ok(planned) => planned,
            Err(outcome) => return self.report(card.name(), None, &outcome, None),
        };
        let shown = planned.shown();
        let of = Some(&shown.of);
        if self.is_text() && !self.settings.quiet {
            let file = self.args.file.display().to_string();
            text::planned(&mut io::stdout().lock(), card.name(), &file, &shown)?;
        }
        if self.args.dry_run {
            return self.report(card.name(), of, &self.rehearsed(&card, &planned), None);
        }
        // nobody waits for a card while somebody thinks about an answer
        let OneCard { card, lock } = card;
        drop(lock);
        if !self.agreed()? {
            let declined = outcome(Ending::Skipped, "declined".to_owned(), Some(&shown));
            return self.report(&card.report.device, of, &declined, None);
        }
        let card = OneCard::again(self.host, &card, self.settings)?;
        let working = self.host.interrupt().burning();
        let mut board = Board::new(self.settings.progress);
        board.begin(0, card.name(), String::new());
        let ended = self.burn(
            &card,
            &shown,
            (working.cancel(), &mut |event| {
                board.show(0, &event);
            }),
        )?;
        board.end(0);
        let exit = (ended.ending == Ending::Interrupted)
            .then(|| working.exit())
            .flatten();
        self.report(card.name(), of, &ended, exit)
    }

    fn rehearsed(&self, card: &OneCard, planned: &Planned) -> Outcome {
        let mut steps = vec![self.keeping.step(&card.card)];
        steps.extend(planned.steps());
        Outcome {
            steps,
            method: Some(planned.method().word()),
            ..outcome(
                Ending::Skipped,
                "dry run".to_owned(),
                Some(&planned.shown()),
            )
        }
    }

    fn agreed(&self) -> Result<bool, CliError> {
        if self.args.yes {
            return Ok(true);
        }
        if !ask::possible() {
            return Err(CliError::NoTerminal { cards: 1 });
        }
        Ok(ask::confirmed_that("Restore it? [y/N]: ")?)
    }

    /// Saves what is there, and burns.
    fn burn(
        &self,
        card: &OneCard,
        shown: &Restoring,
        (cancel, sink): (&Cancel, &mut Sink<'_>),
    ) -> Result<Outcome, CliError> {
        let device = card.device()?;
        let kept = match &self.keeping {
            Keeping::Nothing => Kept::nothing("--no-backup"),
            Keeping::In(folder) => {
                let what = (device, &card.lock);
                let saved = match self.way(card) {
                    Method::Component => {
                        keep::save_where_it_can(what, folder, (cancel, &mut *sink))
                    }
                    Method::Direct => keep::save(what, folder, (cancel, &mut *sink)),
                };
                match saved {
                    Ok(kept) => kept,
                    Err(not_kept) => {
                        return Ok(not_kept.outcome(card.name(), |ending, reason| {
                            outcome(ending, reason, Some(shown))
                        }));
                    }
                }
            }
        };
        let ended = match self.put_back(card, (cancel, sink))? {
            Ok(burned) => restored(&burned, self.way(card), shown),
            Err(ended) => ended,
        };
        Ok(keep::told(ended, kept, self.settings, card.name()))
    }

    fn is_text(&self) -> bool {
        self.settings.format == Format::Text
    }

    fn report(
        &self,
        device: &str,
        of: Option<&Owner>,
        ended: &Outcome,
        exit: Option<Exit>,
    ) -> Result<Exit, CliError> {
        super::tell_outcome(self.settings, device, ended);
        let mut out = io::stdout().lock();
        if self.is_text() {
            text::restored(&mut out, ended)?;
        } else {
            let restored = Restored {
                device,
                file: &self.args.file,
                of,
                outcome: ended,
                dry_run: self.args.dry_run,
            };
            json::restored(&mut out, &restored)?;
        }
        out.flush()?;
        Ok(exit.unwrap_or(match ended.ending {
            Ending::Failed | Ending::Interrupted => Exit::Failed,
            Ending::Refused => Exit::Refused,
            _ => Exit::Done,
        }))
    }
}

fn outcome(ending: Ending, reason: String, shown: Option<&Restoring>) -> Outcome {
    Outcome {
        from: shown.and_then(|shown| shown.from),
        to: shown.map(|shown| shown.to),
        ..Outcome::without_burn(ending, reason, None)
    }
}

fn restored(burned: &Burned, way: Method, shown: &Restoring) -> Outcome {
    // an older version runs only after a cold boot
    let older = shown.from.is_some_and(|from| burned.to < from);
    Outcome {
        method: Some(way.word()),
        activation: Some(if older {
            Activation::ColdBoot
        } else {
            burned.activation
        }),
        took: Some(burned.elapsed),
        ..outcome(
            Ending::Burned,
            format!("{} is back on the flash", burned.to),
            Some(shown),
        )
    }
}

/// Whether there is firmware in the file that an update takes.
fn is_firmware(file: &Path) -> bool {
    Bundle::open(file).is_ok()
}

fn read(file: &Path) -> Result<Vec<u8>, CliError> {
    let failed = |source| CliError::File {
        action: "read",
        path: file.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(failed)?;
    let taken = opened.take(LARGEST + 1).read_to_end(&mut bytes);
    taken.map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(failed(io::Error::other(format!(
            "it has more than {LARGEST} bytes, which no flash of these cards has"
        ))));
    }
    Ok(bytes)
}
