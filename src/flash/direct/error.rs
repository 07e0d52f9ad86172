//! What can go wrong in a direct burn.

use crate::access::flash::FlashOperation;
use crate::access::{AccessError, FlashError, GatewayError, RegisterError, Trouble};
use crate::bytes::ReadError;
use crate::flash::broken_off::{BrokenOff, BurnFault, HANGS, HELD, SEMAPHORE, UNREACHABLE};
use crate::flash::lock::LockError;
use crate::image::ImageError;
use crate::version::FwVersion;

use super::plan::Step;
use super::refusal::Refusal;
use super::steady::Unsteady;

/// A direct burn that did not end well.
pub type BurnError = BrokenOff<Fault, Step>;

/// What went wrong in a direct burn.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Image and card do not go together; nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The chip is not in the table.
    #[error("the chip is unknown (hardware id {0:#x})")]
    UnknownChip(u16),
    /// The way was asked for through firmware that does not run.
    #[error("no firmware runs on the card, so its flash is not reached through it")]
    NoFirmware,
    /// The flash-programming semaphore could not be taken.
    #[error("the card's flash semaphore could not be taken: {0}")]
    Semaphore(#[source] AccessError),
    /// The chip itself could not be reached.
    #[error("the card cannot be reached: {0}")]
    Unreachable(#[from] AccessError),
    /// A register could not be sent.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The flash could not be reached or changed.
    #[error(transparent)]
    Flash(#[from] FlashError),
    /// The flash could not be read.
    #[error("the flash cannot be read: {0}")]
    Read(#[source] ReadError),
    /// The flash does not read the same twice.
    #[error("the flash reads differently each time, first at {address:#x}")]
    Unsteady {
        /// Flash address.
        address: u64,
    },
    /// What was written is not what is read.
    #[error(
        "after the {operation} at {address:#x} the flash reads {found:#04x} instead of {expected:#04x}"
    )]
    Mismatch {
        /// What was done.
        operation: FlashOperation,
        /// Flash address of the first wrong byte.
        address: u64,
        /// What should be there.
        expected: u8,
        /// What is read, several times.
        found: u8,
    },
    /// Burned, and yet the flash does not hold the image.
    #[error("the flash does not hold {expected} after the burn: {}", found.as_ref().map_or_else(
        || "another version is found".to_owned(), ToString::to_string))]
    NotStored {
        /// The image's version.
        expected: FwVersion,
        /// Why not, where it is no other version.
        found: Option<ImageError>,
    },
    /// The card's lock file could not be kept.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Somebody asked to stop.
    #[error("Interrupted")]
    Cancelled,
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Failed { offset, reason } if reason.is::<Unsteady>() => {
                Self::Unsteady { address: offset }
            }
            error => Self::Read(error),
        }
    }
}

impl From<GatewayError> for Fault {
    fn from(error: GatewayError) -> Self {
        Self::Flash(error.into())
    }
}

impl Fault {
    /// The card lets no tool at its flash, or its firmware has no register for it.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Flash(
                FlashError::FirmwareRefuses { .. }
                | FlashError::Gateway(GatewayError::Closed { .. } | GatewayError::NoWindow { .. }),
            ) => true,
            Self::Flash(FlashError::Register { source, .. }) => source.is_unsupported(),
            _ => false,
        }
    }

    /// What stands between cxfw and the card.
    fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Semaphore(error) | Self::Unreachable(error) => Trouble::of(error),
            Self::Register(error) => Trouble::of(error),
            Self::Flash(error) => Trouble::of(error),
            Self::Read(error) => Trouble::of(error),
            _ => None,
        }
    }
}

impl BurnFault for Fault {
    fn is_interrupted(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(refusal) if !refusal.is_of_hardware())
    }

    fn is_gone(&self) -> bool {
        self.trouble() == Some(Trouble::Gone)
    }

    fn reason(&self) -> &'static str {
        if let Some(trouble) = self.trouble() {
            return trouble.reason();
        }
        match self {
            Self::Refused(refusal) => refusal.reason(),
            Self::UnknownChip(_) => "unknown_chip",
            Self::NoFirmware => "no_firmware",
            Self::Semaphore(_) => "semaphore_busy",
            Self::Unreachable(_) => "unreachable",
            Self::Register(_) => "register_failed",
            Self::Flash(error) => flash_reason(error),
            Self::Read(_) => "flash_unreadable",
            Self::Unsteady { .. } => "flash_unsteady",
            Self::Mismatch { .. } => "flash_not_changed",
            Self::NotStored { .. } => "not_stored",
            Self::Lock(_) => "card_locked",
            Self::Cancelled => "interrupted",
        }
    }

    fn advice(&self) -> String {
        match self.trouble() {
            Some(Trouble::Held) if !matches!(self, Self::Semaphore(_)) => return HELD.to_owned(),
            Some(Trouble::GatewayHeld) => return GATEWAY_HELD.to_owned(),
            Some(Trouble::FlashHangs) => return HANGS.to_owned(),
            Some(Trouble::FirmwareBusy) => return format!("wait a minute; or {HANGS}"),
            Some(Trouble::Held | Trouble::Gone) | None => {}
        }
        match self {
            Self::Refused(refusal) => refusal.advice(),
            Self::UnknownChip(_) => "a newer cxfw may know it",
            Self::NoFirmware => "leave the way to cxfw; it takes the flash gateway",
            Self::Semaphore(_) => SEMAPHORE,
            Self::Flash(error) => flash_advice(error),
            Self::Unreachable(_) | Self::Register(_) | Self::Read(_) => UNREACHABLE,
            Self::Unsteady { .. } => UNSTEADY,
            Self::Mismatch { .. } => {
                "run the update again; if it fails at the same place, the flash is write protected \
                 or failing"
            }
            Self::NotStored { .. } => "query the card and run the update again",
            Self::Lock(error) => return error.advice(),
            Self::Cancelled => "run the update again when convenient",
        }
        .to_owned()
    }
}

/// What to do about a gateway that somebody holds.
const GATEWAY_HELD: &str = "let the other tool end (mlxup, mstflint); if none runs, a dead one left \
     the flash locked: `cxfw query -d DEV --release-lock` watches it and frees it; then run the \
     update again";
/// What to do about a flash that reads differently each time.
const UNSTEADY: &str = "run the update again; if it stays so, the flash part or the chip is failing: \
     leave the card powered, and do not burn it";

const fn flash_reason(error: &FlashError) -> &'static str {
    match error {
        FlashError::Gateway(GatewayError::FirmwareRuns { .. }) => "flash_in_use",
        FlashError::Gateway(GatewayError::Closed { .. } | GatewayError::NoWindow { .. }) => {
            "flash_closed"
        }
        FlashError::FirmwareRefuses { .. } => "firmware_refuses",
        FlashError::UnknownPart { .. } => "unknown_flash_part",
        _ => "flash_failed",
    }
}

const fn flash_advice(error: &FlashError) -> &'static str {
    match error {
        FlashError::Gateway(GatewayError::FirmwareRuns { .. }) => {
            "update through the firmware (--method component)"
        }
        FlashError::Gateway(GatewayError::Closed { .. } | GatewayError::NoWindow { .. }) => {
            "this card does not let tools at its flash; its vendor can"
        }
        FlashError::FirmwareRefuses { .. } => {
            "normally an update waits to be activated: restart the machine, then run the update again"
        }
        FlashError::UnknownPart { .. } => "a newer cxfw may know the part; please report its id",
        _ => UNREACHABLE,
    }
}
