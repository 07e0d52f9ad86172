//! The legacy gateway: CR space through an address and a data dword of configuration space, for
//! chips without a usable vendor-specific capability (device-access 2.5).
//!
//! There is no lock in the hardware. Between processes of cxfw a locked file (flock) keeps the two
//! dwords together, between threads a mutex, and against mstflint its own lock
//! (`access/mstflint_lock.rs`).

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::AccessError;
use super::gate::{self, Passage};
use super::lock_folder;
use super::mstflint_lock::{Held, MstflintLock};
use super::patience::Patience;
use super::space::Space;
use crate::bytes::bits;
use crate::pci::{ConfigError, ConfigSpace, capability};
use crate::sys;

const ADDRESS: u16 = 0x58;
const DATA: u16 = 0x5c;

/// A CR address that every chip has: the hardware id.
const PROBE: u32 = 0xf_0014;
/// What the address dword reads as on a gateway whose address cannot be read back.
const WRITE_ONLY: u32 = 0xbada_cce5;

/// How the gateway is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// Address, then data.
    Plain,
    /// A read writes address + 1 first, a write puts the data before the address.
    WriteOnly,
}

/// The gateway of one function.
pub struct Legacy {
    config: Arc<dyn ConfigSpace>,
    variant: Variant,
    lock: Mutex<Option<LockFile>>,
    mstflint: Option<MstflintLock>,
    patience: Patience,
}

/// The file that keeps processes apart.
#[derive(Debug)]
struct LockFile {
    file: File,
    path: PathBuf,
}

impl LockFile {
    fn open(dir: &Path, function: &str) -> Result<Self, AccessError> {
        lock_folder::prepare(dir)?;
        let path = dir.join(format!("{function}.gateway"));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path);
        match file {
            Ok(file) => Ok(Self { file, path }),
            Err(source) => Err(AccessError::LockFile { path, source }),
        }
    }

    fn take(&self, device: &str, patience: &Patience) -> Result<(), AccessError> {
        let start = Instant::now();
        for _ in 0..patience.gateway_tries {
            match self.file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => thread::sleep(patience.gateway_pause),
                Err(TryLockError::Error(source)) => {
                    return Err(AccessError::LockFile {
                        path: self.path.clone(),
                        source,
                    });
                }
            }
        }
        Err(AccessError::GatewayHeld {
            device: device.to_owned(),
            path: self.path.clone(),
            waited: start.elapsed(),
        })
    }
}

impl Legacy {
    /// Opens the gateway. `locks` is the folder of lock files; without one only the threads of
    /// this process are kept apart.
    ///
    /// # Errors
    /// [`AccessError::NoWay`] when a capability lies where the gateway would be, else
    /// [`AccessError`].
    pub fn open(
        config: Arc<dyn ConfigSpace>,
        locks: Option<&Path>,
        patience: Patience,
    ) -> Result<Self, AccessError> {
        let device = config.device();
        let over_gateway = |at, _| (ADDRESS - 4..=DATA).contains(&at);
        if let Some(at) = capability::find_by(&*config, over_gateway)? {
            return Err(AccessError::NoWay {
                device,
                reason: format!(
                    "no usable vendor-specific capability, and a capability at {at:#x} where the \
                     legacy gateway would be"
                ),
            });
        }
        let lock = locks.map(|dir| LockFile::open(dir, &device)).transpose()?;
        let mstflint = locks.map(|dir| MstflintLock::open(&sys::mstflint_locks(dir), &device));
        let mut legacy = Self {
            config,
            variant: Variant::Plain,
            lock: Mutex::new(lock),
            mstflint,
            patience,
        };
        let variant = legacy.hold()?.probe()?;
        legacy.variant = variant;
        Ok(legacy)
    }

    /// Takes the gateway.
    ///
    /// # Errors
    /// [`AccessError::GatewayHeld`] when another process kept it.
    pub fn hold(&self) -> Result<Session<'_>, AccessError> {
        let passage = gate::enter();
        Ok(Session {
            legacy: self,
            lock: Some(self.take()?),
            _passage: passage,
        })
    }

    fn take(&self) -> Result<MutexGuard<'_, Option<LockFile>>, AccessError> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*lock {
            file.take(&self.device(), &self.patience)?;
        }
        Ok(lock)
    }

    /// Keeps mstflint from coming between an address and its data.
    fn pair(&self) -> Result<Option<Held<'_>>, AccessError> {
        let held = self.mstflint.as_ref().map(MstflintLock::take).transpose();
        held.map_err(|kept| AccessError::GatewayHeld {
            device: self.device(),
            path: kept.path,
            waited: kept.waited,
        })
    }

    /// The function, for messages.
    #[must_use]
    pub fn device(&self) -> String {
        self.config.device()
    }

    /// Bounds of all waits.
    #[must_use]
    pub const fn patience(&self) -> &Patience {
        &self.patience
    }
}

impl std::fmt::Debug for Legacy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Legacy")
            .field("device", &self.device())
            .field("variant", &self.variant)
            .finish_non_exhaustive()
    }
}

/// The gateway, ours alone.
pub struct Session<'a> {
    legacy: &'a Legacy,
    /// `None` while others may have it.
    lock: Option<MutexGuard<'a, Option<LockFile>>>,
    _passage: Passage,
}

impl Session<'_> {
    /// The dword at a CR address.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn read(&mut self, address: u32) -> Result<u32, AccessError> {
        self.prepare(address)?;
        let request = match self.legacy.variant {
            Variant::Plain => address,
            Variant::WriteOnly => address | 1,
        };
        let _pair = self.legacy.pair()?;
        self.legacy.config.write(ADDRESS, request)?;
        let value = self.legacy.config.read(DATA)?;
        if value == u32::MAX {
            self.check_presence()?;
        }
        Ok(value)
    }

    /// Writes the dword at a CR address.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn write(&mut self, address: u32, value: u32) -> Result<(), AccessError> {
        self.prepare(address)?;
        let config = &self.legacy.config;
        let _pair = self.legacy.pair()?;
        match self.legacy.variant {
            Variant::Plain => {
                config.write(ADDRESS, address)?;
                config.write(DATA, value)?;
            }
            Variant::WriteOnly => {
                config.write(DATA, value)?;
                config.write(ADDRESS, address)?;
            }
        }
        Ok(())
    }

    /// Lets others have the gateway for a while, then takes it again.
    ///
    /// # Errors
    /// As [`Legacy::hold`].
    pub fn rest(&mut self, pause: Duration) -> Result<(), AccessError> {
        self.let_go();
        thread::sleep(pause);
        self.take_again()
    }

    /// Lets others have the gateway until the next access, which takes it again.
    pub fn let_go(&mut self) {
        let Some(lock) = self.lock.take() else {
            return;
        };
        if let Some(lock) = &*lock
            && let Err(error) = lock.file.unlock()
        {
            log::warn!("cannot unlock {}: {error}", lock.path.display());
        }
    }

    fn take_again(&mut self) -> Result<(), AccessError> {
        if self.lock.is_none() {
            self.lock = Some(self.legacy.take()?);
        }
        Ok(())
    }

    fn probe(&mut self) -> Result<Variant, AccessError> {
        let _pair = self.legacy.pair()?;
        self.legacy.config.write(ADDRESS, PROBE)?;
        match self.legacy.config.read(ADDRESS)? {
            u32::MAX => Err(self.gone(ADDRESS)),
            WRITE_ONLY => Ok(Variant::WriteOnly),
            _ => Ok(Variant::Plain),
        }
    }

    fn prepare(&mut self, address: u32) -> Result<(), AccessError> {
        if address.is_multiple_of(4) && bits(address, 31, 30) == 0 {
            return self.take_again();
        }
        Err(AccessError::Address {
            device: self.legacy.device(),
            space: Space::Cr,
            address,
        })
    }

    /// All ones may be a value; the vendor id cannot be.
    fn check_presence(&self) -> Result<(), AccessError> {
        match self.legacy.config.read(0)? {
            u32::MAX => Err(self.gone(DATA)),
            _ => Ok(()),
        }
    }

    fn gone(&self, offset: u16) -> AccessError {
        AccessError::Config(ConfigError::Gone {
            device: self.legacy.device(),
            offset,
        })
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.let_go();
    }
}
