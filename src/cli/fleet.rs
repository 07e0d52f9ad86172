//! The cards of an update on their way: what is due is done, several cards at a time, and how
//! each card ended is told in the order of the cards.

use std::collections::BTreeMap;

use super::burn::Job;
use super::error::CliError;
use super::queue::{self, News};
use super::update::Run;
use crate::flash::Cancel;
use crate::progress::Sink;
use crate::report::progress::Board;
use crate::report::{Outcome, summary};

/// What is done with the cards that are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// They are burned.
    Burn,
    /// The steps of a burn are shown.
    Rehearse,
}

/// Does what is due, `workers` cards at a time, and returns how every card ended, in their order.
/// A card whose turn comes after somebody asked to stop is left alone.
///
/// # Errors
/// stdout could not be written. The burns are not stopped by that.
pub(super) fn carry_out(
    run: &Run<'_>,
    deed: Deed,
    workers: usize,
    cancel: &Cancel,
    work: impl Fn(&Job<'_>, &mut Sink<'_>) -> Outcome + Sync,
) -> Result<Vec<Outcome>, CliError> {
    let cards = 0..run.views.len();
    let due: BTreeMap<usize, Job<'_>> = cards
        .clone()
        .filter_map(|card| Some((card, run.job(card)?)))
        .collect();
    let turns = queue::turns(due.iter().map(|(&card, job)| (card, job.lock_key(), job)));
    let mut fleet = Fleet {
        run,
        deed,
        cancel,
        ended: cards
            .map(|card| (!due.contains_key(&card)).then(|| run.settled(card)))
            .collect(),
        due: &due,
        board: Board::new(run.settings.progress),
        told: 0,
        trouble: None,
    };
    fleet.tell_ended();
    let work = |job: &&Job<'_>, sink: &mut Sink<'_>| {
        if cancel.requested() {
            job.not_begun()
        } else {
            work(job, sink)
        }
    };
    queue::run(&turns, workers, &work, |news| fleet.hear(news));
    match fleet.trouble {
        Some(trouble) => Err(trouble),
        None => Ok(fleet.ended.into_iter().flatten().collect()),
    }
}

struct Fleet<'r> {
    run: &'r Run<'r>,
    deed: Deed,
    cancel: &'r Cancel,
    due: &'r BTreeMap<usize, Job<'r>>,
    board: Board,
    /// How each card ended, once it has.
    ended: Vec<Option<Outcome>>,
    /// Cards whose end was told: those before this one.
    told: usize,
    /// The first time stdout could not be written.
    trouble: Option<CliError>,
}

impl Fleet<'_> {
    fn hear(&mut self, news: News) {
        match news {
            News::Begun(card) => self.begin(card),
            News::Event(card, event) => self.board.show(card, &event),
            News::Ended(card, outcome) => {
                self.board.end(card);
                self.ended[card] = outcome.or_else(|| self.due.get(&card).map(Job::broken_down));
                self.tell_ended();
            }
        }
    }

    fn begin(&mut self, card: usize) {
        let label = self.run.label(card);
        let prefix = if self.due.len() > 1 {
            label.prefix()
        } else {
            String::new()
        };
        self.board.begin(card, label.device, prefix);
        if self.deed == Deed::Burn && !self.cancel.requested() {
            let run = self.run;
            let said = self
                .board
                .aside(|| run.say(|out| summary::burning(out, &label)));
            self.note(said);
        }
    }

    /// Tells of the cards that have ended, up to the first that has not.
    fn tell_ended(&mut self) {
        while let Some(Some(outcome)) = self.ended.get(self.told) {
            let told = self.board.aside(|| self.tell(self.told, outcome));
            self.note(told);
            self.told += 1;
        }
    }

    /// How a card ended: a line on stdout, and what went wrong on stderr.
    fn tell(&self, card: usize, outcome: &Outcome) -> Result<(), CliError> {
        let label = self.run.label(card);
        let said = self
            .run
            .say(|out| match (self.due.contains_key(&card), self.deed) {
                (false, _) => summary::not_burned(out, &label, &self.run.views[card], outcome),
                (true, Deed::Burn) => summary::burned(out, &label, outcome),
                (true, Deed::Rehearse) => summary::steps(out, &label, outcome),
            });
        self.run.tell(card, outcome);
        said
    }

    fn note(&mut self, said: Result<(), CliError>) {
        if let Err(error) = said {
            self.trouble.get_or_insert(error);
        }
    }
}
