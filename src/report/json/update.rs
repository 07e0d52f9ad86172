//! The result of an update in JSON.

use serde::Serialize;

use super::SourceName;
use super::card::Card;
use crate::report::{CardView, Ending, Outcome};

/// Everything between the head of the document and its errors.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    dry_run: bool,
    cards: Vec<UpdatedCard<'a>>,
    summary: serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct UpdatedCard<'a> {
    #[serde(flatten)]
    card: Card<'a>,
    result: &'static str,
    from: Option<String>,
    to: Option<String>,
    method: Option<&'a str>,
    code: Option<&'a str>,
    reason: &'a str,
    advice: Option<&'a str>,
    activation: Option<&'static str>,
    backup: Option<String>,
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    steps: &'a [String],
}

impl<'a> Body<'a> {
    pub(super) fn new(
        cards: &[CardView<'a>],
        outcomes: &'a [Outcome],
        source: Option<&SourceName>,
        dry_run: bool,
    ) -> Self {
        Self {
            dry_run,
            cards: cards
                .iter()
                .zip(outcomes)
                .map(|(view, outcome)| UpdatedCard::new(view, outcome, source))
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
            result: outcome.ending.word(),
            from: outcome.from.map(|version| version.to_string()),
            to: outcome.to.map(|version| version.to_string()),
            method: outcome.method,
            code: outcome.code.as_deref(),
            reason: &outcome.reason,
            advice: outcome.advice.as_deref(),
            activation: outcome.activation.map(|activation| activation.word()),
            // No burn of this version leaves a copy of the old flash contents behind.
            backup: None,
            seconds: outcome
                .took
                .map(|took| (took.as_secs_f64() * 1000.0).round() / 1000.0),
            steps: &outcome.steps,
        }
    }
}
