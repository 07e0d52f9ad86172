//! The fake's flash part: what it does with SPI commands, and the rules of changing it.

use super::expect;

/// Status reads that show write in progress after a change.
const BUSY_READS: u32 = 2;

/// A NOR flash.
#[derive(Debug)]
pub struct FakePart {
    /// Contents.
    pub flash: Vec<u8>,
    /// Vendor, type, capacity.
    pub jedec: [u8; 3],
    /// Status register 1, without the bits the part sets itself.
    pub status: u8,
    /// Registers with the top/bottom or the complement bit: opcode and value.
    pub other_status: (u8, u8),
    /// Never finishes a change.
    pub hangs: bool,
    /// Changes made: opcode and address.
    pub changes: Vec<(u8, u32)>,
    write_enabled: bool,
    busy: u32,
}

impl FakePart {
    pub fn new(flash: Vec<u8>) -> Self {
        Self {
            flash,
            jedec: [0x20, 0xba, 0x18],
            status: 0,
            other_status: (0, 0),
            hangs: false,
            changes: Vec::new(),
            write_enabled: false,
            busy: 0,
        }
    }

    /// Answers a command that reads.
    pub fn read(&mut self, opcode: u8, address: u32, data: &mut [u8]) {
        if opcode == 0x05 {
            let working = self.busy > 0;
            self.busy = self.busy.saturating_sub(u32::from(!self.hangs));
            data[0] = self.status | u8::from(self.write_enabled) << 1 | u8::from(working);
            return;
        }
        expect(self.busy == 0, "a command to a part that works");
        let from = usize::try_from(address).unwrap();
        match opcode {
            0x9f => data[..3].copy_from_slice(&self.jedec),
            0x03 | 0x13 => data.copy_from_slice(&self.flash[from..from + data.len()]),
            _ if opcode == self.other_status.0 => data[0] = self.other_status.1,
            _ => panic!("flash command {opcode:#x}"),
        }
    }

    /// A command that writes; `last` when chip select is dropped after it.
    pub fn write(&mut self, opcode: u8, address: u32, data: &[u8], first: bool, last: bool) {
        expect(self.busy == 0, "a command to a part that works");
        if opcode == 0x06 {
            self.write_enabled = true;
            return;
        }
        expect(self.write_enabled, "a change without write enable");
        if first {
            self.changes.push((opcode, address));
        }
        match opcode {
            0x02 | 0x12 => self.program(address, data),
            0x20 | 0x21 => self.erase(address, 0x1000),
            0xd8 | 0xdc => self.erase(address, 0x1_0000),
            _ => panic!("flash command {opcode:#x}"),
        }
        if last {
            self.write_enabled = false;
            self.busy = BUSY_READS;
        }
    }

    fn program(&mut self, address: u32, data: &[u8]) {
        let page = address / 256;
        for (at, &byte) in (address..).zip(data) {
            expect(at / 256 == page, "a program across a page");
            let cell = &mut self.flash[usize::try_from(at).unwrap()];
            expect(*cell & byte == byte, "bits that need an erase");
            *cell &= byte;
        }
    }

    fn erase(&mut self, address: u32, size: u32) {
        expect(address.is_multiple_of(size), "an erase inside a unit");
        let (from, count) = (address as usize, size as usize);
        self.flash[from..from + count].fill(0xff);
    }
}
