//! VPD through its capability in configuration space (device-access 5.1).
//!
//! The kernel's file is better: it serialises with other users. This is for functions the kernel
//! shows no file for.

use std::thread;
use std::time::{Duration, Instant};

use super::{Vpd, VpdError, parse};
use crate::pci::{ConfigSpace, capability};

/// Capability id of VPD.
const VPD: u8 = 0x03;

/// Bit 15 of the address word, in the dword whose high half it is: the data has arrived.
const ARRIVED: u32 = 1 << 31;

/// How long one dword may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Pause between two looks at the flag.
const PAUSE: Duration = Duration::from_micros(100);

/// The VPD of a function, read dword by dword through the capability up to the end tag.
///
/// Function 0 of a card is the safe choice: every function shows the same VPD, but some share the
/// registers behind it.
///
/// # Errors
/// [`VpdError::NoCapability`], [`VpdError::TimedOut`], [`VpdError::Config`] or
/// [`VpdError::Format`].
pub fn through_capability(config: &dyn ConfigSpace) -> Result<Vpd, VpdError> {
    let at = capability::find(config, VPD)?.ok_or_else(|| VpdError::NoCapability {
        device: config.device(),
    })?;
    let mut last: Option<(usize, [u8; 4])> = None;
    let bytes = parse::collect(|offset, buffer| {
        for (index, byte) in buffer.iter_mut().enumerate() {
            let wanted = offset + index;
            let start = wanted & !3;
            let dword = match last {
                Some((place, dword)) if place == start => dword,
                _ => dword_at(config, at, start)?,
            };
            last = Some((start, dword));
            *byte = dword[wanted & 3];
        }
        Ok(buffer.len())
    })?;
    Vpd::parse(&bytes)
}

/// The four bytes at VPD address `offset`, a multiple of 4 below 32 KiB.
fn dword_at(config: &dyn ConfigSpace, at: u16, offset: usize) -> Result<[u8; 4], VpdError> {
    let address = u32::try_from(offset).unwrap_or(0) & 0x7ffc;
    // The low half of the dword, the capability header, is read-only.
    config.write(at, address << 16)?;
    let started = Instant::now();
    while config.read(at)? & ARRIVED == 0 {
        let waited = started.elapsed();
        if waited >= TIMEOUT {
            return Err(VpdError::TimedOut {
                device: config.device(),
                offset,
                waited_ms: waited.as_millis(),
            });
        }
        thread::sleep(PAUSE);
    }
    Ok(config.read(at + 4)?.to_le_bytes())
}
