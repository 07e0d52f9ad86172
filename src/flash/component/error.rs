//! What can go wrong in a firmware-controlled burn.

use std::time::Duration;

use crate::access::{RegisterError, Trouble};
use crate::flash::broken_off::{BrokenOff, BurnFault, HELD, SEMAPHORE, UNREACHABLE};
use crate::flash::lock::LockError;
use crate::registers::mcc::ControlState;
use crate::registers::mcqs::Owner;
use crate::registers::mirc;
use crate::version::FwVersion;

use super::codes::FirmwareError;
use super::preflight::Refusal;
use super::steps::Step;

/// A burn that did not end well.
pub type BurnError = BrokenOff<Fault, Step>;

/// What went wrong in a burn.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Image and card do not go together; nothing was sent.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The card runs no firmware that takes an image.
    #[error("the card takes no image through its firmware: it has no {missing}")]
    NoFirmwareControl {
        /// The register or interface that is not there.
        missing: &'static str,
    },
    /// The chip is not in the table.
    #[error("the chip is unknown (hardware id {:#x})", .0)]
    UnknownChip(u16),
    /// The flash-programming semaphore could not be taken.
    #[error("the card's flash semaphore could not be taken: {0}")]
    Semaphore(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The chip itself could not be reached.
    #[error("the card cannot be reached: {0}")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Somebody else has an update in progress.
    #[error(
        "another update has the card: {owner} (host {host}), last command {seconds} s ago, state {state}"
    )]
    Busy {
        /// Who, as MCC tells.
        owner: Owner,
        /// Host of the owner.
        host: u8,
        /// Seconds since its last command.
        seconds: u16,
        /// State of its update.
        state: ControlState,
    },
    /// The firmware refused a step with an MCC error code.
    #[error("{0}")]
    Firmware(FirmwareError),
    /// A register could not be sent.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The update is in a state no step leads to.
    #[error("the update is in state {found} where {expected} was expected")]
    State {
        /// What the step leads to.
        expected: ControlState,
        /// What the card says.
        found: ControlState,
    },
    /// A step did not end in time.
    #[error("Time-out reached while waiting for the FSM to be updated: state {state} after {} s, {wanted} wanted", waited.as_secs())]
    TimeOut {
        /// What the card says.
        state: ControlState,
        /// What was waited for.
        wanted: ControlState,
        /// How long.
        waited: Duration,
    },
    /// The firmware handed out less than it was asked for.
    #[error("at {offset:#x} of the image the firmware handed out {got} of {wanted} bytes")]
    ShortPiece {
        /// First byte, in the image.
        offset: u32,
        /// Bytes asked for.
        wanted: usize,
        /// Bytes that came.
        got: usize,
    },
    /// The staged update could not be taken back.
    #[error("the staged update could not be taken back: MIRC answers {0}")]
    Reactivation(mirc::Status),
    /// Somebody asked to stop.
    #[error("Interrupted")]
    Cancelled,
    /// The card's lock file could not be kept.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Burned, activated, and yet the card does not hold the image.
    #[error("the card took the image, but says it stores {} instead of {expected}",
        found.map_or_else(|| "nothing readable".to_owned(), |found| found.to_string()))]
    NotStored {
        /// The image's version.
        expected: FwVersion,
        /// What the card says.
        found: Option<FwVersion>,
    },
}

impl Fault {
    /// What stands between cxfw and the card.
    fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Register(error) => Trouble::of(error),
            Self::Unreachable(error) | Self::Semaphore(error) => Trouble::of(&**error),
            _ => None,
        }
    }

    /// The firmware answered, and said no: what was asked of it did not happen.
    #[must_use]
    pub fn is_refusal_by_firmware(&self) -> bool {
        match self {
            Self::Firmware(_) => true,
            Self::Register(error) => error.status().is_some(),
            _ => false,
        }
    }
}

impl BurnFault for Fault {
    fn is_interrupted(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    fn is_gone(&self) -> bool {
        self.trouble() == Some(Trouble::Gone)
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Register(_) | Self::Unreachable(_) if self.trouble() == Some(Trouble::Held) => {
                Trouble::Held.reason()
            }
            Self::Refused(refusal) => refusal.reason(),
            Self::NoFirmwareControl { .. } => "no_firmware_control",
            Self::UnknownChip(_) => "unknown_chip",
            Self::Semaphore(_) => "semaphore_busy",
            Self::Unreachable(_) => "unreachable",
            Self::Busy { .. } => "update_in_progress",
            Self::Firmware(error) => error.reason(),
            Self::Register(_) => "register_failed",
            Self::State { .. } => "unexpected_state",
            Self::TimeOut { .. } => "timeout",
            Self::ShortPiece { .. } => "image_unreadable",
            Self::Reactivation(_) => "reactivation_failed",
            Self::Cancelled => "interrupted",
            Self::Lock(_) => "card_locked",
            Self::NotStored { .. } => "flash_not_changed",
        }
    }

    fn advice(&self) -> String {
        match self {
            Self::Register(_) | Self::Unreachable(_) if self.trouble() == Some(Trouble::Held) => HELD,
            Self::Refused(refusal) => refusal.advice(),
            Self::Firmware(error) => error.advice(),
            Self::Lock(error) => return error.advice(),
            Self::NoFirmwareControl { .. } => {
                "this firmware is updated by direct flash access only"
            }
            Self::UnknownChip(_) => "a newer cxfw may know it",
            Self::Semaphore(_) => SEMAPHORE,
            Self::Busy { .. } => {
                "let the other update end; if its owner is dead: `cxfw query -d DEV --release-lock` \
                 names it and takes its handle away"
            }
            Self::Unreachable(_)
            | Self::Register(_)
            | Self::State { .. }
            | Self::ShortPiece { .. } => UNREACHABLE,
            Self::TimeOut { .. } => "wait a few minutes, query the card and run the update again",
            Self::Reactivation(_) => "restart the machine to activate what is staged",
            Self::Cancelled => "run the update again when convenient",
            Self::NotStored { .. } => {
                "query the card; if it shows the old version, run the update again"
            }
        }
        .to_owned()
    }
}
