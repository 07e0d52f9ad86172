//! The result of an update in JSON.

use serde::Serialize;

use super::card::Card;
use super::{SearchedSource, SourceList, SourceName};
use crate::report::{Backup, CardView, Ending, Outcome};

/// What became of the cards of an update.
#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    /// The cards as they were before.
    pub cards: &'a [CardView<'a>],
    /// How each ended.
    pub outcomes: &'a [Outcome],
    /// Where the images came from.
    pub source: SourceList<'a>,
    /// Nothing was to be written.
    pub dry_run: bool,
}

/// Everything between the head of the document and its errors.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    dry_run: bool,
    sources: &'a [SearchedSource],
    cards: Vec<UpdatedCard<'a>>,
    summary: serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct UpdatedCard<'a> {
    #[serde(flatten)]
    card: Card<'a>,
    #[serde(flatten)]
    outcome: OutcomeFields<'a>,
}

/// How the burn of one card ended.
#[derive(Serialize)]
pub(super) struct OutcomeFields<'a> {
    result: &'static str,
    from: Option<String>,
    to: Option<String>,
    method: Option<&'a str>,
    code: Option<&'a str>,
    reason: &'a str,
    state: Option<&'a str>,
    advice: Option<&'a str>,
    activation: Option<&'static str>,
    backup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_backup: Option<&'a str>,
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    steps: &'a [String],
}

impl<'a> Body<'a> {
    pub(super) fn new(update: &Update<'a>) -> Self {
        let outcomes = update.outcomes;
        Self {
            dry_run: update.dry_run,
            sources: update.source.searched,
            cards: update
                .cards
                .iter()
                .zip(outcomes)
                .map(|(view, outcome)| UpdatedCard::new(view, outcome, update.source.whole))
                .collect(),
            summary: Ending::ALL
                .into_iter()
                .map(|ending| {
                    let count = outcomes
                        .iter()
                        .filter(|outcome| outcome.ending == ending)
                        .count();
                    (ending.word().to_owned(), count.into())
                })
                .collect(),
        }
    }
}

impl<'a> UpdatedCard<'a> {
    fn new(view: &CardView<'a>, outcome: &'a Outcome, source: Option<&SourceName>) -> Self {
        Self {
            card: Card::new(view, source),
            outcome: OutcomeFields::from(outcome),
        }
    }
}

impl<'a> From<&'a Outcome> for OutcomeFields<'a> {
    fn from(outcome: &'a Outcome) -> Self {
        let (backup, no_backup) = match &outcome.backup {
            Backup::NotDue => (None, None),
            Backup::File(path) => (Some(path.display().to_string()), None),
            Backup::Without(reason) => (None, Some(reason.as_str())),
        };
        Self {
            result: outcome.ending.word(),
            from: outcome.from.map(|version| version.to_string()),
            to: outcome.to.map(|version| version.to_string()),
            method: outcome.method,
            code: outcome.code.as_deref(),
            reason: &outcome.reason,
            state: outcome.state.as_deref(),
            advice: outcome.advice.as_deref(),
            activation: outcome.activation.map(|activation| activation.word()),
            backup,
            no_backup,
            seconds: outcome
                .took
                .map(|took| (took.as_secs_f64() * 1000.0).round() / 1000.0),
            steps: &outcome.steps,
        }
    }
}
