//! `cxfw query`: what is plugged in, running, stored and on offer.

use std::io::{self, BufWriter, Write};

use clap::Args;

use super::args::{DeviceArgs, SourceArgs};
use super::error::CliError;
use super::exit::Exit;
use super::host::Host;
use super::release_lock::{self, Consent};
use super::settings::{Format, Settings};
use super::source::{Offers, Source};
use crate::plan::{Aim, Branch, Policy, Status, plan};
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

    /// First free the semaphores that a dead owner left held on the card named with -d
    #[arg(long, requires = "device")]
    release_lock: bool,

    /// Do not ask before a semaphore is freed
    #[arg(short, long, requires = "release_lock")]
    yes: bool,

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
        let source = Source::open(&settings.source(&self.source), host.firmware.as_deref())?;
        let survey = host.survey(&self.devices)?;
        let cards = &survey.reports;
        let offers = match &source {
            Some(source) => source.offers_for(cards)?,
            None => Offers::default(),
        };
        let policy = Policy {
            aim: source.as_ref().map_or(Aim::Report, |source| source.aim),
            branch: self.branch.clone(),
            ..Policy::default()
        };
        let decisions = plan(cards, &offers.offers, &policy);
        let views = CardView::all(cards, &decisions, &offers.offers);
        print(settings, &views, source.as_ref(), &survey.unread)?;
        if !survey.unread.is_empty() {
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
}

fn print(
    settings: &Settings,
    views: &[CardView<'_>],
    source: Option<&Source>,
    unread: &[CliError],
) -> Result<(), CliError> {
    let mut out = BufWriter::new(io::stdout().lock());
    match settings.format {
        Format::Text => text::query(&mut out, views)?,
        Format::Xml => xml::query(&mut out, views)?,
        Format::Json => {
            let problems: Vec<_> = unread.iter().map(CliError::problem).collect();
            json::query(
                &mut out,
                views,
                source.map(|source| &source.name),
                &problems,
            )?;
        }
    }
    out.flush()?;
    super::tell_unread(settings, views, unread);
    Ok(())
}
