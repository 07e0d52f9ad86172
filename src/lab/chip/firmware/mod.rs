//! The firmware of a chip: answers access registers as the image that booted.
//!
//! One file a concern. What is not in [`REGISTERS`] this firmware does not have, and MCAM says so.

mod components;
mod flash_access;
mod info;
mod reset;
mod settings;
mod transfer;
mod update;
mod verify;

use std::sync::Arc;

use crate::registers::{
    Mcam, Mcc, Mcda, Mcqi, Mcqs, Mfai, Mfba, Mfbe, Mfmc, Mfpa, Mfrl, Mgir, Mirc, Mlock, Mnvda,
    Mqis, Msgi, Mvts, Register,
};

use super::Cycle;
use super::boot::Running;
use super::cells::{Cell, REGISTER_COUNTERS};
use super::icmd::{Method, TlvStatus};

/// The firmware at work, for one register.
struct Firmware<'a> {
    cycle: &'a Cycle<'a>,
    running: Arc<Running>,
}

/// Answers a register image in place.
type Answer = fn(&Firmware<'_>, Method, &mut [u8]) -> Result<(), TlvStatus>;

/// A register this firmware has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownRegister {
    /// Register id.
    pub id: u16,
    /// Name in the register manual.
    pub name: &'static str,
}

/// Pairs each register with the method that answers it.
macro_rules! registers {
    ($($register:ident => $answer:ident,)*) => {
        &[$((
            KnownRegister {
                id: $register::ID,
                name: $register::NAME,
            },
            |firmware, method, image| firmware.$answer(method, image),
        ),)*]
    };
}

/// Every register of this firmware.
const REGISTERS: &[(KnownRegister, Answer)] = registers! {
    Mgir => mgir,
    Mcam => mcam,
    Mqis => mqis,
    Msgi => msgi,
    Mcqs => mcqs,
    Mcqi => mcqi,
    Mcc => mcc,
    Mcda => mcda,
    Mfpa => mfpa,
    Mfba => mfba,
    Mfbe => mfbe,
    Mfmc => mfmc,
    Mfai => mfai,
    Mfrl => mfrl,
    Mirc => mirc,
    Mnvda => mnvda,
    Mvts => mvts,
    Mlock => mlock,
};

/// The registers this firmware has; where each stands is where its accesses are counted.
pub(super) fn known_registers() -> impl Iterator<Item = KnownRegister> {
    REGISTERS.iter().map(|(register, _)| *register)
}

/// Where accesses to registers that this firmware does not have are counted.
pub(super) const UNKNOWN_REGISTER: usize = REGISTERS.len();
const _: () = assert!(UNKNOWN_REGISTER < REGISTER_COUNTERS);

impl Firmware<'_> {
    fn get(&self, cell: Cell) -> u32 {
        self.cycle.cells.get(cell)
    }

    fn set(&self, cell: Cell, value: u32) {
        self.cycle.cells.set(cell, value);
    }
}

impl Cycle<'_> {
    /// Answers the access register `id` in place.
    pub(super) fn answer_register(
        &self,
        id: u16,
        method: Method,
        image: &mut [u8],
    ) -> Result<(), TlvStatus> {
        let running = self.running().ok_or(TlvStatus::NotAvailable)?;
        let (_, answer) = REGISTERS
            .iter()
            .find(|(known, _)| known.id == id)
            .ok_or(TlvStatus::NotSupported)?;
        let firmware = Firmware {
            cycle: self,
            running,
        };
        answer(&firmware, method, image)
    }
}

/// Decodes the request, has it answered and puts the answer in its place.
fn reply<R: Register>(
    image: &mut [u8],
    answer: impl FnOnce(R) -> Result<R, TlvStatus>,
) -> Result<(), TlvStatus> {
    let request = R::decode(image).map_err(|_| TlvStatus::TooShort)?;
    let encoded = answer(request)?.encode();
    for (to, from) in image.iter_mut().zip(encoded) {
        *to = from;
    }
    Ok(())
}

/// Registers that can only be read.
fn read_only(method: Method) -> Result<(), TlvStatus> {
    match method {
        Method::Read => Ok(()),
        Method::Write => Err(TlvStatus::Method),
    }
}
