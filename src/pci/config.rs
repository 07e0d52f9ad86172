//! Configuration space of one function: the lowest thing everything above talks to.
//!
//! A sysfs `config` file is one; a lab card is one. Nothing above may know which.

use std::path::PathBuf;
use std::sync::Arc;

use super::Address;

/// Why a configuration-space access failed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be opened at all.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The `config` file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file can be read but not written: not root, or the kernel is locked down.
    #[error("{} cannot be opened for writing: {source}{}", path.display(),
        lockdown.as_ref().map(|mode| format!(" (kernel lockdown: {mode})")).unwrap_or_default())]
    NotWritable {
        /// The `config` file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
        /// Kernel lockdown mode in force, if any.
        lockdown: Option<String>,
    },
    /// A read or write failed or came back short.
    #[error("{device}: {operation} of config dword {offset:#05x} failed: {reason}")]
    Transfer {
        /// The function.
        device: String,
        /// `read` or `write`.
        operation: &'static str,
        /// Byte offset in configuration space.
        offset: u16,
        /// What went wrong.
        reason: String,
    },
    /// The function answers all ones: it left the bus.
    #[error(
        "{device}: config dword {offset:#05x} reads all ones; the function is gone from the bus"
    )]
    Gone {
        /// The function.
        device: String,
        /// Byte offset in configuration space.
        offset: u16,
    },
}

/// Reads and writes dwords of one function's configuration space.
///
/// Offsets are bytes, multiples of 4, below 4096. Values are the numbers a CPU would see
/// (configuration space is little-endian). One call is one config cycle.
pub trait ConfigSpace: Send + Sync {
    /// The dword at `offset`.
    ///
    /// # Errors
    /// [`ConfigError::Transfer`] when the system refuses. All ones is a value, not an error: the
    /// caller knows which dwords can never be all ones.
    fn read(&self, offset: u16) -> Result<u32, ConfigError>;

    /// Writes the dword at `offset`.
    ///
    /// # Errors
    /// [`ConfigError::Transfer`] when the system refuses.
    fn write(&self, offset: u16, value: u32) -> Result<(), ConfigError>;

    /// The function, for messages (`0000:03:00.0`).
    fn device(&self) -> String;
}

/// Opens configuration spaces: the sysfs tree of a host, or a lab.
pub trait ConfigSource: Send + Sync {
    /// Opens the configuration space of one function for reading and writing.
    ///
    /// # Errors
    /// [`ConfigError::Open`] or [`ConfigError::NotWritable`].
    fn open(&self, address: Address) -> Result<Arc<dyn ConfigSpace>, ConfigError>;
}
