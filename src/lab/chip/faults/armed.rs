//! Arming faults, telling which there are, clearing them.

use super::strike::flag;
use super::{Accident, DEAD_OWNER, Fault, Lock, Moment, Part, Unit};
use crate::lab::chip::cells::{Cell, FunctionCell};
use crate::lab::chip::{Chip, ChipError, Cycle};
use crate::registers::mcc::{ErrorCode, Instruction};

impl Chip {
    /// Breaks something. Of one kind of fault a chip has at most one: arming another accident,
    /// refusal or interval replaces the one before; locks are held one by one.
    ///
    /// # Errors
    /// [`ChipError::CannotBreak`] when the chip does not have what is to be broken or the moment
    /// never comes, [`ChipError::Held`].
    pub fn arm(&self, fault: Fault) -> Result<(), ChipError> {
        self.check_fault(&fault)?;
        let cycle = self.cycle()?;
        let cells = &cycle.cells;
        match fault {
            Fault::Accident { accident, moment } => {
                cells.set(Cell::FaultAccident, accident.code());
                cells.set(Cell::FaultUnit, moment.unit as u32);
                cells.set(Cell::FaultCountdown, moment.number);
                cycle.raise(flag::ARMED);
            }
            // refused above
            Fault::Struck(_) => {}
            Fault::Held(lock) => cycle.give_to_dead_owner(lock),
            Fault::Refusal { instruction, code } => {
                cells.set(Cell::FaultInstruction, instruction.code().into());
                cells.set(Cell::FaultErrorCode, code.code().into());
                cycle.raise(flag::REFUSES);
            }
            Fault::BitErrors { interval } => {
                cells.set(Cell::FaultReadInterval, interval);
                cells.set(Cell::FaultReadsLeft, interval);
                cycle.raise(flag::BIT_ERRORS);
            }
            Fault::WriteProtected => cycle.raise(flag::WRITE_PROTECTED),
        }
        Ok(())
    }

    /// What is broken or will be.
    ///
    /// # Errors
    /// [`ChipError::Held`].
    pub fn faults(&self) -> Result<Vec<Fault>, ChipError> {
        let cycle = self.cycle()?;
        let mut faults = cycle.flagged_faults();
        let held = Lock::ALL
            .into_iter()
            .filter(|&lock| cycle.is_held_by_dead_owner(lock));
        faults.extend(held.map(Fault::Held));
        Ok(faults)
    }

    /// Makes everything whole that is not yet broken or that clearing can mend: an accident that
    /// has struck lasts until the next power cycle.
    ///
    /// # Errors
    /// [`ChipError::Held`].
    pub fn clear_faults(&self) -> Result<(), ChipError> {
        let cycle = self.cycle()?;
        let struck = cycle.cells.get(Cell::Faults) & flag::STRUCK;
        cycle.cells.set(Cell::Faults, struck);
        for lock in Lock::ALL {
            if cycle.is_held_by_dead_owner(lock) {
                cycle.set_owner(lock, 0);
            }
        }
        Ok(())
    }

    fn check_fault(&self, fault: &Fault) -> Result<(), ChipError> {
        let refuse = |reason: &str| {
            Err(ChipError::CannotBreak {
                reason: reason.to_owned(),
            })
        };
        let no_capability = self.cr.legacy_gateway;
        match fault {
            Fault::Accident {
                accident: Accident::Hang(Part::Capability),
                ..
            }
            | Fault::Held(Lock::Capability)
                if no_capability =>
            {
                refuse("this chip has no vendor-specific capability")
            }
            Fault::Accident {
                accident: Accident::Hang(Part::Firmware),
                ..
            }
            | Fault::Held(Lock::Icmd)
            | Fault::Refusal { .. }
                if no_capability =>
            {
                refuse("this chip's firmware takes no commands through a mailbox")
            }
            Fault::Accident { moment, .. } if moment.number == 0 => {
                refuse("moments are counted from 1")
            }
            Fault::BitErrors { interval: 0 } => refuse("reads are counted from 1"),
            Fault::Refusal {
                code: ErrorCode::Ok,
                ..
            } => refuse("error code 0 is no error"),
            Fault::Struck(_) => refuse("an accident is armed with its moment"),
            _ => Ok(()),
        }
    }
}

impl Cycle<'_> {
    fn raise(&self, flag: u32) {
        self.cells
            .set(Cell::Faults, self.cells.get(Cell::Faults) | flag);
    }

    fn flagged_faults(&self) -> Vec<Fault> {
        let cells = &self.cells;
        let flags = cells.get(Cell::Faults);
        let code = |cell| u8::try_from(cells.get(cell)).unwrap_or(0);
        let armed = Accident::from_code(cells.get(Cell::FaultAccident)).map(|accident| {
            let moment = Moment {
                unit: Unit::from_code(cells.get(Cell::FaultUnit)),
                number: cells.get(Cell::FaultCountdown),
            };
            Fault::Accident { accident, moment }
        });
        let struck = |accident| Some(Fault::Struck(accident));
        let refusal = Fault::Refusal {
            instruction: Instruction::from_code(code(Cell::FaultInstruction)),
            code: ErrorCode::from_code(code(Cell::FaultErrorCode)),
        };
        let bit_errors = Fault::BitErrors {
            interval: cells.get(Cell::FaultReadInterval),
        };
        let hung = |part| (flag::hung(part), struck(Accident::Hang(part)));
        [
            (flag::ARMED, armed),
            (
                flag::POWER_LOST,
                struck(Accident::PowerLoss(super::Torn::Whole)),
            ),
            (flag::VANISHED, struck(Accident::Vanish)),
            hung(Part::Firmware),
            hung(Part::Capability),
            hung(Part::Gateway),
            hung(Part::Flash),
            (flag::REFUSES, Some(refusal)),
            (flag::BIT_ERRORS, Some(bit_errors)),
            (flag::WRITE_PROTECTED, Some(Fault::WriteProtected)),
        ]
        .into_iter()
        .filter_map(|(flag, fault)| fault.filter(|_| flags & flag != 0))
        .collect()
    }

    fn give_to_dead_owner(&self, lock: Lock) {
        self.set_owner(lock, DEAD_OWNER);
    }

    fn set_owner(&self, lock: Lock, owner: u32) {
        match lock {
            Lock::Capability => {
                for index in 0..self.addresses.len() {
                    self.cells
                        .set_function(index, FunctionCell::Semaphore, owner);
                }
            }
            _ => self.cells.set(self.lock_cell(lock), owner),
        }
    }

    fn is_held_by_dead_owner(&self, lock: Lock) -> bool {
        let owner = match lock {
            Lock::Capability => self.cells.function(0, FunctionCell::Semaphore),
            _ => self.cells.get(self.lock_cell(lock)),
        };
        owner == DEAD_OWNER
    }

    /// Where a lock of the whole chip is kept.
    fn lock_cell(&self, lock: Lock) -> Cell {
        match lock {
            Lock::Flash if self.cr.legacy_gateway => Cell::HcrFlashSemaphore,
            Lock::Flash => Cell::FlashSemaphore,
            Lock::Gateway => Cell::GatewayLock,
            Lock::Capability | Lock::Icmd => Cell::IcmdSemaphore,
        }
    }
}
