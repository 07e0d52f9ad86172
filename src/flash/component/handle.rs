//! An update handle whose owner is not heard of any more: named, and on the user's word taken away.
//!
//! The firmware tells who has the handle and since when it was silent. Whoever works sends a
//! command every few hundred milliseconds.

use std::thread;
use std::time::{Duration, Instant};

use crate::access::stuck::{ChipLock, Holder, OBSERVED, Owner, Stuck};
use crate::access::{Device, RegisterAccess};
use crate::flash::cancel::Cancel;
use crate::registers::Mcc;
use crate::registers::mcc::ControlState;

use super::closing;
use super::error::Fault;
use super::machine::Machine;
use super::pacing::Pacing;
use super::target;

/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// Longest watch: an owner that goes on sending ends it early.
const WATCH: Duration = Duration::from_secs(4);

/// The update handle of a card, when its owner has been silent for [`OBSERVED`]. `functions` are
/// the addresses of the card's functions.
///
/// # Errors
/// [`Fault`]: the firmware does not answer.
pub fn stuck_handle(device: &Device, functions: &[String]) -> Result<Option<Stuck>, Fault> {
    let Some((registers, component_index)) = way(device)? else {
        return Ok(None);
    };
    let (pacing, cancel) = (Pacing::default(), Cancel::new());
    let machine = machine(registers, &pacing, &cancel);
    let start = Instant::now();
    let mut earlier = 0;
    loop {
        let answer = machine.look(0, component_index)?;
        let silent = answer.time_elapsed_since_last_cmd;
        if answer.control_state == ControlState::Idle || silent < earlier {
            return Ok(None);
        }
        let seen = Duration::from_secs(silent.into());
        if seen >= OBSERVED {
            return Ok(Some(Stuck {
                lock: ChipLock::UpdateHandle,
                holder: Holder::Told(describe(&answer)),
                seen,
                owner: Owner::tool_on(functions),
            }));
        }
        if start.elapsed() >= WATCH {
            return Ok(None);
        }
        earlier = silent;
        thread::sleep(LOOK);
    }
}

/// Takes the update handle away from whoever has it, unless it was heard of again. Returns whether
/// it was taken. To be called on the user's word only.
///
/// # Errors
/// [`Fault`]: the firmware refused, or does not answer.
pub fn release_stuck_handle(device: &Device) -> Result<bool, Fault> {
    let Some((registers, component_index)) = way(device)? else {
        return Ok(false);
    };
    let (pacing, cancel) = (Pacing::default(), Cancel::new());
    let machine = machine(registers, &pacing, &cancel);
    let now = machine.look(0, component_index)?;
    let silent = Duration::from_secs(now.time_elapsed_since_last_cmd.into());
    if now.control_state == ControlState::Idle || silent < OBSERVED {
        return Ok(false);
    }
    closing::force_release(machine, component_index)?;
    Ok(true)
}

/// The firmware's registers and the component the handle is asked for; `None` where firmware takes
/// no images.
fn way(device: &Device) -> Result<Option<(&dyn RegisterAccess, u16)>, Fault> {
    let Some(registers) = device.registers() else {
        return Ok(None);
    };
    match target::boot_image(registers) {
        Ok(boot_image) => Ok(Some((registers, boot_image.index))),
        Err(Fault::NoFirmwareControl { .. }) => Ok(None),
        Err(fault) => Err(fault),
    }
}

const fn machine<'a>(
    registers: &'a dyn RegisterAccess,
    pacing: &'a Pacing,
    cancel: &'a Cancel,
) -> Machine<'a> {
    Machine {
        registers,
        pacing,
        cancel,
    }
}

fn describe(answer: &Mcc) -> String {
    let (owner, host) = (answer.handle_owner_type, answer.handle_owner_host_id);
    format!("{owner} of host {host}, state {}", answer.control_state)
}
