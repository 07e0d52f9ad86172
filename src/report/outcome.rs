//! What became of a card in an update.

use std::fmt::{Debug, Display};
use std::path::PathBuf;
use std::time::Duration;

use crate::flash::{Activation, BrokenOff, BurnFault};
use crate::version::FwVersion;

/// How the update ended for one card; the words are the `result` field of the JSON output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The image was burned and verified.
    Burned,
    /// The version was there and running.
    AlreadyCurrent,
    /// The version was on flash already and waits for its activation.
    AlreadyStaged,
    /// Nothing could be done for this card, and nobody asked for it in particular.
    Skipped,
    /// What was asked for was refused.
    Refused,
    /// Something failed.
    Failed,
    /// The user stopped it.
    Interrupted,
}

impl Ending {
    /// How a burn ended that broke off.
    #[must_use]
    pub fn broken_off<F: BurnFault, S: Debug + Display>(error: &BrokenOff<F, S>) -> Self {
        if error.is_interrupted() {
            Self::Interrupted
        } else if error.is_refusal() {
            Self::Refused
        } else {
            Self::Failed
        }
    }

    /// Every ending, in the order of a summary.
    pub const ALL: [Self; 7] = [
        Self::Burned,
        Self::AlreadyCurrent,
        Self::AlreadyStaged,
        Self::Skipped,
        Self::Refused,
        Self::Failed,
        Self::Interrupted,
    ];

    /// The word for programs (`already_current`).
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Burned => "burned",
            Self::AlreadyCurrent => "already_current",
            Self::AlreadyStaged => "already_staged",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// The words for people (`already current`).
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::AlreadyCurrent => "already current",
            Self::AlreadyStaged => "already staged",
            other => other.word(),
        }
    }
}

/// What there is of a card's flash as it was before its burn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Backup {
    /// Nothing, since nothing was burned.
    #[default]
    NotDue,
    /// A copy in this file.
    File(PathBuf),
    /// Nothing, for this reason.
    Without(String),
}

/// One card's line in the result of an update.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Version on flash before.
    pub from: Option<FwVersion>,
    /// Version that was to be burned.
    pub to: Option<FwVersion>,
    /// Backend that burned it (`component`).
    pub method: Option<&'static str>,
    /// Stable word for a failure, for programs (`signature_digest_mismatch`).
    pub code: Option<String>,
    /// Why, in one sentence.
    pub reason: String,
    /// Where a burn that failed stopped, and what the card boots.
    pub state: Option<String>,
    /// What to do next.
    pub advice: Option<String>,
    /// What makes the image run.
    pub activation: Option<Activation>,
    /// The way back.
    pub backup: Backup,
    /// Time the burn took.
    pub took: Option<Duration>,
    /// What a burn would do, step by step (dry run).
    pub steps: Vec<String>,
}

impl Outcome {
    /// An outcome without a burn.
    #[must_use]
    pub fn without_burn(ending: Ending, reason: String, advice: Option<String>) -> Self {
        Self {
            ending,
            from: None,
            to: None,
            method: None,
            code: None,
            reason,
            state: None,
            advice,
            activation: None,
            backup: Backup::NotDue,
            took: None,
            steps: Vec::new(),
        }
    }

    /// Whether the host has to do something before the image on flash runs.
    #[must_use]
    pub fn needs_restart(&self) -> bool {
        self.activation
            .is_some_and(|activation| activation != Activation::Done)
    }
}
