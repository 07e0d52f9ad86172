//! `cxfw query`: what is plugged in, running, stored and on offer.

use std::io::{self, BufWriter, Write};

use clap::Args;

use super::args::{DeviceArgs, SourceArgs};
use super::error::CliError;
use super::exit::Exit;
use super::host::{Host, Survey};
use super::interrupt::Farewell;
use super::offers::Offers;
use super::release_lock::{self, Consent};
use super::settings::{Format, Settings};
use super::source::{Boards, Source};
use crate::plan::{Branch, Policy, Status, plan};
use crate::report::json::SourceList;
use crate::report::text::Detail;
use crate::report::transfer::TransferBoard;
use crate::report::{CardView, json, text, xml};

/// Arguments of `query`.
#[derive(Debug, Args)]
pub struct QueryArgs {
    /// Which cards.
    #[command(flatten)]
    devices: DeviceArgs,

    /// What to compare them with.
    #[command(flatten)]
    source: SourceArgs,

    /// Compare only with versions that begin so (`14.32.`, `28.39.*`)
    #[arg(long, value_name = "PREFIX")]
    branch: Option<Branch>,

    /// First free the locks that a dead owner left held on the card named with -d: semaphores, flash
    /// gateway, update handle
    #[arg(long, requires = "device")]
    release_lock: bool,

    /// Do not ask before a lock is freed
    #[arg(short, long, requires = "release_lock")]
    yes: bool,

    /// Also tell why a card stands as it does, where the image on offer is from, and its release
    /// notes
    #[arg(long)]
    full: bool,

    /// Exit with 3 when an update is available
    #[arg(long)]
    exit_code: bool,
}

impl QueryArgs {
    /// Reads the cards and reports.
    ///
    /// # Errors
    /// A source that cannot be used, a name that names nothing, no card at all.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        let host = Host::open(settings)?;
        if self.release_lock {
            let consent = if self.yes {
                Consent::Given
            } else {
                Consent::Ask
            };
            release_lock::run(&host, &self.devices, consent, settings)?;
        }
        let source = Source::open(settings.source(&self.source)?, host.firmware.as_deref())?;
        let Survey {
            reports: cards,
            unread: mut failures,
            ..
        } = host.survey(&self.devices)?;
        let farewell = Farewell::of("query", settings, "interrupted while asking for releases");
        let waiting = host.interrupt().waiting(farewell);
        let mut offers = match source {
            Some(source) => source.offers_for(&cards, Boards::OfCards)?,
            None => Offers::default(),
        };
        // The only files that a query needs: of which the list does not say what they are.
        offers.fetch_unversioned(&mut TransferBoard::new(settings.progress));
        drop(waiting);
        super::warn(settings, &offers.warnings);
        let policy = Policy {
            branch: self.branch.clone(),
            lines: settings.config.branches.clone(),
            ..offers.policy()
        };
        failures.append(&mut offers.failures);
        failures.append(&mut offers.take_unfetched());
        let decisions = plan(&cards, &offers.offers, &policy);
        let views = CardView::all(&cards, &decisions, &offers.offers);
        self.print(settings, &views, &offers, &failures)?;
        if !failures.is_empty() {
            return Ok(Exit::Failed);
        }
        Ok(self.exit(&views))
    }

    /// A card that could not be read is a failure, whatever could be said of it.
    fn exit(&self, views: &[CardView<'_>]) -> Exit {
        let any = |status| views.iter().any(|view| view.decision.status == status);
        if any(Status::Failed) {
            Exit::Failed
        } else if self.exit_code && any(Status::UpdateRequired) {
            Exit::UpdateAvailable
        } else {
            Exit::Done
        }
    }

    fn print(
        &self,
        settings: &Settings,
        views: &[CardView<'_>],
        offers: &Offers,
        failures: &[CliError],
    ) -> Result<(), CliError> {
        let mut out = BufWriter::new(io::stdout().lock());
        let detail = if self.full {
            Detail::Full
        } else {
            Detail::Usual
        };
        match settings.format {
            Format::Text => text::query(&mut out, views, detail)?,
            Format::Xml => xml::query(&mut out, views)?,
            Format::Json => {
                let problems: Vec<_> = failures.iter().map(CliError::problem).collect();
                let sources = SourceList {
                    whole: offers.name.as_ref(),
                    searched: &offers.searched(),
                };
                json::query(&mut out, views, sources, &problems)?;
            }
        }
        out.flush()?;
        super::tell_unread(settings, views, failures);
        Ok(())
    }
}
