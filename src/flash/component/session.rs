//! An update handle and the state machine behind it (burn 7.2, 7.3).
//!
//! A [`Session`] owns one handle. Whatever way it ends, what it started is taken back: CANCEL when
//! a component was begun, then RELEASE, until the card says idle. It never touches a handle of
//! somebody else. The handle's number is kept in the card's lock file while it is open, so that a
//! later run can close it, by that number, should this process die ([`close_abandoned`]).

use std::time::{Duration, Instant};

use crate::access::{RegisterAccess, RegisterError, read_register, write_register};
use crate::flash::cancel::Cancel;
use crate::flash::lock::{CardLock, Holder};
use crate::registers::mcc::{ControlState, Instruction};
use crate::registers::mirc::Status as MircStatus;
use crate::registers::{Mcc, Mirc};

use super::codes::FirmwareError;
use super::error::Fault;
use super::pacing::Pacing;

/// The way to the state machine, and how patient to be.
#[derive(Clone, Copy)]
pub(super) struct Machine<'a> {
    pub(super) registers: &'a dyn RegisterAccess,
    pub(super) pacing: &'a Pacing,
}

impl Machine<'_> {
    /// Reads MCC; with handle 0 the answer brings a fresh handle.
    pub(super) fn look(&self, handle: u32, component_index: u16) -> Result<Mcc, RegisterError> {
        let request = Mcc {
            update_handle: handle,
            component_index,
            ..Mcc::default()
        };
        read_register(self.registers, &request)
    }

    fn instruct(&self, request: &Mcc) -> Result<Mcc, Fault> {
        let answer = write_register(self.registers, request)?;
        refused(answer)
    }
}

/// An answer without error code.
fn refused(answer: Mcc) -> Result<Mcc, Fault> {
    match FirmwareError::from_code(answer.error_code) {
        Some(error) => Err(Fault::Firmware(error)),
        None => Ok(answer),
    }
}

/// What this session has begun on the card and has to take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Begun {
    /// Nothing.
    Nothing,
    /// The handle is locked.
    Handle,
    /// A component is being updated.
    Component,
}

/// What a wait is for.
pub(super) struct Wait<'a> {
    /// The state that ends it.
    pub(super) until: ControlState,
    /// States the card may pass through.
    pub(super) through: &'a [ControlState],
    /// The longest it may take.
    pub(super) bound: Duration,
    /// Ends it early.
    pub(super) cancel: Option<&'a Cancel>,
}

/// One update handle.
pub(super) struct Session<'a> {
    machine: Machine<'a>,
    lock: &'a CardLock,
    component_index: u16,
    handle: u32,
    begun: Begun,
}

impl<'a> Session<'a> {
    /// Asks for a handle. Nobody else may have one.
    pub(super) fn open(
        machine: Machine<'a>,
        lock: &'a CardLock,
        component_index: u16,
    ) -> Result<Self, Fault> {
        let answer = machine.look(0, component_index)?;
        if answer.control_state != ControlState::Idle {
            return Err(busy(&answer));
        }
        Ok(Self {
            machine,
            lock,
            component_index,
            handle: answer.update_handle,
            begun: Begun::Nothing,
        })
    }

    /// The handle, 24 bits.
    pub(super) const fn handle(&self) -> u32 {
        self.handle
    }

    /// Locks the handle.
    pub(super) fn lock(&mut self) -> Result<(), Fault> {
        self.lock.note_update_handle(Some(self.handle))?;
        // Even an answer that gets lost on its way may have locked it.
        self.begun = Begun::Handle;
        let answer = match self.instruct(Instruction::LockUpdateHandle, 0) {
            Err(fault) if fault.is_refusal_by_firmware() => {
                self.begun = Begun::Nothing;
                self.lock.note_update_handle(None)?;
                return Err(fault);
            }
            answer => answer?,
        };
        self.wait(answer, &self.handle_wait(ControlState::Locked), |_| ())?;
        Ok(())
    }

    /// Takes a staged update back (MIRC). Firmware without MIRC, or with nothing staged, is fine.
    pub(super) fn reactivate(&mut self) -> Result<(), Fault> {
        let machine = self.machine;
        let start = write_register(machine.registers, &Mirc::default());
        let mut status = match start {
            Ok(answer) => answer.status_code,
            Err(error) if error.is_unsupported() => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let started = Instant::now();
        while status == MircStatus::Busy && started.elapsed() < machine.pacing.reactivate {
            std::thread::sleep(machine.pacing.longest.min(Duration::from_millis(20)));
            status = read_register(machine.registers, &Mirc::default())?.status_code;
        }
        if !matches!(status, MircStatus::Ok | MircStatus::AlreadyActivated) {
            return Err(Fault::Reactivation(status));
        }
        let answer = machine.look(self.handle, self.component_index)?;
        self.wait(answer, &self.handle_wait(ControlState::Locked), |_| ())?;
        Ok(())
    }

    /// Begins the update of `size` bytes; the firmware makes room for them.
    pub(super) fn begin(
        &mut self,
        size: u32,
        cancel: &Cancel,
        seen: impl FnMut(&Mcc),
    ) -> Result<(), Fault> {
        self.begun = Begun::Component;
        let answer = self.instruct(Instruction::UpdateComponent, size)?;
        let wait = Wait {
            until: ControlState::Download,
            through: &[ControlState::Locked, ControlState::Initialize],
            bound: self.machine.pacing.initialize,
            cancel: Some(cancel),
        };
        self.wait(answer, &wait, seen)?;
        Ok(())
    }

    /// Has the firmware check what it got.
    pub(super) fn verify(&mut self, cancel: &Cancel, seen: impl FnMut(&Mcc)) -> Result<(), Fault> {
        let answer = self.instruct(Instruction::VerifyComponent, 0)?;
        let wait = Wait {
            until: ControlState::Locked,
            through: &[
                ControlState::Download,
                ControlState::Verify,
                ControlState::Apply,
            ],
            bound: self.machine.pacing.finish,
            cancel: Some(cancel),
        };
        self.wait(answer, &wait, seen)?;
        self.begun = Begun::Handle;
        Ok(())
    }

    /// Makes the new image the one that boots next. From here on there is no way back, so nobody
    /// is asked whether to stop.
    pub(super) fn activate(&mut self, seen: impl FnMut(&Mcc)) -> Result<(), Fault> {
        let answer = self.instruct(Instruction::Activate, 0)?;
        let wait = Wait {
            until: ControlState::Locked,
            through: &[ControlState::Apply, ControlState::Activate],
            bound: self.machine.pacing.finish,
            cancel: None,
        };
        self.wait(answer, &wait, seen)?;
        Ok(())
    }

    /// Gives the handle back; the card must be idle then.
    pub(super) fn release(&mut self) -> Result<(), Fault> {
        close(
            self.machine,
            self.component_index,
            self.handle,
            Begun::Handle,
        )?;
        self.begun = Begun::Nothing;
        self.lock.note_update_handle(None)?;
        Ok(())
    }

    /// Takes back what was begun. On failure the handle stays on record in the lock file.
    pub(super) fn abort(&mut self) -> Result<(), Fault> {
        if self.begun == Begun::Nothing {
            return Ok(());
        }
        let begun = std::mem::replace(&mut self.begun, Begun::Nothing);
        close(self.machine, self.component_index, self.handle, begun)?;
        self.lock.note_update_handle(None)?;
        Ok(())
    }

    fn instruct(&self, instruction: Instruction, component_size: u32) -> Result<Mcc, Fault> {
        self.machine.instruct(&Mcc {
            instruction,
            component_index: self.component_index,
            update_handle: self.handle,
            component_size,
            ..Mcc::default()
        })
    }

    fn handle_wait(&self, until: ControlState) -> Wait<'static> {
        Wait {
            until,
            through: &[ControlState::Idle],
            bound: self.machine.pacing.handle,
            cancel: None,
        }
    }

    /// Waits for a state: the first look is the answer in hand, the pauses grow.
    fn wait(&self, answer: Mcc, wait: &Wait<'_>, seen: impl FnMut(&Mcc)) -> Result<Mcc, Fault> {
        wait_for(self.machine, answer, wait, seen, || {
            refused(self.machine.look(self.handle, self.component_index)?)
        })
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.abort() {
            log::warn!("update handle {:#08x} stays open: {error}", self.handle);
        }
    }
}

fn wait_for(
    machine: Machine<'_>,
    mut answer: Mcc,
    wait: &Wait<'_>,
    mut seen: impl FnMut(&Mcc),
    look: impl Fn() -> Result<Mcc, Fault>,
) -> Result<Mcc, Fault> {
    let started = Instant::now();
    let mut pause = machine.pacing.shortest;
    loop {
        seen(&answer);
        let state = answer.control_state;
        if state == wait.until {
            return Ok(answer);
        }
        if !wait.through.contains(&state) {
            return Err(Fault::State {
                expected: wait.until,
                found: state,
            });
        }
        if wait.cancel.is_some_and(Cancel::requested) {
            return Err(Fault::Cancelled);
        }
        let waited = started.elapsed();
        if waited >= wait.bound {
            return Err(Fault::TimeOut {
                state,
                wanted: wait.until,
                waited,
            });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(machine.pacing.longest);
        answer = look()?;
    }
}

/// Cancels a begun component and releases a handle, until the card says idle. Error codes are not
/// looked at here: the one of the step that failed may still stand in the answers.
fn close(
    machine: Machine<'_>,
    component_index: u16,
    handle: u32,
    begun: Begun,
) -> Result<(), Fault> {
    let send = |instruction| {
        write_register(
            machine.registers,
            &Mcc {
                instruction,
                component_index,
                update_handle: handle,
                ..Mcc::default()
            },
        )
    };
    if begun == Begun::Component {
        let answer = send(Instruction::Cancel)?;
        let wait = Wait {
            until: ControlState::Locked,
            through: &[
                ControlState::Initialize,
                ControlState::Download,
                ControlState::Verify,
                ControlState::Apply,
            ],
            bound: machine.pacing.cancel,
            cancel: None,
        };
        wait_for(
            machine,
            answer,
            &wait,
            |_| (),
            || Ok(machine.look(handle, component_index)?),
        )?;
    }
    let answer = send(Instruction::ReleaseUpdateHandle)?;
    let wait = Wait {
        until: ControlState::Idle,
        through: &[ControlState::Locked],
        bound: machine.pacing.handle,
        cancel: None,
    };
    wait_for(
        machine,
        answer,
        &wait,
        |_| (),
        || Ok(machine.look(0, component_index)?),
    )?;
    Ok(())
}

fn busy(answer: &Mcc) -> Fault {
    Fault::Busy {
        owner: answer.handle_owner_type,
        host: answer.handle_owner_host_id,
        seconds: answer.time_elapsed_since_last_cmd,
        state: answer.control_state,
    }
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
        let begun = if now.control_state == ControlState::Locked {
            Begun::Handle
        } else {
            Begun::Component
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
        cancel: None,
    };
    wait_for(
        machine,
        answer,
        &wait,
        |_| (),
        || Ok(machine.look(0, component_index)?),
    )?;
    Ok(())
}
