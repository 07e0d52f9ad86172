//! What a burn that did not end well says, whatever the way of burning: what went wrong, at which
//! step, and what the card boots now.

use std::error::Error;
use std::fmt::{Debug, Display};

use super::ending::Boots;
use crate::version::FwVersion;

/// What can go wrong in one way of burning.
pub trait BurnFault: Error {
    /// Stable word for programs.
    fn reason(&self) -> &'static str;

    /// What to do about it.
    fn advice(&self) -> String;

    /// The user stopped it.
    fn is_interrupted(&self) -> bool;

    /// Image and card do not go together, so nothing was written.
    fn is_refusal(&self) -> bool;

    /// The card left the bus.
    fn is_gone(&self) -> bool;
}

/// What to do about a card that left the bus.
pub(super) const GONE: &str = "the card lost power or fell off the bus: restart the machine \
     (without power for a moment, if the card stays away), then run the update again";
/// What to do about a flash semaphore that somebody holds.
pub(super) const SEMAPHORE: &str = "let the tool that holds the flash end; if none runs, a dead one \
     left it locked: `cxfw query -d DEV --release-lock` names its owner and frees it";
/// What to do about a lock of the chip that somebody holds.
pub(super) const HELD: &str = "let the other tool end (mlxup, mstflint, a driver's dump); if none \
     runs, a dead one left it held: `cxfw query -d DEV --release-lock` names its owner and frees it; \
     then run the update again";
/// What to do about a flash or its gateway that hangs.
pub(super) const HANGS: &str = "restart the machine without power for a moment, so that flash and \
     chip begin anew, then run the update again";
/// What to do about a card that does not answer as it should.
pub(super) const UNREACHABLE: &str =
    "query the card and run the update again; if it does not answer, restart the machine";

/// A burn that did not end well.
///
/// Shown as its fault; [`BrokenOff::state`] tells the rest.
#[derive(Debug, thiserror::Error)]
#[error("{fault}")]
pub struct BrokenOff<F: BurnFault + 'static, S: Debug + Display> {
    /// What went wrong.
    #[source]
    pub fault: F,
    /// The step that failed.
    pub failed: S,
    /// The last step that succeeded.
    pub succeeded: Option<S>,
    /// What the card boots now.
    pub boots: Boots,
    /// What could not be taken back on the card (an update handle that stays locked).
    pub left_open: Option<String>,
}

impl<F: BurnFault, S: Debug + Display> BrokenOff<F, S> {
    /// A fault before anything was written: the card boots what it booted.
    pub(super) fn before(
        failed: S,
        succeeded: Option<S>,
        boots: Boots,
        fault: impl Into<F>,
    ) -> Self {
        Self {
            fault: fault.into(),
            failed,
            succeeded,
            boots,
            left_open: None,
        }
    }

    /// The same with what else is known of the card, where it did not even say what it boots:
    /// whether it was in recovery, and the version on its flash.
    #[must_use]
    pub fn knowing(self, recovery: bool, stored: Option<FwVersion>) -> Self {
        let boots = match self.boots {
            Boots::Old(None) if recovery && stored.is_none() => Boots::Nothing,
            Boots::Old(None) => Boots::Old(stored),
            known => known,
        };
        Self { boots, ..self }
    }

    /// Stable word for programs.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        if self.fault.is_gone() {
            "gone"
        } else {
            self.fault.reason()
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self.boots {
            _ if self.fault.is_gone() => GONE.to_owned(),
            Boots::New(_) => {
                "the new firmware is in place: restart the machine to run it, then query the card"
                    .to_owned()
            }
            _ => self.fault.advice(),
        }
    }

    /// The user stopped it.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.fault.is_interrupted()
    }

    /// Image and card do not go together, so nothing was written.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.fault.is_refusal()
    }

    /// Where it stopped and what state the card is in, one sentence.
    #[must_use]
    pub fn state(&self) -> String {
        let succeeded = self
            .succeeded
            .as_ref()
            .map(|step| format!(" (last done: {step})"))
            .unwrap_or_default();
        let left_open = self
            .left_open
            .as_ref()
            .map(|what| format!("; {what}"))
            .unwrap_or_default();
        format!(
            "stopped at {}{succeeded}; {}{left_open}",
            self.failed, self.boots
        )
    }
}
