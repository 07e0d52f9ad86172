//! Taking the flash gateway and giving it back (burn 8.2).
//!
//! The lock names no owner and has no time-out: a process that is killed here leaves the gateway
//! locked until the chip is reset. Reads therefore take and drop it for a few KiB at a time.

use std::time::Instant;

use super::GatewayError;
use super::layout::{BUSY, LOCK, Layout, LockKind};
use crate::access::cr::{Cr, Session};
use crate::access::error::AccessError;
use crate::access::space::Space;
use crate::bytes::{bits, with_bits};
use crate::model::Model;

/// ConnectX-3: flash semaphore of the command register.
pub(super) const HCR_FLASH_SEMAPHORE: u32 = 0xf_03a0;
/// ConnectX-3: semaphore of the gateway.
pub(super) const GATEWAY_SEMAPHORE: u32 = 0xf_03fc;

/// What the command register reads as on a secure device that is closed.
pub(super) const CLOSED: u32 = 0xbada_cce6;

/// Core clocks per microsecond.
const CORE_CLOCK: u32 = 0x7f4;
/// Fastest flash clock that reads are safe at, MHz.
const FASTEST_FLASH_CLOCK: u32 = 90;

/// The gateway, ours until dropped.
pub(super) struct Locked<'a> {
    pub session: Session<'a>,
    pub layout: &'a Layout,
    taken: Taken,
    /// Register and former value of the flash clock divider.
    divider: Option<(u32, u32)>,
}

/// What has been taken and must be given back.
#[derive(Debug, Default)]
struct Taken {
    hcr_semaphore: bool,
    gateway: bool,
    cache_replacement: bool,
}

impl<'a> Locked<'a> {
    /// Takes the lock, stops the firmware's cache and waits until the gateway is idle.
    pub fn take(cr: &'a Cr, layout: &'a Layout, model: &Model) -> Result<Self, GatewayError> {
        let mut locked = Self {
            session: cr.hold()?,
            layout,
            taken: Taken::default(),
            divider: None,
        };
        locked.take_lock(cr)?;
        locked.quieten(model)?;
        locked.await_idle(cr, None)?;
        Ok(locked)
    }

    fn take_lock(&mut self, cr: &Cr) -> Result<(), GatewayError> {
        let patience = cr.patience();
        match self.layout.lock {
            LockKind::Semaphores => {
                let (tries, pause) = (patience.hcr_tries, patience.hcr_pause);
                self.take_bit(cr, HCR_FLASH_SEMAPHORE, u32::MAX, tries, pause)?;
                self.taken.hcr_semaphore = true;
                let (tries, pause) = (patience.gateway_tries, patience.gateway_pause);
                self.take_bit(cr, GATEWAY_SEMAPHORE, u32::MAX, tries, pause)?;
            }
            LockKind::CommandBit => {
                let (tries, pause) = (patience.gateway_tries, patience.gateway_pause);
                self.take_bit(cr, self.layout.command, LOCK, tries, pause)?;
            }
        }
        self.taken.gateway = true;
        Ok(())
    }

    /// A register that is taken by reading `mask` as zero.
    fn take_bit(
        &mut self,
        cr: &Cr,
        register: u32,
        mask: u32,
        tries: u32,
        pause: std::time::Duration,
    ) -> Result<(), GatewayError> {
        let start = Instant::now();
        for attempt in 0..tries {
            if attempt > 0 {
                self.session.rest(pause)?;
            }
            let value = self.session.read(self.layout.space, register)?;
            if value == CLOSED {
                return Err(GatewayError::Closed {
                    device: cr.device(),
                });
            }
            if value & mask == 0 {
                return Ok(());
            }
        }
        Err(GatewayError::Locked {
            device: cr.device(),
            register,
            waited: start.elapsed(),
        })
    }

    /// Keeps the chip's own users off the flash while we have it.
    fn quieten(&mut self, model: &Model) -> Result<(), AccessError> {
        if let Some(gcm) = self.layout.gcm {
            self.set_enable(gcm, 0)?;
        }
        if let Some(cache) = self.layout.cache_replacement {
            self.taken.cache_replacement = true;
            self.set_enable(cache, 0)?;
        }
        self.limit_clock(model)
    }

    fn set_enable(&mut self, register: u32, enable: u32) -> Result<(), AccessError> {
        let space = self.layout.space;
        let value = self.session.read(space, register)?;
        self.session
            .write(space, register, with_bits(value, 0, 0, enable))
    }

    /// ConnectX-7 and BlueField-3 clock the flash too fast for the gateway: divider `[3:0]`,
    /// frequency = core clock / (2 (divider + 1)).
    fn limit_clock(&mut self, model: &Model) -> Result<(), AccessError> {
        let register = match model.hw_id {
            0x218 => 0xf_e804,
            0x21c => 0xf_f804,
            _ => return Ok(()),
        };
        if self.layout.space != Space::Cr {
            return Ok(());
        }
        let clock = self.session.read(Space::Cr, CORE_CLOCK)?;
        let former = self.session.read(Space::Cr, register)?;
        let slow_enough = slowest_needed_divider(clock);
        if bits(former, 3, 0) < slow_enough {
            self.divider = Some((register, former));
            self.session
                .write(Space::Cr, register, with_bits(former, 3, 0, slow_enough))?;
        }
        Ok(())
    }

    /// Waits until no command is under way.
    pub fn await_idle(&mut self, cr: &Cr, opcode: Option<u8>) -> Result<(), GatewayError> {
        let polls = cr.patience().gateway_busy_polls;
        let start = Instant::now();
        for _ in 0..polls {
            let command = self.session.read(self.layout.space, self.layout.command)?;
            if command & BUSY == 0 {
                return Ok(());
            }
        }
        Err(GatewayError::Busy {
            device: cr.device(),
            register: self.layout.command,
            opcode,
            polls,
            waited: start.elapsed(),
        })
    }

    /// Gives everything back. Dropping does the same, without saying whether it worked.
    pub fn finish(mut self) -> Result<(), AccessError> {
        self.release()
    }

    /// Tries every step, and reports the first that failed.
    fn release(&mut self) -> Result<(), AccessError> {
        let space = self.layout.space;
        let taken = std::mem::take(&mut self.taken);
        let mut outcome = Ok(());
        if let Some((register, former)) = self.divider.take() {
            outcome = outcome.and(self.session.write(space, register, former));
        }
        if let Some(cache) = self
            .layout
            .cache_replacement
            .filter(|_| taken.cache_replacement)
        {
            outcome = outcome.and(self.set_enable(cache, 1));
        }
        if taken.gateway {
            let register = match self.layout.lock {
                LockKind::Semaphores => GATEWAY_SEMAPHORE,
                LockKind::CommandBit => self.layout.command,
            };
            outcome = outcome.and(self.session.write(space, register, 0));
        }
        if taken.hcr_semaphore {
            outcome = outcome.and(self.session.write(space, HCR_FLASH_SEMAPHORE, 0));
        }
        outcome
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            error.log_unreleased("flash gateway");
        }
    }
}

/// The smallest divider that keeps the flash clock at or below [`FASTEST_FLASH_CLOCK`].
fn slowest_needed_divider(core_clock: u32) -> u32 {
    core_clock
        .div_ceil(2 * FASTEST_FLASH_CLOCK)
        .saturating_sub(1)
        .min(0xf)
}

#[cfg(test)]
mod tests {
    use super::slowest_needed_divider;

    #[test]
    fn the_divider_keeps_the_flash_at_90_mhz() {
        // 400 / (2 * 3) = 66, with a divider of 1 it would be 100
        assert_eq!(slowest_needed_divider(400), 2);
        // 180 / 2 = 90
        assert_eq!(slowest_needed_divider(180), 0);
        assert_eq!(slowest_needed_divider(181), 1);
        assert_eq!(slowest_needed_divider(0), 0);
        assert_eq!(slowest_needed_divider(u32::MAX), 0xf);
    }
}
