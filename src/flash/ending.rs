//! How a burn ended: what a card boots now, and what a good one did.

use std::time::Duration;

use super::activation::Activation;
use crate::version::FwVersion;

/// What a card boots after a burn that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boots {
    /// Its old firmware: nothing was activated.
    Old(Option<FwVersion>),
    /// The new image, as far as the card answered: it was activated before the fault.
    New(FwVersion),
    /// Nothing: it was in recovery and still is.
    Nothing,
    /// Not known: the fault came while the new image was being activated.
    Unknown,
}

impl std::fmt::Display for Boots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Old(Some(version)) => write!(f, "the card still boots {version}"),
            Self::Old(None) => write!(f, "the card still boots its old firmware"),
            Self::New(version) => write!(f, "the card boots {version} next"),
            Self::Nothing => write!(f, "the card has no firmware to boot and stays in recovery"),
            Self::Unknown => write!(
                f,
                "whether the card boots the old or the new firmware is not known; query it"
            ),
        }
    }
}

/// A burn that ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Burned {
    /// What was stored before.
    pub from: Option<FwVersion>,
    /// What is stored now, as read back from the card.
    pub to: FwVersion,
    /// What makes it run.
    pub activation: Activation,
    /// How long it took.
    pub elapsed: Duration,
}
