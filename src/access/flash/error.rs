//! Why the flash of a card could not be changed.

use std::time::Duration;

use crate::access::error::AccessError;
use crate::access::exchange::{RegisterError, tlv_status};
use crate::access::gateway::GatewayError;

/// What was being done to the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlashOperation {
    /// Reading.
    Read,
    /// Erasing a unit.
    Erase,
    /// Programming a page.
    Program,
}

impl std::fmt::Display for FlashOperation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Read => "read",
            Self::Erase => "erase",
            Self::Program => "program",
        })
    }
}

/// The flash could not be changed, or not be reached to change it.
#[derive(Debug, thiserror::Error)]
pub enum FlashError {
    /// The flash gateway.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// A flash register of the firmware.
    #[error("{device}: {source}")]
    Register {
        /// The function.
        device: String,
        /// What went wrong.
        source: RegisterError,
    },
    /// The firmware does not let tools at the flash: an update waits to be activated, or it keeps
    /// the flash to itself (burn 8.7).
    #[error(
        "{device}: the firmware refuses to {operation} flash at {address:#x} (status {status:#04x}, {})",
        tlv_status(*status)
    )]
    FirmwareRefuses {
        /// The function.
        device: String,
        /// What was asked of it.
        operation: FlashOperation,
        /// Flash address.
        address: u64,
        /// Its status: 7 or 8.
        status: u8,
    },
    /// A part of no known family: its commands and its write protection are not known.
    #[error(
        "{device}: the flash part with JEDEC id {jedec:#08x} is of no known family, so it is not written"
    )]
    UnknownPart {
        /// The function.
        device: String,
        /// The id, 24 bits: vendor, type, capacity.
        jedec: u32,
    },
    /// The part did not finish.
    #[error(
        "{device}: {operation} at {address:#x} did not end: the flash part still works after {} ms",
        waited.as_millis()
    )]
    Working {
        /// The function.
        device: String,
        /// What it works on.
        operation: FlashOperation,
        /// Flash address.
        address: u64,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The part cannot erase such a unit, or none starts there.
    #[error("{device}: no unit of {size:#x} bytes can be erased at {address:#x}")]
    NoUnit {
        /// The function.
        device: String,
        /// Flash address.
        address: u64,
        /// Bytes of the unit.
        size: u64,
    },
    /// Outside the flash.
    #[error("{device}: {len:#x} bytes at {address:#x} do not lie in a flash of {size:#x} bytes")]
    OutOfRange {
        /// The function.
        device: String,
        /// First byte.
        address: u64,
        /// Bytes.
        len: u64,
        /// Bytes of flash.
        size: u64,
    },
}

impl From<AccessError> for FlashError {
    fn from(error: AccessError) -> Self {
        Self::Gateway(error.into())
    }
}
