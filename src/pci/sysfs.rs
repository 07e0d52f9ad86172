//! Configuration space through the sysfs `config` file.
//!
//! One open for reading and writing, then one 4-byte access a config cycle. A kernel in lockdown
//! lets root open and read the file and refuses the writes, so lockdown is looked for at the
//! opening already: nothing above gets half way into the semaphore protocol.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Address, ConfigError, ConfigSource, ConfigSpace};
use crate::sys::Roots;

/// Bytes that a process without `CAP_SYS_ADMIN` may read (device-access 1.1).
const UNPRIVILEGED_SIZE: u16 = 64;

/// Size of the configuration space of a PCIe function.
const CONFIG_SIZE: u16 = 4096;

/// Opens the `config` files of a sysfs tree.
#[derive(Debug, Clone)]
pub struct SysfsSource {
    roots: Roots,
}

impl SysfsSource {
    /// The functions below `roots.sysfs`.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            roots: roots.clone(),
        }
    }
}

impl ConfigSource for SysfsSource {
    fn open(&self, address: Address) -> Result<Arc<dyn ConfigSpace>, ConfigError> {
        Ok(Arc::new(SysfsConfig::open(&self.roots, address)?))
    }
}

/// The configuration space of one function of this host.
#[derive(Debug)]
pub struct SysfsConfig {
    file: File,
    address: Address,
    roots: Roots,
}

impl SysfsConfig {
    /// Opens `config` of the function at `address` for reading and writing.
    ///
    /// # Errors
    /// [`ConfigError::NotWritable`] when the caller is not root or the kernel is locked down,
    /// [`ConfigError::Open`] when there is no such file or it cannot be opened at all.
    pub fn open(roots: &Roots, address: Address) -> Result<Self, ConfigError> {
        let path = config_path(roots, address);
        let lockdown = roots.lockdown();
        let refusal = |source| ConfigError::NotWritable {
            path: path.clone(),
            source,
            lockdown: lockdown.clone(),
        };
        match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(_) if lockdown.is_some() => {
                Err(refusal(io::Error::from(io::ErrorKind::PermissionDenied)))
            }
            Ok(file) => Ok(Self {
                file,
                address,
                roots: roots.clone(),
            }),
            Err(source) if is_refusal(&source) => Err(refusal(source)),
            Err(source) => Err(ConfigError::Open { path, source }),
        }
    }

    /// Opens `config` for reading only. Anybody may, and sees the header; every write fails.
    ///
    /// # Errors
    /// [`ConfigError::Open`] when the file cannot be opened.
    pub fn open_read_only(roots: &Roots, address: Address) -> Result<Self, ConfigError> {
        let path = config_path(roots, address);
        match File::open(&path) {
            Ok(file) => Ok(Self {
                file,
                address,
                roots: roots.clone(),
            }),
            Err(source) => Err(ConfigError::Open { path, source }),
        }
    }

    fn failed(&self, operation: &'static str, offset: u16, reason: String) -> ConfigError {
        ConfigError::Transfer {
            device: self.address.to_string(),
            operation,
            offset,
            reason,
        }
    }

    fn check(&self, operation: &'static str, offset: u16) -> Result<(), ConfigError> {
        if offset.is_multiple_of(4) && offset < CONFIG_SIZE {
            Ok(())
        } else {
            Err(self.failed(operation, offset, "there is no dword there".to_owned()))
        }
    }

    /// Why a write that the open file should have allowed was refused.
    fn write_refused(&self, error: &io::Error) -> String {
        match self.roots.lockdown() {
            Some(mode) if is_refusal(error) => format!("{error} (kernel lockdown: {mode})"),
            _ => error.to_string(),
        }
    }
}

fn config_path(roots: &Roots, address: Address) -> PathBuf {
    roots.pci_devices().join(address.to_string()).join("config")
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

impl ConfigSpace for SysfsConfig {
    fn read(&self, offset: u16) -> Result<u32, ConfigError> {
        self.check("read", offset)?;
        let mut bytes = [0; 4];
        match self.file.read_at(&mut bytes, u64::from(offset)) {
            Ok(4) => Ok(u32::from_le_bytes(bytes)),
            Ok(0) if offset >= UNPRIVILEGED_SIZE => Err(self.failed(
                "read",
                offset,
                format!(
                    "the file ends before it; without CAP_SYS_ADMIN the kernel shows only the \
                     first {UNPRIVILEGED_SIZE} bytes"
                ),
            )),
            Ok(count) => Err(self.failed("read", offset, format!("{count} of 4 bytes came"))),
            Err(error) => Err(self.failed("read", offset, error.to_string())),
        }
    }

    fn write(&self, offset: u16, value: u32) -> Result<(), ConfigError> {
        self.check("write", offset)?;
        match self.file.write_at(&value.to_le_bytes(), u64::from(offset)) {
            Ok(4) => Ok(()),
            Ok(count) => Err(self.failed("write", offset, format!("{count} of 4 bytes went out"))),
            Err(error) => Err(self.failed("write", offset, self.write_refused(&error))),
        }
    }

    fn device(&self) -> String {
        self.address.to_string()
    }
}
