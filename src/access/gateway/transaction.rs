//! One SPI command on the locked gateway (burn 8.3).
//!
//! A command is a chain of beats of up to 16 data bytes: the first sends opcode and address, and
//! chip select is kept until the last.

use super::GatewayError;
use super::layout::{Beat, Data, SizeField};
use super::lock::Locked;
use crate::access::cr::Cr;
use crate::access::error::AccessError;

/// Data bytes of a full beat.
pub(super) const BEAT: usize = 16;

/// What is sent to the flash part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
        self.put_address(instruction)?;
        let beats = buffer.len().div_ceil(BEAT);
        for (number, bytes) in buffer.chunks_mut(BEAT).enumerate() {
            let beat = Beat {
                data: Data::Read(u32::try_from(bytes.len()).unwrap_or(0)),
                more: number + 1 < beats,
                ..instruction.beat(number)
            };
            self.start(cr, instruction.opcode, &beat)?;
            self.fetch(bytes)?;
        }
        Ok(())
    }

    /// Sends `instruction` with `data`, of any length.
    pub fn write(
        &mut self,
        cr: &Cr,
        instruction: &Instruction,
        data: &[u8],
    ) -> Result<(), GatewayError> {
        self.put_address(instruction)?;
        if data.is_empty() {
            return self.start(cr, instruction.opcode, &instruction.beat(0));
        }
        let mut beats = beats(data).enumerate().peekable();
        while let Some((number, bytes)) = beats.next() {
            self.put(bytes)?;
            let beat = Beat {
                data: Data::Write(u32::try_from(bytes.len()).unwrap_or(0)),
                more: beats.peek().is_some(),
                ..instruction.beat(number)
            };
            self.start(cr, instruction.opcode, &beat)?;
        }
        Ok(())
    }

    /// Step 2.
    fn put_address(&mut self, instruction: &Instruction) -> Result<(), AccessError> {
        let (space, register) = (self.layout.space, self.layout.address);
        instruction.address.map_or(Ok(()), |address| {
            self.session.write(space, register, address)
        })
    }

    /// Step 1: the first byte for the flash is the most significant of the first data register.
    fn put(&mut self, bytes: &[u8]) -> Result<(), AccessError> {
        for (four, register) in bytes.chunks(4).zip((self.layout.data..).step_by(4)) {
            let mut dword = [0xff; 4];
            for (byte, new) in dword.iter_mut().zip(four) {
                *byte = *new;
            }
            let dword = u32::from_be_bytes(dword);
            self.session.write(self.layout.space, register, dword)?;
        }
        Ok(())
    }

    /// Steps 3 to 5: size, command, and wait for the end.
    fn start(&mut self, cr: &Cr, opcode: u8, beat: &Beat) -> Result<(), GatewayError> {
        let layout = self.layout;
        if let SizeField::Register(size) = layout.size {
            self.session.write(layout.space, size, beat.data.bytes())?;
        }
        self.session
            .write(layout.space, layout.command, layout.command(beat))?;
        self.await_idle(cr, Some(opcode))
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

/// `data` cut into what beats can carry: 16 bytes, and powers of two at the end.
fn beats(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let size = match rest.len() {
            0 => return None,
            BEAT.. => BEAT,
            short => 1 << short.ilog2(),
        };
        let (beat, later) = rest.split_at_checked(size)?;
        rest = later;
        Some(beat)
    })
}

impl Instruction {
    /// The beat of this number, without its data.
    const fn beat(&self, number: usize) -> Beat {
        let first = number == 0;
        Beat {
            opcode: if first { Some(self.opcode) } else { None },
            address: first && self.address.is_some(),
            four_byte: first && self.four_byte,
            data: Data::None,
            more: false,
            bank: self.bank,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::beats;

    #[test]
    fn a_beat_carries_sixteen_bytes_or_a_power_of_two() {
        let sizes = |len: usize| beats(&vec![0; len]).map(<[u8]>::len).collect::<Vec<_>>();
        assert!(sizes(0).is_empty());
        assert_eq!(sizes(4), [4]);
        assert_eq!(sizes(45), [16, 16, 8, 4, 1]);
    }
}
