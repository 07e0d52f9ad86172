//! Looking at the gateway's lock without using the gateway.
//!
//! The lock names nobody (burn 8.2), so all that tells a user at work from a dead one is that the
//! gateway's registers change. Reading a lock that is free takes it: it is given back at once.

use super::layout::{LOCK, Layout, LockKind};
use super::lock::{CLOSED, GATEWAY_SEMAPHORE, HCR_FLASH_SEMAPHORE};
use crate::access::cr::Cr;
use crate::access::error::AccessError;

/// A lock that is held, and what the gateway's registers read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// Register that holds the lock.
    pub register: u32,
    command: u32,
    address: u32,
    data: [u32; 4],
}

/// The first of the gateway's locks that is held.
pub(in crate::access) fn look(cr: &Cr, layout: &Layout) -> Result<Option<Sight>, AccessError> {
    let mut session = cr.hold()?;
    let locks: &[(u32, u32)] = match layout.lock {
        LockKind::Semaphores => &[
            (HCR_FLASH_SEMAPHORE, u32::MAX),
            (GATEWAY_SEMAPHORE, u32::MAX),
        ],
        LockKind::CommandBit => &[(layout.command, LOCK)],
    };
    for &(register, mask) in locks {
        let value = session.read(layout.space, register)?;
        if value == CLOSED {
            return Ok(None);
        }
        if value & mask == 0 {
            session.write(layout.space, register, 0)?;
            continue;
        }
        let mut data = [0; 4];
        for (dword, at) in data.iter_mut().zip((layout.data..).step_by(4)) {
            *dword = session.read(layout.space, at)?;
        }
        return Ok(Some(Sight {
            register,
            command: match layout.lock {
                LockKind::CommandBit => value,
                LockKind::Semaphores => session.read(layout.space, layout.command)?,
            },
            address: session.read(layout.space, layout.address)?,
            data,
        }));
    }
    Ok(None)
}

/// Frees the lock if everything is still as it was seen; whether that is so.
pub(in crate::access) fn free(cr: &Cr, layout: &Layout, seen: &Sight) -> Result<bool, AccessError> {
    if look(cr, layout)? != Some(*seen) {
        return Ok(false);
    }
    cr.hold()?.write(layout.space, seen.register, 0)?;
    Ok(true)
}
