//! The flash gateway: SPI commands to the flash part, through CR space (burn 8.1 to 8.4).
//!
//! `layout` knows where each generation of chips keeps the registers, `lock` takes and gives
//! back the gateway, `sight` looks at its lock, `transaction` runs one SPI command on it, [`part`] names the flash part,
//! [`Flash`] is the part's contents as a [`crate::bytes::ByteSource`], and a [`WriteSession`]
//! changes them.

pub mod flash;
mod guard;
mod hold_line;
mod layout;
mod lock;
pub mod part;
mod session;
pub(super) mod sight;
mod transaction;

pub use flash::Flash;
pub(super) use layout::Layout;
pub use layout::Window;
pub use part::Part;
pub use session::WriteSession;
pub use sight::Sight;

use std::time::Duration;

use super::error::AccessError;
use super::stuck::ChipLock;

/// What is known of the firmware that may work from the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FirmwareGuard {
    /// It may: the gateway is left alone if it does (burn 8.8).
    Respect,
    /// It does, and the user wants the gateway all the same. The firmware stands still while
    /// the gateway is taken, and may hang.
    Override,
    /// The chip is in recovery: none runs.
    NoFirmware,
}

/// The flash could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// CR space.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// Somebody else uses the gateway.
    #[error(
        "{device}: the flash gateway ({register:#x}) was locked for {} ms, by somebody it does not \
         name, which blocks {}", waited.as_millis(), ChipLock::Gateway.blocks()
    )]
    Locked {
        /// The function.
        device: String,
        /// Register that holds the lock.
        register: u32,
        /// How long cxfw tried.
        waited: Duration,
    },
    /// CR space of a secure device is closed.
    #[error("{device}: the flash gateway of this secure device is closed")]
    Closed {
        /// The function.
        device: String,
    },
    /// The firmware fetches code from flash; taking the flash from it would hang it.
    #[error("{device}: the running firmware works from flash, so the flash cannot be used past it")]
    FirmwareRuns {
        /// The function.
        device: String,
    },
    /// A command did not finish.
    #[error(
        "{device}: the flash gateway ({register:#x}) is busy: {} did not finish in {polls} reads, {} ms",
        opcode.map_or_else(|| "an earlier command".to_owned(), |opcode| format!("flash command {opcode:#04x}")),
        waited.as_millis()
    )]
    Busy {
        /// The function.
        device: String,
        /// Register that shows it.
        register: u32,
        /// SPI opcode; `None` for one that was under way before.
        opcode: Option<u8>,
        /// How often busy was read.
        polls: u32,
        /// In which time.
        waited: Duration,
    },
    /// No part answers.
    #[error("{device}: no flash answers (JEDEC id {jedec:#08x})")]
    NoFlash {
        /// The function.
        device: String,
        /// The id, 24 bits: vendor, type, capacity.
        jedec: u32,
    },
    /// A part whose size cannot be told.
    #[error("{device}: flash part with JEDEC id {jedec:#08x} has an unknown capacity code")]
    UnknownCapacity {
        /// The function.
        device: String,
        /// The id, 24 bits: vendor, type, capacity.
        jedec: u32,
    },
    /// A chip in recovery that does not let tools at its flash.
    #[error("{device}: {reason}")]
    NoWindow {
        /// The function.
        device: String,
        /// Why.
        reason: &'static str,
    },
}
