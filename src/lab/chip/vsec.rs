//! The vendor-specific capability: semaphore, space selection and the address/flag protocol
//! (device-access 2.1 to 2.4). Every function has its own registers; the spaces behind them are
//! the chip's.

use super::cells::{Cell, FunctionCell, MAILBOX_BYTES};
use super::faults::Part;
use super::{Cycle, Power};

/// A register of the capability: its byte offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VsecRegister {
    /// Space, syndrome, status.
    Control = 0x04,
    /// Ticket dispenser.
    Counter = 0x08,
    /// Owner's ticket.
    Semaphore = 0x0c,
    /// Byte address and flag.
    Address = 0x10,
    /// Value.
    Data = 0x14,
}

impl VsecRegister {
    /// The register at byte `offset` of the capability.
    pub const fn at(offset: u16) -> Option<Self> {
        match offset {
            0x04 => Some(Self::Control),
            0x08 => Some(Self::Counter),
            0x0c => Some(Self::Semaphore),
            0x10 => Some(Self::Address),
            0x14 => Some(Self::Data),
            _ => None,
        }
    }
}

const FLAG: u32 = 1 << 31;
const SYNDROME: u32 = 1 << 30;
const ADDRESS: u32 = SYNDROME - 1;
/// Syndrome code: address out of range for this space.
const OUT_OF_RANGE: u32 = 3;
/// Status of a space that is there.
const PRESENT: u32 = 1 << 29;

/// End of CR space.
const CR_END: u32 = 0x200_0000;
/// End of the ICMD space: the mailbox is the last thing in it.
const ICMD_END: u32 = MAILBOX + MAILBOX_BYTES;
/// End of the spaces whose contents nobody documents; they read zero.
const OTHER_END: u32 = 0x20_0000;

const ICMD_CONTROL: u32 = 0x0;
const ICMD_MAX_SIZE: u32 = 0x1000;
const MAILBOX: u32 = 0x10_0000;

const ICMD_SEMAPHORE: u32 = 0x0;
const FLASH_SEMAPHORE: u32 = 0x10;
const SEMAPHORES_END: u32 = 0x400;

/// The spaces of the device-access 2.3 table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    Cr,
    Icmd,
    ScanCr,
    Semaphores,
    /// ICMD_EXT, init segment, expansion ROM, NODNIC CR, MAC: present, empty.
    Empty,
}

impl Space {
    const fn end(self) -> u32 {
        match self {
            Self::Cr | Self::ScanCr => CR_END,
            Self::Icmd => ICMD_END,
            Self::Semaphores => SEMAPHORES_END,
            Self::Empty => OTHER_END,
        }
    }
}

impl Cycle<'_> {
    /// The space selected by its number. In recovery there is no firmware, so no ICMD; the
    /// capability itself still looks functional on these chips (device-access 1.3).
    fn space(&self, number: u32) -> Option<Space> {
        let firmware = self.power() == Power::Running;
        match number {
            0x2 => Some(Space::Cr),
            0x7 => Some(Space::ScanCr),
            0xa => Some(Space::Semaphores),
            0x1 => Some(Space::Empty),
            0x3 if firmware => Some(Space::Icmd),
            0x4 | 0x5 | 0x6 | 0xf if firmware => Some(Space::Empty),
            _ => None,
        }
    }

    pub(super) fn vsec_read(&self, function: usize, register: VsecRegister) -> u32 {
        match register {
            VsecRegister::Control => {
                let number = self.cells.function(function, FunctionCell::Space);
                let status = self.space(number).map_or(0, |_| PRESENT);
                let syndrome = self.cells.function(function, FunctionCell::Syndrome);
                number | (syndrome << 24) | status
            }
            VsecRegister::Counter => {
                let last = self.cells.function(function, FunctionCell::Counter);
                let ticket = last.wrapping_add(1).max(1);
                self.cells
                    .set_function(function, FunctionCell::Counter, ticket);
                ticket
            }
            VsecRegister::Semaphore => self.cells.function(function, FunctionCell::Semaphore),
            VsecRegister::Address => self.cells.function(function, FunctionCell::Address),
            VsecRegister::Data => self.cells.function(function, FunctionCell::Data),
        }
    }

    pub(super) fn vsec_write(&self, function: usize, register: VsecRegister, value: u32) {
        match register {
            VsecRegister::Counter => {}
            VsecRegister::Semaphore => self.write_capability_semaphore(function, value),
            VsecRegister::Control => {
                self.check_capability_semaphore(function);
                self.cells
                    .set_function(function, FunctionCell::Space, value & 0xffff);
            }
            VsecRegister::Data => {
                self.check_capability_semaphore(function);
                self.cells.set_function(function, FunctionCell::Data, value);
            }
            VsecRegister::Address => {
                self.check_capability_semaphore(function);
                self.transfer(function, value);
            }
        }
    }

    /// Zero frees, a ticket that was handed out takes a free semaphore.
    fn write_capability_semaphore(&self, function: usize, value: u32) {
        let owner = self.cells.function(function, FunctionCell::Semaphore);
        let issued = value <= self.cells.function(function, FunctionCell::Counter);
        if value != 0 && !issued {
            self.cells.count(Cell::TicketNeverIssued);
        } else if value == 0 || owner == 0 {
            self.cells
                .set_function(function, FunctionCell::Semaphore, value);
        }
    }

    fn check_capability_semaphore(&self, function: usize) {
        if self.cells.function(function, FunctionCell::Semaphore) == 0 {
            self.cells.count(Cell::NoCapabilitySemaphore);
        }
    }

    /// Address dword written: flag 0 reads and sets the flag, flag 1 writes and clears it.
    fn transfer(&self, function: usize, value: u32) {
        let cells = &self.cells;
        if self.hangs(Part::Capability) {
            // nothing is done, and the flag stays as it was written
            cells.set_function(function, FunctionCell::Address, value);
            return;
        }
        let address = value & ADDRESS & !3;
        let write = value & FLAG != 0;
        let done = if write { 0 } else { FLAG };
        let number = cells.function(function, FunctionCell::Space);
        let Some(space) = self
            .space(number)
            .filter(|space| address <= space.end() - 4)
        else {
            cells.set_function(function, FunctionCell::Syndrome, OUT_OF_RANGE);
            cells.set_function(function, FunctionCell::Address, address | SYNDROME | done);
            return;
        };
        if write {
            self.space_write(space, address, cells.function(function, FunctionCell::Data));
        } else {
            let data = self.space_read(space, address);
            cells.set_function(function, FunctionCell::Data, data);
        }
        // scanning shows where the next dword is
        let next = address + if space == Space::ScanCr { 4 } else { 0 };
        cells.set_function(function, FunctionCell::Syndrome, 0);
        cells.set_function(function, FunctionCell::Address, next | done);
    }

    fn space_read(&self, space: Space, address: u32) -> u32 {
        match (space, address) {
            (Space::Cr | Space::ScanCr, _) => self.cr_read(address),
            (Space::Icmd, ICMD_CONTROL) => self.icmd_control(),
            (Space::Icmd, ICMD_MAX_SIZE) => MAILBOX_BYTES,
            (Space::Icmd, MAILBOX..) => self.cells.mailbox(address - MAILBOX),
            (Space::Semaphores, ICMD_SEMAPHORE) => self.cells.get(Cell::IcmdSemaphore),
            (Space::Semaphores, FLASH_SEMAPHORE) => self.cells.get(Cell::FlashSemaphore),
            _ => 0,
        }
    }

    fn space_write(&self, space: Space, address: u32, value: u32) {
        match (space, address) {
            (Space::Cr, _) => self.cr_write(address, value),
            (Space::Icmd, ICMD_CONTROL) => self.write_icmd_control(value),
            (Space::Icmd, MAILBOX..) => self.cells.set_mailbox(address - MAILBOX, value),
            (Space::Semaphores, ICMD_SEMAPHORE) => {
                self.write_semaphore(Cell::IcmdSemaphore, value);
            }
            (Space::Semaphores, FLASH_SEMAPHORE) => {
                self.write_semaphore(Cell::FlashSemaphore, value);
            }
            _ => {}
        }
    }

    /// A semaphore of space 0xa: any token takes it while it is free, zero frees it.
    fn write_semaphore(&self, cell: Cell, value: u32) {
        if value == 0 || self.cells.get(cell) == 0 {
            self.cells.set(cell, value);
        }
    }
}
