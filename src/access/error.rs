//! Why a card's insides could not be reached.

use std::path::PathBuf;
use std::time::Duration;

use super::space::Space;
use super::stuck::{ChipLock, Owner};
use crate::pci::ConfigError;

/// What was being done when an access failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A read.
    Read,
    /// A write.
    Write,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// An access to CR space or another address space failed, or there is no way to them.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// Configuration space itself.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Neither a usable capability nor the legacy gateway is there.
    #[error("{device}: no way to the chip: {reason}")]
    NoWay {
        /// The function.
        device: String,
        /// What was tried and found.
        reason: String,
    },
    /// Somebody else holds the capability's semaphore.
    #[error(
        "{device}: the semaphore of the vendor-specific capability was held by ticket {owner:#x} \
         ({}) for {} ms, which blocks {}",
        who(process.as_deref()), waited.as_millis(), ChipLock::Capability.blocks()
    )]
    SemaphoreHeld {
        /// The function.
        device: String,
        /// Ticket of the owner, as last seen.
        owner: u32,
        /// The process behind it, where one is known to live.
        process: Option<Box<Owner>>,
        /// How long cxfw tried.
        waited: Duration,
    },
    /// Somebody else holds a semaphore of the semaphore space.
    #[error(
        "{device}: the {lock} was held by token {owner:#x} ({}) for {} ms, which blocks {}",
        who(process.as_deref()), waited.as_millis(), lock.blocks()
    )]
    TokenHeld {
        /// The function.
        device: String,
        /// Which.
        lock: ChipLock,
        /// Token of the owner, as last seen.
        owner: u32,
        /// The process behind it, where one is known to live.
        process: Option<Box<Owner>>,
        /// How long cxfw tried.
        waited: Duration,
    },
    /// The function does not have the address space.
    #[error("{device}: address {space} is not supported")]
    UnsupportedSpace {
        /// The function.
        device: String,
        /// The space.
        space: Space,
    },
    /// The capability did not finish an access.
    #[error(
        "{device}: {operation} of {address:#x} in {space} did not finish: the flag did not change \
         in {polls} reads, {} ms", waited.as_millis()
    )]
    FlagTimeout {
        /// The function.
        device: String,
        /// Read or write.
        operation: Operation,
        /// The space.
        space: Space,
        /// Byte address in it.
        address: u32,
        /// How often the flag was read.
        polls: u32,
        /// In which time.
        waited: Duration,
    },
    /// The chip refused an access.
    #[error(
        "{device}: {operation} of {address:#x} in {space} was refused with syndrome {code}{}",
        if *code == super::vsec::OUT_OF_RANGE { " (address out of range)" } else { "" }
    )]
    Syndrome {
        /// The function.
        device: String,
        /// Read or write.
        operation: Operation,
        /// The space.
        space: Space,
        /// Byte address in it.
        address: u32,
        /// Syndrome code, 4 bits.
        code: u32,
    },
    /// An address that no space has: above 30 bits, or no multiple of 4.
    #[error("{device}: {address:#x} is no dword address of {space}")]
    Address {
        /// The function.
        device: String,
        /// The space.
        space: Space,
        /// The address.
        address: u32,
    },
    /// Secure host: the owner locked CR space.
    #[error("{device}: CR space is locked by secure host ({value:#010x} at {address:#x})")]
    SecureHost {
        /// The function.
        device: String,
        /// CR address that was read.
        address: u32,
        /// What it read.
        value: u32,
    },
    /// The hardware id is no id.
    #[error("{device}: CR space is unreachable or corrupted ({value:#010x} at {address:#x})")]
    Corrupted {
        /// The function.
        device: String,
        /// CR address that was read.
        address: u32,
        /// What it read.
        value: u32,
    },
    /// The folder of lock files cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    LockFile {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process uses the legacy gateway.
    #[error("{device}: another process has used the legacy gateway for {} ms ({})",
        waited.as_millis(), path.display())]
    GatewayHeld {
        /// The function.
        device: String,
        /// The lock file.
        path: PathBuf,
        /// How long cxfw tried.
        waited: Duration,
    },
}

/// Names the owner of a semaphore.
fn who(process: Option<&Owner>) -> String {
    process.map_or_else(|| "no process known here".to_owned(), ToString::to_string)
}

impl AccessError {
    /// The function left the bus (all ones where that cannot be).
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        matches!(self, Self::Config(ConfigError::Gone { .. }))
    }

    /// Tells the log that a lock could not be given back. A function that left the bus holds none
    /// any more, and that it left is told by whoever met it first.
    pub(crate) fn log_unreleased(&self, lock: &str) {
        let level = if self.is_gone() {
            log::Level::Debug
        } else {
            log::Level::Warn
        };
        log::log!(level, "the {lock} could not be given back: {self}");
    }
}
