//! Accesses under the semaphore: selecting a space, moving dwords.

use std::thread;
use std::time::{Duration, Instant};

use super::{ADDRESS, CONTROL, DATA, OUT_OF_RANGE, SEMAPHORE, Vsec};
use crate::access::error::{AccessError, Operation};
use crate::access::gate::Passage;
use crate::access::patience::FLAG_POLLS_A_PAUSE;
use crate::access::space::{Space, SpaceSet};
use crate::bytes::{bits, with_bits};

const FLAG: u32 = 1 << 31;
const SYNDROME: u32 = 1 << 30;

/// The semaphore of a capability, held.
pub struct Session<'a> {
    vsec: &'a Vsec,
    held: bool,
    /// The control dword as last read in this session; `None` = not read yet.
    control: Option<u32>,
    _passage: Passage,
}

impl<'a> Session<'a> {
    /// The session of the capability whose semaphore was just taken.
    pub(super) const fn new(vsec: &'a Vsec, passage: Passage) -> Self {
        Self {
            vsec,
            held: true,
            control: None,
            _passage: passage,
        }
    }
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

    /// Lets others have the semaphore until the next access, which takes it again.
    ///
    /// # Errors
    /// [`AccessError::Config`].
    pub fn let_go(&mut self) -> Result<(), AccessError> {
        self.release()
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
            self.vsec.take(|| false)?;
            self.held = true;
        }
        Ok(())
    }

    /// Which spaces are there.
    pub(super) fn probe(&mut self) -> Result<SpaceSet, AccessError> {
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
        let start = Instant::now();
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
            waited: start.elapsed(),
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
            error.log_unreleased("capability semaphore");
        }
    }
}
