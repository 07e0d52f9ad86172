//! The ICMD mailbox: commands to the firmware that runs on the chip (device-access 3.2 to 3.4).

use crate::bytes::{bits, with_bits};

use super::Cycle;
use super::cells::{Cell, MAILBOX_BYTES};
use super::faults::Part;

const BUSY: u32 = 1;
/// The one opcode this firmware has: access register.
const ACCESS_REGISTER: u32 = 0x9001;

/// ICMD status codes.
const OK: u32 = 0;
const INVALID_OPCODE: u32 = 1;

/// Operation TLV and register TLV header, in bytes.
const HEADER: u32 = 20;
const OPERATION_TLV: u32 = 1;
const OPERATION_DWORDS: u32 = 4;
const REGISTER_TLV: u32 = 3;
/// The register class.
const CLASS: u32 = 1;

/// What an access register is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read it.
    Read,
    /// Write it.
    Write,
}

/// Why firmware does not do what an access register asks (device-access 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlvStatus {
    /// Not now: something takes long.
    Busy = 0x1,
    /// No operation or register TLV.
    UnknownTlv = 0x3,
    /// No such register.
    NotSupported = 0x4,
    /// Not the register class.
    Class = 0x5,
    /// The register cannot be read, or not be written.
    Method = 0x6,
    /// A field is wrong.
    BadParameter = 0x7,
    /// Not now, or not for you.
    NotAvailable = 0x8,
    /// The frame is shorter than the register.
    TooShort = 0x24,
}

impl Cycle<'_> {
    /// Control dword read. A command shows busy for the first reads after it was started.
    pub(super) fn icmd_control(&self) -> u32 {
        let busy = self.cells.count_down(Cell::IcmdBusy) || self.hangs(Part::Firmware);
        self.cells.get(Cell::IcmdControl) | (u32::from(busy) * BUSY)
    }

    /// Control dword written; the busy bit starts the command. A command under way cannot be
    /// disturbed.
    pub(super) fn write_icmd_control(&self, value: u32) {
        let cells = &self.cells;
        if cells.get(Cell::IcmdBusy) > 0 {
            return;
        }
        cells.set(Cell::IcmdControl, value & !BUSY);
        if value & BUSY == 0 {
            return;
        }
        cells.count(Cell::IcmdCommands);
        if cells.get(Cell::IcmdSemaphore) == 0 {
            cells.count(Cell::NoIcmdSemaphore);
        }
        let status = if bits(value, 31, 16) == ACCESS_REGISTER {
            self.access_register_frame();
            OK
        } else {
            INVALID_OPCODE
        };
        cells.set(Cell::IcmdControl, with_bits(value & !BUSY, 15, 8, status));
        cells.set(Cell::IcmdBusy, self.spec.icmd_busy_polls);
    }

    /// Answers the access-register frame in the mailbox, in place.
    fn access_register_frame(&self) {
        let cells = &self.cells;
        let operation = cells.mailbox(0);
        let request = cells.mailbox(4);
        let id = u16::try_from(bits(request, 31, 16)).unwrap_or(0);
        self.count_register(id);
        if !self.note_register() {
            return;
        }
        let status = match self.answer_frame(operation, request, id) {
            Ok(()) => 0,
            Err(status) => status as u32,
        };
        cells.set_mailbox(0, with_bits(operation, 14, 8, status));
        cells.set_mailbox(4, with_bits(request, 15, 15, 1));
    }

    fn answer_frame(&self, operation: u32, request: u32, id: u16) -> Result<(), TlvStatus> {
        let cells = &self.cells;
        if bits(operation, 31, 27) != OPERATION_TLV || bits(operation, 26, 16) != OPERATION_DWORDS {
            return Err(TlvStatus::UnknownTlv);
        }
        if bits(request, 7, 0) != CLASS {
            return Err(TlvStatus::Class);
        }
        let method = match bits(request, 14, 8) {
            1 => Method::Read,
            2 => Method::Write,
            _ => return Err(TlvStatus::Method),
        };
        let register = cells.mailbox(HEADER - 4);
        let dwords = bits(register, 26, 16);
        if bits(register, 31, 27) != REGISTER_TLV || dwords == 0 {
            return Err(TlvStatus::UnknownTlv);
        }
        let end = HEADER + (dwords - 1) * 4;
        if end > MAILBOX_BYTES {
            return Err(TlvStatus::BadParameter);
        }
        let mut image: Vec<u8> = (HEADER..end)
            .step_by(4)
            .flat_map(|offset| cells.mailbox(offset).to_be_bytes())
            .collect();
        // a register that fails can still say why
        let answer = self.answer_register(id, method, &mut image);
        for (offset, dword) in (HEADER..end).step_by(4).zip(image.chunks_exact(4)) {
            let value = u32::from_be_bytes([dword[0], dword[1], dword[2], dword[3]]);
            cells.set_mailbox(offset, value);
        }
        answer
    }
}
