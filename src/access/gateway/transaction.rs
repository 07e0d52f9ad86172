//! One SPI command on the locked gateway (burn 8.3).
//!
//! A command is a chain of beats of up to 16 data bytes: the first sends opcode and address, and
//! chip select is kept until the last.

use super::GatewayError;
use super::layout::{Beat, SizeField};
use super::lock::Locked;
use crate::access::cr::Cr;

/// Data bytes of a full beat.
pub(super) const BEAT: usize = 16;

/// What is sent to the flash part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    /// Opcode.
    pub opcode: u8,
    /// Flash address within the bank, if the command has one.
    pub address: Option<u32>,
    /// The address travels as four bytes.
    pub four_byte: bool,
    /// Bank.
    pub bank: u8,
}

impl Locked<'_> {
    /// Sends `instruction` and fills `buffer` with the answer. Its length is a multiple of 16
    /// bytes, or a power of two below.
    pub fn read(
        &mut self,
        cr: &Cr,
        instruction: &Instruction,
        buffer: &mut [u8],
    ) -> Result<(), GatewayError> {
        if let Some(address) = instruction.address {
            self.session
                .write(self.layout.space, self.layout.address, address)?;
        }
        let beats = buffer.len().div_ceil(BEAT);
        for (number, bytes) in buffer.chunks_mut(BEAT).enumerate() {
            let first = number == 0;
            let beat = Beat {
                opcode: first.then_some(instruction.opcode),
                address: first && instruction.address.is_some(),
                four_byte: first && instruction.four_byte,
                read_bytes: u32::try_from(bytes.len()).unwrap_or(0),
                more: number + 1 < beats,
                bank: instruction.bank,
            };
            self.start(cr, instruction.opcode, &beat)?;
            self.fetch(bytes)?;
        }
        Ok(())
    }

    /// Steps 3 to 5: size, command, and wait for the end.
    fn start(&mut self, cr: &Cr, opcode: u8, beat: &Beat) -> Result<(), GatewayError> {
        let layout = self.layout;
        if let SizeField::Register(size) = layout.size {
            self.session.write(layout.space, size, beat.read_bytes)?;
        }
        self.session
            .write(layout.space, layout.command, layout.command(beat))?;
        self.await_idle(cr, opcode)
    }

    /// Step 6: the most significant byte of a data register is the first from the flash.
    fn fetch(&mut self, bytes: &mut [u8]) -> Result<(), GatewayError> {
        for (four, register) in bytes.chunks_mut(4).zip((self.layout.data..).step_by(4)) {
            let dword = self
                .session
                .read(self.layout.space, register)?
                .to_be_bytes();
            for (byte, new) in four.iter_mut().zip(dword) {
                *byte = new;
            }
        }
        Ok(())
    }
}
