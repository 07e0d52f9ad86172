//! Giving handles back: the own one, the one a dead process of ours left, and on the user's word
//! anybody's.

use crate::flash::lock::{CardLock, Holder};
use crate::registers::Mcc;
use crate::registers::mcc::{ControlState, Instruction};

use super::error::Fault;
use super::machine::{Machine, Wait};
use super::session::Begun;

/// Cancels a begun component and releases a handle, until the card says idle. Error codes are not
/// looked at here: the one of the step that failed may still stand in the answers.
pub(super) fn close(
    machine: Machine<'_>,
    component_index: u16,
    handle: u32,
    begun: Begun,
) -> Result<(), Fault> {
    let send = |instruction| {
        machine.send(&Mcc {
            instruction,
            component_index,
            update_handle: handle,
            ..Mcc::default()
        })
    };
    let cancelled = match begun {
        Begun::Component => cancel(machine, component_index, handle, send(Instruction::Cancel)?),
        Begun::Handle | Begun::Nothing => Ok(()),
    };
    // A handle is asked back also from firmware that is not done cancelling.
    let answer = send(Instruction::ReleaseUpdateHandle)?;
    cancelled?;
    let wait = Wait {
        until: ControlState::Idle,
        through: &[ControlState::Locked, ControlState::Upload],
        bound: machine.pacing.handle,
        breakable: false,
    };
    machine.wait(
        answer,
        &wait,
        |_| (),
        || Ok(machine.look(0, component_index)?),
    )?;
    Ok(())
}

/// Waits until the card has cancelled a component.
fn cancel(
    machine: Machine<'_>,
    component_index: u16,
    handle: u32,
    answer: Mcc,
) -> Result<(), Fault> {
    let wait = Wait {
        until: ControlState::Locked,
        through: &[
            ControlState::Initialize,
            ControlState::Download,
            ControlState::Verify,
            ControlState::Apply,
        ],
        bound: machine.pacing.cancel,
        breakable: false,
    };
    machine.wait(
        answer,
        &wait,
        |_| (),
        || Ok(machine.look(handle, component_index)?),
    )?;
    Ok(())
}

/// Closes the update a dead process of ours left open on the card, by the handle it had on
/// record. The firmware itself says whether that handle is still the open one; if it is not, the
/// open update is somebody else's and nothing is sent.
///
/// Returns whether one was closed.
pub(super) fn close_abandoned(
    machine: Machine<'_>,
    lock: &CardLock,
    component_index: u16,
) -> Result<Option<Holder>, Fault> {
    let Some(dead) = lock.abandoned() else {
        return Ok(None);
    };
    let Some(handle) = dead.update_handle else {
        return Ok(None);
    };
    let now = machine.look(0, component_index)?;
    let ours = now.control_state != ControlState::Idle
        && machine
            .instruct(&Mcc {
                instruction: Instruction::CheckUpdateHandle,
                component_index,
                update_handle: handle,
                ..Mcc::default()
            })
            .is_ok();
    if ours {
        let begun = match now.control_state {
            // what is only read need not be cancelled
            ControlState::Locked | ControlState::Upload => Begun::Handle,
            _ => Begun::Component,
        };
        close(machine, component_index, handle, begun)?;
    }
    lock.note_update_handle(None)?;
    Ok(ours.then(|| dead.clone()))
}

/// Takes the handle away from whoever has it: only ever on the user's explicit word.
pub(super) fn force_release(machine: Machine<'_>, component_index: u16) -> Result<(), Fault> {
    let now = machine.look(0, component_index)?;
    if now.control_state == ControlState::Idle {
        return Ok(());
    }
    let request = Mcc {
        instruction: Instruction::ForceHandleRelease,
        component_index,
        update_handle: now.update_handle,
        ..Mcc::default()
    };
    let answer = machine.instruct(&request)?;
    let wait = Wait {
        until: ControlState::Idle,
        through: &[now.control_state, ControlState::Locked],
        bound: machine.pacing.handle,
        breakable: false,
    };
    machine.wait(
        answer,
        &wait,
        |_| (),
        || Ok(machine.look(0, component_index)?),
    )?;
    Ok(())
}
