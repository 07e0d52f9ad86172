//! The contents of the flash, read through the gateway.

use std::borrow::Cow;

use super::layout::{Layout, Window};
use super::lock::Locked;
use super::transaction::{BEAT, Instruction};
use super::{FirmwareGuard, GatewayError, Part, guard, hold_line};
use crate::access::cr::Cr;
use crate::access::space::Space;
use crate::bytes::{ByteSource, ReadError, be32, bits};
use crate::model::Model;

/// Read, 3-byte and 4-byte address.
const READ: [u8; 2] = [0x03, 0x13];
const READ_JEDEC_ID: u8 = 0x9f;

/// End of what three address bytes reach.
const THREE_BYTE_END: u64 = 1 << 24;

/// Bytes read before the gateway and the way to it are offered to others.
const HOLD: u64 = 4096;

/// The flash of a card, for reading; [`Flash::session`] is for changing it.
#[derive(Debug)]
pub struct Flash {
    pub(super) cr: Cr,
    pub(super) model: &'static Model,
    pub(super) layout: Layout,
    pub(super) part: Part,
    pub(super) four_byte: bool,
}

impl Flash {
    /// Asks the part for its id.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub(crate) fn open(
        cr: Cr,
        model: &'static Model,
        window: Window,
        guard: FirmwareGuard,
    ) -> Result<Self, GatewayError> {
        let device = cr.device();
        let layout = Layout::new(model.gateway, window).ok_or(GatewayError::NoWindow {
            device: device.clone(),
            reason: "the flash gateway of this chip in recovery is not known",
        })?;
        match window {
            Window::Recovery => check_flash_control(&cr)?,
            Window::Cr
                if guard == FirmwareGuard::Respect
                    && guard::firmware_works_from_flash(&cr, model)? =>
            {
                return Err(GatewayError::FirmwareRuns { device });
            }
            Window::Cr => {}
        }
        if guard == FirmwareGuard::NoFirmware {
            hold_line::release(&cr, model)?;
        }
        let part = identify(&cr, &layout, model)?;
        let four_byte = model.four_byte_address && part.size > THREE_BYTE_END;
        Ok(Self {
            cr,
            model,
            layout,
            part,
            four_byte,
        })
    }

    /// The part.
    #[must_use]
    pub const fn part(&self) -> &Part {
        &self.part
    }

    /// The function, for messages.
    #[must_use]
    pub fn device(&self) -> String {
        self.cr.device()
    }

    /// Bytes of a bank that can be addressed.
    fn bank_size(&self) -> u64 {
        if self.four_byte {
            self.part.size
        } else {
            self.part.size.min(THREE_BYTE_END)
        }
    }

    /// An instruction at a flash address, with the 3-byte or the 4-byte of its opcodes.
    pub(super) fn instruction(&self, opcodes: [u8; 2], offset: u64) -> Instruction {
        let bank_size = self.bank_size();
        Instruction {
            opcode: opcodes[usize::from(self.four_byte)],
            address: u32::try_from(offset % bank_size).ok(),
            four_byte: self.four_byte,
            bank: u8::try_from(offset / bank_size).unwrap_or(0),
        }
    }

    /// Reads whole beats of one bank.
    pub(super) fn read_beats(
        &self,
        locked: &mut Locked<'_>,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<(), GatewayError> {
        locked.read(&self.cr, &self.instruction(READ, offset), buffer)
    }

    /// Reads any range in pieces of whole beats, none of them longer than [`HOLD`] or across
    /// banks; `read_piece` fills each.
    pub(super) fn read_in_pieces(
        &self,
        offset: u64,
        len: u64,
        mut read_piece: impl FnMut(u64, &mut [u8]) -> Result<(), GatewayError>,
    ) -> Result<Vec<u8>, ReadError> {
        let out_of_range = || ReadError::OutOfRange {
            offset,
            wanted: len,
            size: self.size(),
        };
        let end = offset
            .checked_add(len)
            .filter(|&end| end <= self.size())
            .ok_or_else(out_of_range)?;
        let beat = BEAT as u64;
        let start = offset - offset % beat;
        let size =
            usize::try_from(end.next_multiple_of(beat) - start).map_err(|_| out_of_range())?;
        let mut bytes = vec![0; size];
        let mut at = start;
        let mut rest = bytes.as_mut_slice();
        while !rest.is_empty() {
            // a piece ends where HOLD does, so it never crosses into another bank
            let until_hold = usize::try_from(HOLD - at % HOLD).unwrap_or(BEAT);
            let (piece, later) = rest.split_at_mut(until_hold.min(rest.len()));
            read_piece(at, piece).map_err(|error| ReadError::Failed {
                offset: at,
                reason: error.into(),
            })?;
            at += piece.len() as u64;
            rest = later;
        }
        let skip = usize::try_from(offset - start).map_err(|_| out_of_range())?;
        bytes.drain(..skip);
        bytes.truncate(usize::try_from(len).map_err(|_| out_of_range())?);
        Ok(bytes)
    }
}

impl ByteSource for Flash {
    fn size(&self) -> u64 {
        self.bank_size() * banks(self.model)
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        let bytes = self.read_in_pieces(offset, len, |at, piece| {
            let mut locked = Locked::take(&self.cr, &self.layout, self.model)?;
            self.read_beats(&mut locked, at, piece)?;
            Ok(locked.finish()?)
        })?;
        Ok(Cow::Owned(bytes))
    }
}

/// Two flashes on the oldest switches, else one (burn 8.5).
const fn banks(model: &Model) -> u64 {
    match model.hw_id {
        0x247 | 0x249 | 0x24b => 2,
        _ => 1,
    }
}

fn identify(cr: &Cr, layout: &Layout, model: &Model) -> Result<Part, GatewayError> {
    let mut answer = [0; 4];
    let mut locked = Locked::take(cr, layout, model)?;
    let instruction = Instruction {
        opcode: READ_JEDEC_ID,
        ..Instruction::default()
    };
    locked.read(cr, &instruction, &mut answer)?;
    locked.finish()?;
    let jedec = be32(&answer, 0).unwrap_or(0) >> 8;
    let device = cr.device();
    if jedec == 0 || jedec == 0xff_ffff {
        return Err(GatewayError::NoFlash { device, jedec });
    }
    Part::from_jedec(jedec, model).ok_or(GatewayError::UnknownCapacity { device, jedec })
}

/// In the recovery space the flash is there only when dword 0 says so (bit 2).
fn check_flash_control(cr: &Cr) -> Result<(), GatewayError> {
    let state = cr.hold()?.read(Space::Recovery, 0)?;
    if bits(state, 2, 2) == 1 {
        return Ok(());
    }
    Err(GatewayError::NoWindow {
        device: cr.device(),
        reason: "the chip in recovery does not offer its flash (recovery space 0x0 bit 2 is clear)",
    })
}
