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
//! has no time-out for it. So cxfw never exits inside a session: signals only set a flag that the
//! jobs above look at between transactions. For a process that is killed, [`super::Claims`]
//! tells its ticket to the next one.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::claims::{Claims, Slot};
use super::error::{AccessError, Operation};
use super::patience::{FLAG_POLLS_A_PAUSE, Patience};
use super::space::{Space, SpaceSet};
use crate::bytes::{bits, with_bits};
use crate::pci::{ConfigError, ConfigSpace, capability};

/// Capability id: vendor specific.
const CAPABILITY_ID: u32 = 0x09;

/// Space `[15:0]`, syndrome code `[27:24]`, status `[31:29]`: 0 = the space is not there.
const CONTROL: u16 = 0x04;
/// A new ticket with every read.
const COUNTER: u16 = 0x08;
/// 0 = free, else the owner's ticket.
const SEMAPHORE: u16 = 0x0c;
/// Address `[29:0]`, syndrome 30, flag 31.
const ADDRESS: u16 = 0x10;
/// The dword read or to write.
const DATA: u16 = 0x14;

const FLAG: u32 = 1 << 31;
const SYNDROME: u32 = 1 << 30;

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
        self.take()?;
        Ok(Session {
            vsec: self,
            held: true,
            control: None,
        })
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

    /// Bounds of all waits.
    #[must_use]
    pub const fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Steps 1 to 4 of device-access 2.2.
    fn take(&self) -> Result<(), AccessError> {
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
            } else if !self.free_abandoned(attempt, owner)? {
                thread::sleep(self.patience.semaphore_pause);
            }
        }
        Err(AccessError::SemaphoreHeld {
            device: self.device(),
            owner,
            waited: start.elapsed(),
        })
    }

    /// Frees the semaphore of an owner that is known to be dead. Looked for at the first attempt
    /// and then now and again, since looking costs system calls.
    fn free_abandoned(&self, attempt: u32, owner: u32) -> Result<bool, AccessError> {
        const ATTEMPTS_A_LOOK: u32 = 64;
        let Some(claims) = &self.claims else {
            return Ok(false);
        };
        if !attempt.is_multiple_of(ATTEMPTS_A_LOOK) {
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

/// The semaphore of a capability, held.
pub struct Session<'a> {
    vsec: &'a Vsec,
    held: bool,
    /// The control dword as last read in this session; `None` = not read yet.
    control: Option<u32>,
}

impl Session<'_> {
    /// The dword at byte `address` of `space`, or of its twin where that is the one supported.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn read(&mut self, space: Space, address: u32) -> Result<u32, AccessError> {
        self.with_twin(space, |session, space| session.read_dword(space, address))
    }

    /// Writes the dword at byte `address` of `space`.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn write(&mut self, space: Space, address: u32, value: u32) -> Result<(), AccessError> {
        self.with_twin(space, |session, space| {
            session.write_dword(space, address, value)
        })
    }

    /// Reads consecutive dwords from `address` on.
    ///
    /// # Errors
    /// [`AccessError`]; `values` may be filled in part.
    pub fn read_block(
        &mut self,
        space: Space,
        address: u32,
        values: &mut [u32],
    ) -> Result<(), AccessError> {
        self.with_twin(space, |session, space| {
            for (value, address) in values.iter_mut().zip((address..).step_by(4)) {
                *value = session.read_dword(space, address)?;
            }
            Ok(())
        })
    }

    /// Writes consecutive dwords from `address` on.
    ///
    /// # Errors
    /// [`AccessError`]; a part may have been written.
    pub fn write_block(
        &mut self,
        space: Space,
        address: u32,
        values: &[u32],
    ) -> Result<(), AccessError> {
        self.with_twin(space, |session, space| {
            for (&value, address) in values.iter().zip((address..).step_by(4)) {
                session.write_dword(space, address, value)?;
            }
            Ok(())
        })
    }

    /// Lets others have the semaphore for a while, then takes it again.
    ///
    /// # Errors
    /// As [`Vsec::hold`]; the session is then without the semaphore, and the next access takes it.
    pub fn rest(&mut self, pause: Duration) -> Result<(), AccessError> {
        self.release()?;
        thread::sleep(pause);
        self.take_again()
    }

    /// Frees the semaphore. Dropping does the same, without saying whether it worked.
    ///
    /// # Errors
    /// [`AccessError::Config`].
    pub fn finish(mut self) -> Result<(), AccessError> {
        self.release()
    }

    fn release(&mut self) -> Result<(), AccessError> {
        if self.held {
            self.held = false;
            self.control = None;
            self.vsec.put(SEMAPHORE, 0)?;
        }
        Ok(())
    }

    fn take_again(&mut self) -> Result<(), AccessError> {
        if !self.held {
            self.vsec.take()?;
            self.held = true;
        }
        Ok(())
    }

    /// Which spaces are there.
    fn probe(&mut self) -> Result<SpaceSet, AccessError> {
        let mut spaces = SpaceSet::default();
        for space in Space::ALL {
            match self.select(space) {
                Ok(()) => spaces.insert(space),
                Err(AccessError::UnsupportedSpace { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(spaces)
    }

    /// Runs an operation in `space` and, if the chip says that the address belongs elsewhere,
    /// the same operation in the twin space. Every operation names its space, so the twin is
    /// selected for this one only.
    fn with_twin<T>(
        &mut self,
        space: Space,
        mut operation: impl FnMut(&mut Self, Space) -> Result<T, AccessError>,
    ) -> Result<T, AccessError> {
        let spaces = self.vsec.spaces;
        let first = spaces
            .choose(space)
            .ok_or_else(|| self.unsupported(space))?;
        self.take_again()?;
        let outcome = operation(self, first);
        let out_of_range = matches!(
            outcome,
            Err(AccessError::Syndrome {
                code: OUT_OF_RANGE,
                ..
            })
        );
        match first.twin().filter(|&twin| spaces.contains(twin)) {
            Some(twin) if out_of_range => operation(self, twin),
            _ => outcome,
        }
    }

    /// Selects a space unless it is selected already (device-access 2.3).
    fn select(&mut self, space: Space) -> Result<(), AccessError> {
        let number = u32::from(space.number());
        let mut control = match self.control {
            Some(control) => control,
            None => self.vsec.get(CONTROL)?,
        };
        if bits(control, 15, 0) != number {
            self.control = None;
            self.vsec.put(CONTROL, with_bits(control, 15, 0, number))?;
            control = self.vsec.get(CONTROL)?;
        }
        self.control = Some(control);
        if bits(control, 15, 0) == number && bits(control, 31, 29) != 0 {
            Ok(())
        } else {
            Err(self.unsupported(space))
        }
    }

    fn read_dword(&mut self, space: Space, address: u32) -> Result<u32, AccessError> {
        self.prepare(space, address)?;
        self.vsec.put(ADDRESS, address)?;
        self.await_flag(Operation::Read, space, address)?;
        let value = self.vsec.config.read(self.vsec.base + DATA)?;
        if value == u32::MAX {
            // a value like any other, or a function that is gone: the address dword tells
            self.vsec.get(ADDRESS)?;
        }
        Ok(value)
    }

    fn write_dword(&mut self, space: Space, address: u32, value: u32) -> Result<(), AccessError> {
        self.prepare(space, address)?;
        self.vsec.put(DATA, value)?;
        self.vsec.put(ADDRESS, address | FLAG)?;
        self.await_flag(Operation::Write, space, address)
    }

    fn prepare(&mut self, space: Space, address: u32) -> Result<(), AccessError> {
        if address >= SYNDROME || !address.is_multiple_of(4) {
            return Err(AccessError::Address {
                device: self.vsec.device(),
                space,
                address,
            });
        }
        self.select(space)
    }

    /// Waits until the flag says that the access is done: set after a read, clear after a write.
    fn await_flag(
        &self,
        operation: Operation,
        space: Space,
        address: u32,
    ) -> Result<(), AccessError> {
        let done = match operation {
            Operation::Read => FLAG,
            Operation::Write => 0,
        };
        let polls = self.vsec.patience.flag_polls;
        for poll in 1..=polls {
            let word = self.vsec.get(ADDRESS)?;
            if word & FLAG == done {
                return self.check_syndrome(word, operation, space, address);
            }
            if poll.is_multiple_of(FLAG_POLLS_A_PAUSE) {
                thread::sleep(self.vsec.patience.flag_pause);
            }
        }
        Err(AccessError::FlagTimeout {
            device: self.vsec.device(),
            operation,
            space,
            address,
            polls,
        })
    }

    /// Twin-space devices say with bit 30 that an access was refused (device-access 2.4).
    fn check_syndrome(
        &self,
        word: u32,
        operation: Operation,
        space: Space,
        address: u32,
    ) -> Result<(), AccessError> {
        let has_twin = space
            .twin()
            .is_some_and(|twin| self.vsec.spaces.contains(twin));
        if !has_twin || word & SYNDROME == 0 {
            return Ok(());
        }
        Err(AccessError::Syndrome {
            device: self.vsec.device(),
            operation,
            space,
            address,
            code: bits(self.vsec.get(CONTROL)?, 27, 24),
        })
    }

    fn unsupported(&self, space: Space) -> AccessError {
        AccessError::UnsupportedSpace {
            device: self.vsec.device(),
            space,
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            log::warn!("the capability semaphore could not be freed: {error}");
        }
    }
}
