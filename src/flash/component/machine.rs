//! Talking to the update state machine (MCC): look, instruct, wait for a state.

use std::time::{Duration, Instant};

use crate::access::{RegisterAccess, RegisterError, read_register, write_register};
use crate::flash::cancel::Cancel;
use crate::registers::Mcc;
use crate::registers::mcc::ControlState;

use super::codes::FirmwareError;
use super::error::Fault;
use super::pacing::Pacing;
use super::patient::NOT_AVAILABLE;

/// The way to the state machine, and how patient to be.
#[derive(Clone, Copy)]
pub(super) struct Machine<'a> {
    pub(super) registers: &'a dyn RegisterAccess,
    pub(super) pacing: &'a Pacing,
    /// The user's wish to stop.
    pub(super) cancel: &'a Cancel,
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

    /// Gives an instruction; an answer with an error code is a failure.
    pub(super) fn instruct(&self, request: &Mcc) -> Result<Mcc, Fault> {
        refused(self.send(request)?)
    }

    /// Gives an instruction, whatever error code stands in the answer. A register that the firmware
    /// fails may be a refused instruction (mstflint takes error codes from failed accesses only):
    /// the state machine then says why.
    pub(super) fn send(&self, request: &Mcc) -> Result<Mcc, Fault> {
        match write_register(self.registers, request) {
            Ok(answer) => Ok(answer),
            Err(error) => {
                if error.status().is_some_and(|status| status != NOT_AVAILABLE) {
                    refused(self.look(request.update_handle, request.component_index)?)?;
                }
                Err(error.into())
            }
        }
    }

    /// Nobody who asked twice to stop is kept waiting for the card.
    pub(super) fn bound(&self, usual: Duration) -> Duration {
        if self.cancel.urged() {
            usual.min(self.pacing.urged)
        } else {
            usual
        }
    }

    /// Waits for a state: the first look is the answer in hand, the pauses between the others
    /// grow.
    pub(super) fn wait(
        &self,
        mut answer: Mcc,
        wait: &Wait<'_>,
        mut seen: impl FnMut(&Mcc),
        look: impl Fn() -> Result<Mcc, Fault>,
    ) -> Result<Mcc, Fault> {
        let started = Instant::now();
        let mut pause = self.pacing.shortest;
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
            if wait.breakable && self.cancel.requested() {
                return Err(Fault::Cancelled);
            }
            let waited = started.elapsed();
            if waited >= self.bound(wait.bound) {
                return Err(Fault::TimeOut {
                    state,
                    wanted: wait.until,
                    waited,
                });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(self.pacing.longest);
            answer = look()?;
        }
    }
}

/// An answer without error code.
pub(super) fn refused(answer: Mcc) -> Result<Mcc, Fault> {
    match FirmwareError::from_code(answer.error_code) {
        Some(error) => Err(Fault::Firmware(error)),
        None => Ok(answer),
    }
}

/// What a wait is for.
pub(super) struct Wait<'a> {
    /// The state that ends it.
    pub(super) until: ControlState,
    /// States the card may pass through.
    pub(super) through: &'a [ControlState],
    /// The longest it may take.
    pub(super) bound: Duration,
    /// The wish to stop ends it early.
    pub(super) breakable: bool,
}
