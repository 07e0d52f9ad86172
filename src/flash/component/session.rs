//! An update handle and what is done with it, step by step (burn 7.2, 7.3).
//!
//! A [`Session`] owns one handle. Whatever way it ends, what it started is taken back: CANCEL when
//! a component was begun, then RELEASE, until the card says idle. It never touches a handle of
//! somebody else. The handle's number is kept in the card's lock file while it is open, so that a
//! later run can close it, by that number, should this process die
//! ([`super::closing::close_abandoned`]).

use std::time::{Duration, Instant};

use crate::access::{read_register, write_register};
use crate::flash::lock::CardLock;
use crate::registers::mcc::{ControlState, Instruction};
use crate::registers::mirc::Status as MircStatus;
use crate::registers::{Mcc, Mirc};

use super::closing::close;
use super::error::Fault;
use super::machine::{Machine, Wait, refused};

/// What this session has begun on the card and has to take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Begun {
    /// Nothing.
    Nothing,
    /// The handle is locked.
    Handle,
    /// A component is being updated.
    Component,
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
        while status == MircStatus::Busy
            && started.elapsed() < machine.bound(machine.pacing.reactivate)
        {
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
    pub(super) fn begin(&mut self, size: u32, seen: impl FnMut(&Mcc)) -> Result<(), Fault> {
        self.begun = Begun::Component;
        let answer = self.instruct(Instruction::UpdateComponent, size)?;
        let wait = Wait {
            until: ControlState::Download,
            through: &[ControlState::Locked, ControlState::Initialize],
            bound: self.machine.pacing.initialize,
            breakable: true,
        };
        self.wait(answer, &wait, seen)?;
        Ok(())
    }

    /// Has the firmware hand out the component that runs.
    pub(super) fn begin_reading(&mut self) -> Result<(), Fault> {
        let answer = self.instruct(Instruction::ReadComponent, 0)?;
        let wait = Wait {
            until: ControlState::Upload,
            through: &[ControlState::Locked, ControlState::UploadPending],
            bound: self.machine.pacing.finish,
            breakable: true,
        };
        self.wait(answer, &wait, |_| ())?;
        Ok(())
    }

    /// Has the firmware check what it got.
    pub(super) fn verify(&mut self, seen: impl FnMut(&Mcc)) -> Result<(), Fault> {
        let answer = self.instruct(Instruction::VerifyComponent, 0)?;
        let wait = Wait {
            until: ControlState::Locked,
            through: &[
                ControlState::Download,
                ControlState::Verify,
                ControlState::Apply,
            ],
            bound: self.machine.pacing.finish,
            breakable: true,
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
            breakable: false,
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
            breakable: false,
        }
    }

    fn wait(&self, answer: Mcc, wait: &Wait<'_>, seen: impl FnMut(&Mcc)) -> Result<Mcc, Fault> {
        self.machine.wait(answer, wait, seen, || {
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

fn busy(answer: &Mcc) -> Fault {
    Fault::Busy {
        owner: answer.handle_owner_type,
        host: answer.handle_owner_host_id,
        seconds: answer.time_elapsed_since_last_cmd,
        state: answer.control_state,
    }
}
