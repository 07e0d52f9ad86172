//! The vendor-specific capability: a window from configuration space into the chip
//! (device-access 2.1 to 2.4).
//!
//! Whoever holds the semaphore selects a space, then moves dwords by an address/data pair with a
//! flag. [`Vsec::hold`] takes the semaphore and gives a [`Session`]; everything goes through
//! one, and dropping it frees the semaphore, on errors and panics too. A session is meant to
//! span a whole register or flash transaction: the selected space is known while it lasts, so
//! that no cycle is spent on looking again.
//!
//! A process that is stopped between taking and freeing leaves the semaphore held, and the chip
//! has no time-out for it. So cxfw never exits inside a session: it closes the gate first
//! ([`gate`]). For a process that is killed, `access::claims`
//! tells its ticket to the next one.

mod session;

pub use session::Session;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::claims::{Claims, Slot};
use super::error::AccessError;
use super::gate;
use super::patience::Patience;
use super::space::SpaceSet;
use super::stuck::Owner;
use crate::bytes::bits;
use crate::pci::{ConfigError, ConfigSpace, capability};

/// Capability id: vendor specific.
const CAPABILITY_ID: u32 = 0x09;

/// Space `[15:0]`, syndrome code `[27:24]`, status `[31:29]`: 0 = the space is not there.
const CONTROL: u16 = 0x04;
/// A new ticket with every read.
const COUNTER: u16 = 0x08;
/// 0 = free, else the owner's ticket.
pub(super) const SEMAPHORE: u16 = 0x0c;
/// Address `[29:0]`, syndrome 30, flag 31.
const ADDRESS: u16 = 0x10;
/// The dword read or to write.
const DATA: u16 = 0x14;

/// Syndrome code: the address is out of range for the space, so the twin space may have it.
pub(super) const OUT_OF_RANGE: u32 = 3;

/// Type of the capability, header bits `[31:24]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapabilityType {
    /// Of a function in normal use.
    Functional = 0,
    /// Of a chip in recovery (ConnectX-8 and later).
    Recovery = 2,
}

/// Finds the capability: a functional one, else one of a chip in recovery. Other types with the
/// same id are somebody else's.
///
/// # Errors
/// As [`capability::find_by`].
pub fn find(config: &dyn ConfigSpace) -> Result<Option<(u16, CapabilityType)>, AccessError> {
    for kind in [CapabilityType::Functional, CapabilityType::Recovery] {
        let wanted =
            |_, header| bits(header, 7, 0) == CAPABILITY_ID && bits(header, 31, 24) == kind as u32;
        if let Some(offset) = capability::find_by(config, wanted)? {
            return Ok(Some((offset, kind)));
        }
    }
    Ok(None)
}

/// The capability of one function.
pub struct Vsec {
    config: Arc<dyn ConfigSpace>,
    base: u16,
    kind: CapabilityType,
    spaces: SpaceSet,
    claims: Option<Claims>,
    patience: Patience,
}

impl Vsec {
    /// Finds the capability and probes its spaces; `None` when there is none. `locks` is the
    /// folder of lock files, where this process writes down what it holds.
    ///
    /// # Errors
    /// [`AccessError`]: configuration space failed or the semaphore is held by someone else. A
    /// capability without the spaces it needs is no error: see [`Vsec::spaces`].
    pub fn open(
        config: Arc<dyn ConfigSpace>,
        locks: Option<&Path>,
        patience: Patience,
    ) -> Result<Option<Self>, AccessError> {
        let Some((base, kind)) = find(&*config)? else {
            return Ok(None);
        };
        let claims = locks
            .map(|dir| Claims::open(dir, &config.device()))
            .transpose()?;
        let mut vsec = Self {
            config,
            base,
            kind,
            spaces: SpaceSet::default(),
            claims,
            patience,
        };
        let spaces = vsec.hold()?.probe()?;
        vsec.spaces = spaces;
        Ok(Some(vsec))
    }

    /// Takes the semaphore.
    ///
    /// # Errors
    /// [`AccessError::SemaphoreHeld`] when somebody else kept it, [`AccessError::Config`].
    pub fn hold(&self) -> Result<Session<'_>, AccessError> {
        let passage = gate::enter();
        self.take(gate::is_closed)?;
        Ok(Session::new(self, passage))
    }

    /// The spaces that are there.
    #[must_use]
    pub const fn spaces(&self) -> SpaceSet {
        self.spaces
    }

    /// Type of the capability.
    #[must_use]
    pub const fn kind(&self) -> CapabilityType {
        self.kind
    }

    /// The function, for messages.
    #[must_use]
    pub fn device(&self) -> String {
        self.config.device()
    }

    /// What this process writes down about what it holds.
    pub(super) fn claims(&self) -> Option<&Claims> {
        self.claims.as_ref()
    }

    /// The process behind a number that a semaphore shows, where one is known to live.
    pub(super) fn owner(&self, slot: Slot, number: u32) -> Option<Box<Owner>> {
        let locks = self.claims.as_ref().map(Claims::dir);
        Owner::of(locks, &self.device(), slot, number).map(Box::new)
    }

    /// Bounds of all waits.
    #[must_use]
    pub const fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Steps 1 to 4 of device-access 2.2, again and again unless it is time to `give_up`.
    fn take(&self, give_up: impl Fn() -> bool) -> Result<(), AccessError> {
        let start = Instant::now();
        let mut owner = 0;
        for attempt in 0..self.patience.semaphore_tries {
            owner = self.get(SEMAPHORE)?;
            if owner == 0 {
                let ticket = self.get(COUNTER)?;
                if let Some(claims) = &self.claims {
                    claims.record(Slot::Ticket, ticket)?;
                }
                self.put(SEMAPHORE, ticket)?;
                owner = self.get(SEMAPHORE)?;
                if owner == ticket && ticket != 0 {
                    return Ok(());
                }
            } else if give_up() {
                break;
            } else if !self.free_abandoned(attempt, owner)? {
                thread::sleep(self.patience.semaphore_pause);
            }
        }
        Err(AccessError::SemaphoreHeld {
            device: self.device(),
            owner,
            process: self.owner(Slot::Ticket, owner),
            waited: start.elapsed(),
        })
    }

    /// Frees the semaphore of an owner that is known to be dead. Looked for now and again only:
    /// looking costs system calls, and a living owner is soon done.
    fn free_abandoned(&self, attempt: u32, owner: u32) -> Result<bool, AccessError> {
        let Some(claims) = &self.claims else {
            return Ok(false);
        };
        if !(attempt + 1).is_multiple_of(self.patience.attempts_a_look) {
            return Ok(false);
        }
        let Some(_dead) = claims.abandoned(Slot::Ticket, owner)? else {
            return Ok(false);
        };
        if self.get(SEMAPHORE)? == owner {
            log::warn!(
                "{}: freeing the capability semaphore of a dead process (ticket {owner:#x})",
                self.device()
            );
            self.put(SEMAPHORE, 0)?;
        }
        Ok(true)
    }

    /// A register of the capability that is never all ones while the function is on the bus.
    fn get(&self, register: u16) -> Result<u32, AccessError> {
        let offset = self.base + register;
        match self.config.read(offset)? {
            u32::MAX => Err(AccessError::Config(ConfigError::Gone {
                device: self.device(),
                offset,
            })),
            value => Ok(value),
        }
    }

    fn put(&self, register: u16, value: u32) -> Result<(), AccessError> {
        Ok(self.config.write(self.base + register, value)?)
    }
}

impl std::fmt::Debug for Vsec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vsec")
            .field("device", &self.device())
            .field("base", &self.base)
            .field("kind", &self.kind)
            .field("spaces", &self.spaces)
            .finish_non_exhaustive()
    }
}
