//! The fake's flash gateway, with every rule of the lock enforced. Its register addresses and bits
//! are written out here, so that they check those of the code.

use super::expect;
use super::flash_part::FakePart;

/// Registers and bits of one generation, from the tables of burn 8.1.
#[derive(Debug, Clone, Copy)]
pub struct Registers {
    pub command: u32,
    pub address: u32,
    pub data: u32,
    pub size: Option<u32>,
    pub gcm: Option<u32>,
    pub cache: Option<u32>,
    /// Semaphores that lock it, in place of the command register's bit.
    pub semaphores: Option<[u32; 2]>,
    pub read: u32,
    pub command_phase: u32,
    pub address_phase: u32,
    pub data_phase: u32,
    pub keep: u32,
    pub four_byte: u32,
    /// Must be set in every command.
    pub required: u32,
}

const OLD: Registers = Registers {
    command: 0xf_0400,
    address: 0xf_0404,
    data: 0xf_0410,
    size: None,
    gcm: None,
    cache: Some(0xf_0420),
    semaphores: None,
    read: 1 << 0,
    command_phase: 1 << 2,
    address_phase: 1 << 3,
    data_phase: 1 << 4,
    keep: 1 << 5,
    four_byte: 1 << 14,
    required: 1 << 31,
};

/// The gateway and the flash behind it.
#[derive(Debug)]
pub struct FakeGateway {
    pub registers: Registers,
    /// The flash behind it.
    pub part: FakePart,
    /// The lock bit is held by somebody else for this many reads.
    pub locked_reads: u32,
    /// The command register reads as closed.
    pub closed: bool,
    /// Reads of busy after a command.
    pub busy_reads: u32,
    /// Commands run.
    pub commands: u32,
    locked: bool,
    taken: [bool; 2],
    enables: [u32; 2],
    size: u32,
    busy: u32,
    address: u32,
    data: [u8; 16],
    /// Opcode and next address of a command whose chip select is kept.
    kept: Option<(u8, u32)>,
}

impl FakeGateway {
    /// A gateway of the old layout over `flash`.
    pub fn old(flash: Vec<u8>) -> Self {
        Self {
            registers: OLD,
            part: FakePart::new(flash),
            locked_reads: 0,
            closed: false,
            busy_reads: 1,
            commands: 0,
            locked: false,
            taken: [false; 2],
            enables: [1, 1],
            size: 0,
            busy: 0,
            address: 0,
            data: [0; 16],
            kept: None,
        }
    }

    /// As ConnectX-3 has it.
    pub fn connectx3(flash: Vec<u8>) -> Self {
        let registers = Registers {
            cache: None,
            semaphores: Some([0xf_03a0, 0xf_03fc]),
            required: 1 << 13,
            ..OLD
        };
        Self {
            registers,
            ..Self::old(flash)
        }
    }

    /// 6th generation.
    pub fn sixth(flash: Vec<u8>) -> Self {
        let registers = Registers {
            address: 0xf_0420,
            gcm: Some(0xf_0440),
            cache: Some(0xf_0480),
            four_byte: 1 << 15,
            ..OLD
        };
        Self {
            registers,
            ..Self::old(flash)
        }
    }

    /// 7th generation with its registers from `block` on.
    pub fn seventh(flash: Vec<u8>, block: u32) -> Self {
        let registers = Registers {
            command: block,
            address: block + 0x3c,
            data: block + 0x10,
            size: Some(block + 0x44),
            gcm: Some(block + 0x28),
            cache: None,
            semaphores: None,
            read: 1 << 5,
            command_phase: 1 << 7,
            address_phase: 1 << 8,
            data_phase: 1 << 9,
            keep: 1 << 10,
            four_byte: 1 << 15,
            required: 1 << 31,
        };
        Self {
            registers,
            ..Self::old(flash)
        }
    }

    pub fn assert_free(&self) {
        assert!(!self.is_locked(), "the flash gateway is locked");
        assert_eq!(self.taken, [false; 2], "a gateway semaphore is held");
        assert!(self.kept.is_none(), "chip select is kept");
        if self.registers.cache.is_some() {
            assert_eq!(self.enables[1], 1, "cache replacement is left off");
        }
    }

    fn is_locked(&self) -> bool {
        match self.registers.semaphores {
            Some(_) => self.taken == [true; 2],
            None => self.locked,
        }
    }

    pub fn read(&mut self, at: u32) -> Option<u32> {
        let registers = self.registers;
        if at == registers.command {
            return Some(self.read_command());
        }
        if let Some(which) = semaphore(registers, at) {
            return Some(u32::from(std::mem::replace(&mut self.taken[which], true)));
        }
        if Some(at) == registers.gcm {
            return Some(self.enables[0]);
        }
        if Some(at) == registers.cache {
            return Some(self.enables[1]);
        }
        let index = usize::try_from(at.checked_sub(registers.data)?).unwrap();
        let four = self.data.get(index..index.checked_add(4)?)?;
        Some(u32::from_be_bytes(four.try_into().unwrap()))
    }

    fn read_command(&mut self) -> u32 {
        if self.closed {
            return 0xbada_cce6;
        }
        if self.registers.semaphores.is_some() || self.locked {
            let busy = u32::from(self.busy > 0);
            self.busy = self.busy.saturating_sub(1);
            return busy << 30 | u32::from(self.locked) << 31;
        }
        if self.locked_reads > 0 {
            self.locked_reads -= 1;
            return 1 << 31;
        }
        self.locked = true;
        0
    }

    pub fn write(&mut self, at: u32, value: u32) -> bool {
        let registers = self.registers;
        if let Some(which) = semaphore(registers, at) {
            expect(value == 0, "a semaphore that reading takes is written");
            self.taken[which] = false;
        } else if Some(at) == registers.gcm {
            self.enables[0] = value;
        } else if Some(at) == registers.cache {
            expect(self.is_locked(), "cache replacement without the lock");
            self.enables[1] = value;
        } else if Some(at) == registers.size {
            self.size = value;
        } else if at == registers.address {
            assert!(self.is_locked(), "a flash address without the lock");
            self.address = value;
        } else if at == registers.command {
            self.write_command(value);
        } else if let Some(index) = at.checked_sub(registers.data).filter(|&index| index < 16) {
            assert!(self.is_locked(), "flash data without the lock");
            let index = usize::try_from(index).unwrap();
            self.data[index..index + 4].copy_from_slice(&value.to_be_bytes());
        } else {
            return false;
        }
        true
    }

    fn write_command(&mut self, value: u32) {
        if value == 0 {
            self.locked = false;
            return;
        }
        let registers = self.registers;
        assert!(self.is_locked(), "a flash command without the lock");
        assert_eq!(value & registers.required, registers.required);
        assert_eq!(value >> 30 & 1, 1, "a command without busy");
        if registers.gcm.is_some() {
            assert_eq!(self.enables[0] & 1, 0, "GCM is on");
        }
        if registers.cache.is_some() {
            assert_eq!(self.enables[1] & 1, 0, "cache replacement is on");
        }
        self.commands += 1;
        self.busy = self.busy_reads;
        let (opcode, address) = self.begin(value);
        let count = if value & registers.data_phase == 0 {
            0
        } else {
            self.data_bytes(value)
        };
        let first = value & registers.command_phase != 0;
        let kept = value & registers.keep != 0;
        if value & registers.read != 0 {
            assert!(count > 0, "a read without data");
            self.part.read(opcode, address, &mut self.data[..count]);
        } else {
            self.part
                .write(opcode, address, &self.data[..count], first, !kept);
        }
        let next = address + u32::try_from(count).unwrap();
        self.kept = kept.then_some((opcode, next));
    }

    /// How many data bytes a command says it has.
    fn data_bytes(&self, value: u32) -> usize {
        let count = match (self.registers.size, self.registers.gcm) {
            (Some(_), _) => self.size,
            (None, Some(_)) => value >> 8 & 0x1f,
            (None, None) => 1 << (value >> 8 & 7),
        };
        let count = usize::try_from(count).unwrap();
        assert!((1..=16).contains(&count), "{count} bytes in a beat");
        count
    }

    /// Opcode and address of a beat: its own, or those of the command it continues.
    fn begin(&mut self, value: u32) -> (u8, u32) {
        let registers = self.registers;
        if value & registers.command_phase == 0 {
            assert_eq!(
                value & registers.address_phase,
                0,
                "an address goes with a command"
            );
            return self.kept.take().expect("a beat without a command");
        }
        assert!(self.kept.is_none(), "a command inside another");
        let opcode = u8::try_from(value >> 16 & 0xff).unwrap();
        let long = value & registers.four_byte != 0;
        let has_long = matches!(opcode, 0x12 | 0x13 | 0x21 | 0xdc);
        assert_eq!(long, has_long, "address length and opcode");
        let has_address = has_long || matches!(opcode, 0x02 | 0x03 | 0x20 | 0xd8);
        assert_eq!(has_address, value & registers.address_phase != 0);
        let address = if has_address { self.address } else { 0 };
        assert!(long || address < 1 << 24, "{address:#x} in three bytes");
        (opcode, address)
    }
}

fn semaphore(registers: Registers, at: u32) -> Option<usize> {
    registers
        .semaphores?
        .iter()
        .position(|&semaphore| semaphore == at)
}
