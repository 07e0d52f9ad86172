//! The contents of the flash, read through the gateway.

use std::borrow::Cow;

use super::layout::{Layout, Window};
use super::lock::Locked;
use super::transaction::{BEAT, Instruction};
use super::{GatewayError, Part, guard};
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

/// The flash of a card, for reading.
#[derive(Debug)]
pub struct Flash {
    cr: Cr,
    model: &'static Model,
    layout: Layout,
    part: Part,
    four_byte: bool,
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
    ) -> Result<Self, GatewayError> {
        let device = cr.device();
        let layout = Layout::new(model.gateway, window).ok_or(GatewayError::NoWindow {
            device: device.clone(),
            reason: "the flash gateway of this chip in recovery is not known",
        })?;
        match window {
            Window::Recovery => check_flash_control(&cr)?,
            Window::Cr if guard::firmware_works_from_flash(&cr, model)? => {
                return Err(GatewayError::FirmwareRuns { device });
            }
            Window::Cr => {}
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

    /// Bytes of a bank that can be addressed.
    fn bank_size(&self) -> u64 {
        if self.four_byte {
            self.part.size
        } else {
            self.part.size.min(THREE_BYTE_END)
        }
    }

    /// Whole beats of one bank, under one lock.
    fn read_beats(&self, offset: u64, buffer: &mut [u8]) -> Result<(), GatewayError> {
        let bank_size = self.bank_size();
        let instruction = Instruction {
            opcode: READ[usize::from(self.four_byte)],
            address: u32::try_from(offset % bank_size).ok(),
            four_byte: self.four_byte,
            bank: u8::try_from(offset / bank_size).unwrap_or(0),
        };
        let mut locked = Locked::take(&self.cr, &self.layout, self.model)?;
        locked.read(&self.cr, &instruction, buffer)?;
        Ok(locked.finish()?)
    }
}

impl ByteSource for Flash {
    fn size(&self) -> u64 {
        self.bank_size() * banks(self.model)
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
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
            self.read_beats(at, piece)
                .map_err(|error| ReadError::Failed {
                    offset: at,
                    reason: error.to_string(),
                })?;
            at += piece.len() as u64;
            rest = later;
        }
        let skip = usize::try_from(offset - start).map_err(|_| out_of_range())?;
        bytes.drain(..skip);
        bytes.truncate(usize::try_from(len).map_err(|_| out_of_range())?);
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
        address: None,
        four_byte: false,
        bank: 0,
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
