//! `cxfw update`: plan, show, ask, burn, verify, and report card by card.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use clap::{Args, ValueEnum, value_parser};

use super::args::{DeviceArgs, IdentityArgs, SourceArgs};
use super::ask;
use super::burn::{self, Job};
use super::error::CliError;
use super::exit::Exit;
use super::fleet::{self, Deed};
use super::host::{Host, Survey};
use super::interrupt::Farewell;
use super::keep::{KeepArgs, Keeping};
use super::offers::Offers;
use super::release_error::ReleaseError;
use super::releases::refuse_unprotected;
use super::settings::{Format, Settings, SourceChoice};
use super::source::{Boards, Source};
use crate::card::CardReport;
use crate::flash::Cancel;
use crate::plan::{Action, Branch, Consents, Decision, Method, Policy, Reason, plan};
use crate::progress::Sink;
use crate::report::json::{Problem, SearchedSource, SourceList};
use crate::report::summary::{self, Label};
use crate::report::text::Detail;
use crate::report::transfer::TransferBoard;
use crate::report::{CardView, Ending, Outcome, json, text};

/// Arguments of `update`.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// Which cards.
    #[command(flatten)]
    devices: DeviceArgs,

    /// Where images come from.
    #[command(flatten)]
    source: SourceArgs,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,

    /// Show what would be done, step by step, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// Burn the version that is on flash once more
    #[arg(long)]
    reinstall: bool,

    /// Burn an older version than the one on flash
    #[arg(long)]
    allow_downgrade: bool,

    /// Burn the image of another board that --image names on the card that -d names
    #[arg(long)]
    allow_psid_change: bool,

    /// Who a card is whose flash has lost its addresses.
    #[command(flatten)]
    identity: IdentityArgs,

    /// Only versions that begin so (`14.32.`, `28.39.*`)
    #[arg(long, value_name = "PREFIX")]
    branch: Option<Branch>,

    /// The backup before a burn.
    #[command(flatten)]
    keep: KeepArgs,

    /// Way of burning
    #[arg(long, value_enum, default_value_t, value_name = "METHOD")]
    method: MethodArg,

    /// Burn at most N cards at a time [default: all of them, at most 8]
    #[arg(short, long, value_name = "N", value_parser = value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Exit with 6 when a restart is needed
    #[arg(long)]
    exit_code: bool,
}

/// What a run says that is ended while it asks and fetches.
const FAREWELL: &str =
    "interrupted; nothing was burned; a download goes on from where it stopped next time";

/// Most cards burned at a time unless `--jobs` says otherwise.
const MOST_JOBS: usize = 8;

/// `--method`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum MethodArg {
    /// The best way for each card
    #[default]
    Auto,
    /// Through the running firmware
    Component,
    /// By writing the flash, past the firmware's update interface
    Direct,
}

impl MethodArg {
    /// The way asked for.
    const fn asked(self) -> Option<Method> {
        match self {
            Self::Auto => None,
            Self::Component => Some(Method::Component),
            Self::Direct => Some(Method::Direct),
        }
    }
}

/// What a run works with once everything is read.
pub(super) struct Run<'a> {
    args: &'a UpdateArgs,
    pub(super) settings: &'a Settings,
    host: &'a Host,
    survey: &'a Survey,
    offers: &'a Offers,
    policy: &'a Policy,
    pub(super) views: &'a [CardView<'a>],
    keeping: Keeping,
    /// Bytes of every image that is to be burned, by its offer.
    images: BTreeMap<usize, Vec<u8>>,
    /// The source has nothing for any of the cards.
    unmatched: Option<CliError>,
}

impl UpdateArgs {
    /// Plans, asks and burns.
    ///
    /// # Errors
    /// What stops a run before any card is burned: a source that cannot be used, a name that names
    /// nothing, no card, nobody to ask. What happens to a card is its outcome.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("update")?;
        let choice = settings.source(&self.source)?;
        if matches!(choice, SourceChoice::None) {
            return Err(CliError::NoSource);
        }
        if let SourceChoice::Lists(sources, _) = &choice {
            refuse_unprotected(sources.list())?;
        }
        let host = Host::open(settings)?;
        let source = Source::open(choice, host.firmware.as_deref())?.ok_or(CliError::NoSource)?;
        let survey = host.survey(&self.devices)?;
        if self.identity.given().is_some() && (self.devices.is_all() || survey.cards.len() != 1) {
            return Err(CliError::IdentityOfMany);
        }
        let farewell = Farewell::of("update", settings, FAREWELL);
        let waiting = host.interrupt().waiting(farewell);
        let mut offers = source.offers_for(&survey.reports, self.boards(&survey))?;
        super::warn(settings, &offers.warnings);
        let policy = self.policy(settings, &offers);
        let mut board = TransferBoard::new(settings.progress);
        offers.fetch_unversioned(&mut board);
        let mut decisions = plan(&survey.reports, &offers.offers, &policy);
        // With one byte changed anywhere in a folder, nothing of it is burned.
        if let Some(listing) = offers
            .listing
            .as_ref()
            .filter(|_| !due(&decisions).is_empty())
        {
            listing.check_folders()?;
        }
        while offers.fetch(&due(&decisions), &mut board) {
            decisions = plan(&survey.reports, &offers.offers, &policy);
        }
        drop(waiting);
        self.check_identity(&survey, &decisions)?;
        let run = Run {
            args: self,
            settings,
            host: &host,
            survey: &survey,
            offers: &offers,
            policy: &policy,
            views: &CardView::all(&survey.reports, &decisions, &offers.offers),
            keeping: self.keep.resolve(settings, &host),
            images: offers.images(&due(&decisions))?,
            unmatched: unmatched(&offers, &survey, &decisions),
        };
        run.go()
    }

    /// Addresses are not silently left unused by a burn through the firmware.
    fn check_identity(&self, survey: &Survey, decisions: &[Decision]) -> Result<(), CliError> {
        let by_firmware = |decision: &&Decision| decision.method == Some(Method::Component);
        match (survey.reports.first(), decisions.iter().find(by_firmware)) {
            (Some(card), Some(_)) if self.identity.given().is_some() => {
                Err(CliError::IdentityKept {
                    device: card.device.clone(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Another board's image may be wanted when that was allowed, or when a named card does not say
    /// which board it is.
    fn boards(&self, survey: &Survey) -> Boards {
        let unknown = |card: &CardReport| card.recovery && card.psid.is_none();
        let named = !self.devices.is_all();
        if self.allow_psid_change || (named && survey.reports.iter().any(unknown)) {
            Boards::AnyOfNamedFiles
        } else {
            Boards::OfCards
        }
    }

    fn policy(&self, settings: &Settings, offers: &Offers) -> Policy {
        Policy {
            named: !self.devices.is_all(),
            consents: Consents {
                reinstall: self.reinstall,
                downgrade: self.allow_downgrade,
                psid_change: self.allow_psid_change,
            },
            identity: self.identity.given().is_some(),
            branch: self.branch.clone(),
            method: self.method.asked(),
            lines: settings.config.branches.clone(),
            ..offers.policy()
        }
    }
}

/// The offers that would be burned: all of them are read and verified before anything is asked or
/// written.
fn due(decisions: &[Decision]) -> BTreeSet<usize> {
    decisions.iter().filter_map(to_burn).collect()
}

/// The offer a card is to be burned with.
fn to_burn(decision: &Decision) -> Option<usize> {
    decision.offer.filter(|_| decision.action == Action::Burn)
}

/// A source that was given for these cards and has nothing for any of them: files that were named,
/// or a folder. That a lab's bundle has nothing for a card is nobody's mistake.
fn unmatched(offers: &Offers, survey: &Survey, decisions: &[Decision]) -> Option<CliError> {
    let of_use = |decision: &Decision| {
        matches!(
            decision.action,
            Action::Burn | Action::Activate | Action::Keep
        )
    };
    if offers.are_labs_own() || decisions.iter().any(of_use) || !decisions.iter().any(has_no_image)
    {
        return None;
    }
    let boards = survey.reports.iter().filter_map(|card| card.psid.as_ref());
    let cards: Vec<String> = boards.map(ToString::to_string).collect();
    let names = |list: Vec<SearchedSource>| list.into_iter().map(|list| list.name).collect();
    Some(match &offers.listing {
        Some(_) => CliError::from(ReleaseError::NotListed {
            boards: cards,
            searched: names(offers.searched()),
        }),
        None => CliError::Unmatched {
            source_name: offers.name.as_ref()?.name.clone(),
            boards: offers.boards.iter().map(ToString::to_string).collect(),
            cards,
        },
    })
}

/// No image on offer is for the card's board, and that is all there is to say.
const fn has_no_image(decision: &Decision) -> bool {
    matches!(
        decision.reason,
        Reason::NoImage { branch: None, .. } | Reason::NotListed { .. } | Reason::OemNoImage { .. }
    )
}

impl Run<'_> {
    fn go(&self) -> Result<Exit, CliError> {
        if self.is_text() && !self.settings.quiet {
            self.say(|out| {
                text::query(out, self.views, Detail::Usual)?;
                summary::found(out, self.views)
            })?;
        }
        let (outcomes, interrupted) = if self.args.dry_run {
            (self.rehearse()?, None)
        } else if self.agreed()? {
            self.burn()?
        } else {
            (self.declined()?, None)
        };
        self.report(&outcomes)?;
        Ok(interrupted.unwrap_or_else(|| self.exit(&outcomes)))
    }

    fn is_text(&self) -> bool {
        self.settings.format == Format::Text
    }

    fn due(&self) -> usize {
        let offers = self.views.iter().filter_map(|view| to_burn(view.decision));
        offers
            .filter(|offer| self.images.contains_key(offer))
            .count()
    }

    /// Asks, once for all cards, unless there is nothing to ask.
    fn agreed(&self) -> Result<bool, CliError> {
        if self.args.yes || self.due() == 0 {
            return Ok(true);
        }
        if !ask::possible() {
            return Err(CliError::NoTerminal { cards: self.due() });
        }
        Ok(ask::confirmed()?)
    }

    /// The burn of the card at `index`, if it is due.
    pub(super) fn job(&self, index: usize) -> Option<Job<'_>> {
        let offer = to_burn(self.views[index].decision)?;
        Some(Job {
            card: &self.survey.cards[index],
            offers: &self.offers.offers,
            offer,
            image: self.images.get(&offer)?,
            policy: self.policy,
            keeping: &self.keeping,
            identity: self.args.identity.given(),
        })
    }

    pub(super) fn label(&self, index: usize) -> Label<'_> {
        Label {
            number: index + 1,
            device: &self.views[index].card.device,
            only: self.views.len() == 1,
        }
    }

    /// Burns what is due, several cards at a time, and tells how each card ended.
    fn burn(&self) -> Result<(Vec<Outcome>, Option<Exit>), CliError> {
        let burning = self.host.interrupt().burning();
        let cancel = burning.cancel();
        let outcomes = self.carry_out(Deed::Burn, cancel, |job, sink| {
            burn::burn(job, self.host, self.settings, cancel, sink)
        })?;
        let exit = outcomes
            .iter()
            .any(|outcome| outcome.ending == Ending::Interrupted)
            .then(|| burning.exit())
            .flatten();
        Ok((outcomes, exit))
    }

    fn rehearse(&self) -> Result<Vec<Outcome>, CliError> {
        self.carry_out(Deed::Rehearse, &Cancel::new(), |job, _| {
            burn::rehearse(job, self.host, self.settings)
        })
    }

    fn carry_out(
        &self,
        deed: Deed,
        cancel: &Cancel,
        work: impl Fn(&Job<'_>, &mut Sink<'_>) -> Outcome + Sync,
    ) -> Result<Vec<Outcome>, CliError> {
        let jobs = self.args.jobs.map_or(MOST_JOBS, usize::from);
        fleet::carry_out(self, deed, jobs, cancel, work)
    }

    fn declined(&self) -> Result<Vec<Outcome>, CliError> {
        self.say(|out| writeln!(out, "No updates performed"))?;
        (0..self.views.len())
            .map(|card| match self.job(card) {
                None => self.left_alone(card),
                Some(job) => Ok(job.declined()),
            })
            .collect()
    }

    fn left_alone(&self, card: usize) -> Result<Outcome, CliError> {
        let outcome = self.settled(card);
        self.say(|out| summary::not_burned(out, &self.label(card), &self.views[card], &outcome))?;
        Ok(outcome)
    }

    /// The outcome of a card that is not due, or whose firmware could not be fetched.
    pub(super) fn settled(&self, card: usize) -> Outcome {
        let decision = self.views[card].decision;
        let offers = &self.offers.offers;
        if let Some(failed) = self.not_fetched(decision) {
            return Outcome {
                from: self.survey.reports[card].firmware.stored,
                ..failed
            };
        }
        let outcome = burn::settled(decision, &self.survey.cards[card], offers);
        match decision.reason {
            Reason::SourceFailed { .. } => Outcome {
                ending: Ending::Failed,
                ..outcome
            },
            _ => outcome,
        }
    }

    /// The outcome of a card whose firmware could not be fetched.
    fn not_fetched(&self, decision: &Decision) -> Option<Outcome> {
        let unversioned = decision.reason == Reason::NoVersion;
        let index = decision
            .offer
            .filter(|_| unversioned || decision.action == Action::Burn)?;
        let offer = self.offers.offers.get(index)?;
        let problem = self.offers.unfetched(index)?.problem();
        let mut reason = format!("the download failed: {}", problem.message);
        if unversioned {
            reason = format!("the service names no version, and {reason}");
        }
        Some(Outcome {
            to: offer.version(),
            code: Some(problem.code),
            ..Outcome::without_burn(Ending::Failed, reason, problem.advice)
        })
    }

    /// A line for people, at once.
    pub(super) fn say(
        &self,
        print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CliError> {
        if self.is_text() {
            let mut out = io::stdout().lock();
            ignore_closed_pipe(print(&mut out).and_then(|()| out.flush()))?;
        }
        Ok(())
    }

    /// What failed or was refused, on stderr. That there is no image is told once for all cards
    /// where it is so for all, that a source gave no answer once for the source.
    pub(super) fn tell(&self, index: usize, outcome: &Outcome) {
        let CardView { card, decision, .. } = &self.views[index];
        let of_source = matches!(decision.reason, Reason::SourceFailed { .. });
        if !of_source && (self.unmatched.is_none() || !has_no_image(decision)) {
            super::tell_outcome(self.settings, &card.device, outcome);
        }
    }

    /// What could not be read: functions of the bus, sources.
    fn failures(&self) -> impl Iterator<Item = &CliError> {
        self.survey.unread.iter().chain(&self.offers.failures)
    }

    fn report(&self, outcomes: &[Outcome]) -> Result<(), CliError> {
        let failures = || self.failures().chain(&self.unmatched);
        for error in failures() {
            super::tell(self.settings, error);
        }
        let mut out = io::stdout().lock();
        if self.is_text() {
            return ignore_closed_pipe(summary::end(&mut out, outcomes));
        }
        // On stderr these were told card by card.
        let errors = failures().chain(self.offers.all_unfetched());
        let problems: Vec<Problem> = errors.map(CliError::problem).collect();
        let document = json::Update {
            cards: self.views,
            outcomes,
            source: SourceList {
                whole: self.offers.name.as_ref(),
                searched: &self.offers.searched(),
            },
            dry_run: self.args.dry_run,
        };
        ignore_closed_pipe(json::update(&mut out, &document, &problems))
    }

    fn exit(&self, outcomes: &[Outcome]) -> Exit {
        let any = |ending| outcomes.iter().any(|outcome| outcome.ending == ending);
        let unread = self.failures().next().is_some();
        if unread || any(Ending::Failed) || any(Ending::Interrupted) {
            Exit::Failed
        } else if let Some(unmatched) = &self.unmatched {
            unmatched.exit()
        } else if any(Ending::Refused) {
            Exit::Refused
        } else if self.args.exit_code && outcomes.iter().any(Outcome::needs_restart) {
            Exit::RestartNeeded
        } else {
            Exit::Done
        }
    }
}

/// A burn does not stop because nobody reads about it any more.
fn ignore_closed_pipe(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
