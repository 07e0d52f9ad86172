//! The flash gateway: SPI commands to the flash part through registers in CR space
//! (burn 8.1 to 8.4), and the part's answers.

use crate::model::GatewayLayout;

use super::cells::Cell;
use super::faults::Part;
use super::flash::{PAGE, SECTOR, SUBSECTOR};
use super::{Cycle, Power};

const LOCK: u32 = 1 << 31;
const BUSY: u32 = 1 << 30;

/// Status reads for which the part shows write in progress after a program or erase.
const WRITE_IN_PROGRESS_READS: u32 = 2;
/// Status register 1 of a protected part: the block protection bits, and the bit that makes the
/// protection pin count (burn 8.5).
const PROTECTED: u8 = 0x9c;
/// Most bytes of one beat.
const BEAT: u32 = 16;

/// How the number of data bytes is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizeField {
    /// Command bits `[10:8]`: log2.
    Log2,
    /// Command bits `[12:8]`: bytes.
    Bytes,
    /// A register of its own: bytes.
    Register,
}

/// A register of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayRegister {
    /// Command.
    Command,
    /// Flash address.
    Address,
    /// Data dword 0 to 3.
    Data(usize),
    /// Data size (seventh layout).
    Size,
    /// GCM enable.
    Gcm,
    /// Cache replacement enable.
    CacheReplacement,
}

const DATA: [Cell; 4] = [
    Cell::GatewayData0,
    Cell::GatewayData1,
    Cell::GatewayData2,
    Cell::GatewayData3,
];

/// Addresses and bit positions of one generation (burn 8.1).
#[derive(Debug)]
pub struct GatewayMap {
    command: u32,
    address: u32,
    data: u32,
    size: Option<u32>,
    gcm: Option<u32>,
    /// Cache replacement enable, where there is one.
    pub cache_replacement: Option<u32>,
    /// The lock is the semaphore at 0xf03fc, not bit 31 of the command register.
    pub lock_by_semaphore: bool,
    size_field: SizeField,
    /// Lowest command bit: read, two above command, address, data phase, keep chip select.
    shift: u32,
    four_byte: u32,
}

impl GatewayMap {
    /// The map of a generation.
    pub const fn of(layout: GatewayLayout) -> Self {
        let old = Self {
            command: 0xf_0400,
            address: 0xf_0404,
            data: 0xf_0410,
            size: None,
            gcm: None,
            cache_replacement: Some(0xf_0420),
            lock_by_semaphore: false,
            size_field: SizeField::Log2,
            shift: 0,
            four_byte: 1 << 14,
        };
        match layout {
            GatewayLayout::Old => old,
            GatewayLayout::ConnectX3 => Self {
                cache_replacement: None,
                lock_by_semaphore: true,
                ..old
            },
            GatewayLayout::Sixth => Self {
                address: 0xf_0420,
                gcm: Some(0xf_0440),
                cache_replacement: Some(0xf_0480),
                size_field: SizeField::Bytes,
                four_byte: 1 << 15,
                ..old
            },
            GatewayLayout::Seventh => Self {
                command: 0x8a_1000,
                address: 0x8a_103c,
                data: 0x8a_1010,
                size: Some(0x8a_1044),
                gcm: Some(0x8a_1028),
                cache_replacement: None,
                size_field: SizeField::Register,
                shift: 5,
                four_byte: 1 << 15,
                ..old
            },
        }
    }

    /// The register at a CR address.
    pub fn register(&self, address: u32) -> Option<GatewayRegister> {
        if address == self.command {
            return Some(GatewayRegister::Command);
        }
        if address == self.address {
            return Some(GatewayRegister::Address);
        }
        let data = address.wrapping_sub(self.data) / 4;
        if data < 4 {
            return usize::try_from(data).ok().map(GatewayRegister::Data);
        }
        [
            (self.size, GatewayRegister::Size),
            (self.gcm, GatewayRegister::Gcm),
            (self.cache_replacement, GatewayRegister::CacheReplacement),
        ]
        .into_iter()
        .find_map(|(at, register)| (at == Some(address)).then_some(register))
    }

    const fn bit(&self, command: u32, position: u32) -> bool {
        command & (1 << (position + self.shift)) != 0
    }
}

/// SPI opcodes (burn 8.4).
mod opcode {
    pub const WRITE_STATUS: [u32; 3] = [0x01, 0x31, 0x11];
    pub const PROGRAM: [u32; 2] = [0x02, 0x12];
    pub const READ: [u32; 2] = [0x03, 0x13];
    pub const WRITE_DISABLE: u32 = 0x04;
    pub const READ_STATUS: u32 = 0x05;
    pub const READ_OTHER_STATUS: [u32; 2] = [0x35, 0x15];
    pub const WRITE_ENABLE: u32 = 0x06;
    pub const ERASE_SUBSECTOR: [u32; 2] = [0x20, 0x21];
    pub const ERASE_SECTOR: [u32; 2] = [0xd8, 0xdc];
    pub const JEDEC_ID: u32 = 0x9f;
}

impl Cycle<'_> {
    pub(super) fn gateway_read(&self, register: GatewayRegister) -> u32 {
        match register {
            GatewayRegister::Command => self.read_command(),
            _ => self.cells.get(Self::gateway_cell(register)),
        }
    }

    pub(super) fn gateway_write(&self, register: GatewayRegister, value: u32) {
        match register {
            GatewayRegister::Command => self.write_command(value),
            _ => self.cells.set(Self::gateway_cell(register), value),
        }
    }

    const fn gateway_cell(register: GatewayRegister) -> Cell {
        match register {
            GatewayRegister::Command => Cell::GatewayCommand,
            GatewayRegister::Address => Cell::GatewayAddress,
            GatewayRegister::Data(index) => DATA[index],
            GatewayRegister::Size => Cell::GatewaySize,
            GatewayRegister::Gcm => Cell::GatewayGcm,
            GatewayRegister::CacheReplacement => Cell::CacheReplacement,
        }
    }

    /// Command register read. Where it holds the lock, reading it free takes it (burn 8.2).
    fn read_command(&self) -> u32 {
        let busy = if self.hangs(Part::Gateway) { BUSY } else { 0 };
        let command = self.cells.get(Cell::GatewayCommand) | busy;
        if self.cr.gateway.lock_by_semaphore {
            return command;
        }
        if self.cells.get(Cell::GatewayLock) != 0 {
            return command | LOCK;
        }
        self.cells.set(Cell::GatewayLock, 1);
        command
    }

    /// Command register written: the busy bit starts the command, which is done at once.
    fn write_command(&self, value: u32) {
        let cells = &self.cells;
        if value & BUSY != 0 {
            cells.count(Cell::GatewayCommands);
            if cells.get(Cell::GatewayLock) == 0 {
                cells.count(Cell::NoGatewayLock);
            }
            if self.cr.has_cache_replacement()
                && self.power() == Power::Running
                && cells.get(Cell::CacheReplacement) != 0
            {
                cells.count(Cell::CacheReplacementOn);
            }
            if !self.hangs(Part::Gateway) {
                self.spi_beat(value);
            }
        }
        if !self.cr.gateway.lock_by_semaphore && value & LOCK == 0 {
            cells.set(Cell::GatewayLock, 0);
        }
        cells.set(Cell::GatewayCommand, value & !(LOCK | BUSY));
    }

    /// One beat on the SPI bus: any of command, address and data phase.
    fn spi_beat(&self, command: u32) {
        let map = &self.cr.gateway;
        let cells = &self.cells;
        let opcode = if map.bit(command, 2) {
            (command >> 16) & 0xff
        } else {
            cells.get(Cell::SpiOpcode)
        };
        let address = if map.bit(command, 3) {
            let four_byte = command & map.four_byte != 0;
            cells.get(Cell::GatewayAddress) & if four_byte { u32::MAX } else { 0xff_ffff }
        } else {
            cells.get(Cell::SpiAddress)
        };
        let length = if map.bit(command, 4) {
            self.data_length(command)
        } else {
            0
        };
        let held = map.bit(command, 5);
        let beat = Beat {
            opcode,
            address,
            length,
            first: map.bit(command, 2),
            last: !held,
        };
        // firmware of a secure card keeps the part to itself: reads give zeros, nothing is written
        let closed = self.spec.secure && self.power() == Power::Running;
        if closed {
            self.put_data(&[0; BEAT as usize]);
        } else {
            let next = self.flash_beat(&beat);
            cells.set(Cell::SpiAddress, next);
        }
        cells.set(Cell::SpiOpcode, if held { opcode } else { 0 });
    }

    fn data_length(&self, command: u32) -> u32 {
        let length = match self.cr.gateway.size_field {
            SizeField::Log2 => 1 << ((command >> 8) & 7),
            SizeField::Bytes => (command >> 8) & 0x1f,
            SizeField::Register => self.cells.get(Cell::GatewaySize),
        };
        length.min(BEAT)
    }

    /// What the part does in one beat; returns the address the next beat continues at.
    fn flash_beat(&self, beat: &Beat) -> u32 {
        let cells = &self.cells;
        if beat.opcode == opcode::READ_STATUS {
            self.put_data(&[self.part_status()]);
        } else if cells.get(Cell::SpiBusy) > 0 {
            // a busy part hears nothing but status reads
            self.put_data(&[0xff; BEAT as usize]);
        } else if opcode::READ.contains(&beat.opcode) {
            self.put_data(&self.read_part(beat.address, beat.length));
            return beat.address.wrapping_add(beat.length);
        } else if opcode::PROGRAM.contains(&beat.opcode) {
            return self.program_beat(beat);
        } else if opcode::ERASE_SUBSECTOR.contains(&beat.opcode) {
            self.erase_command(beat.address, SUBSECTOR);
        } else if opcode::ERASE_SECTOR.contains(&beat.opcode) {
            self.erase_command(beat.address, SECTOR);
        } else if beat.opcode == opcode::WRITE_ENABLE {
            cells.set(Cell::SpiWriteEnabled, 1);
        } else if beat.opcode == opcode::WRITE_DISABLE {
            cells.set(Cell::SpiWriteEnabled, 0);
        } else if beat.opcode == opcode::JEDEC_ID {
            self.put_data(&self.spec.jedec_id.to_be_bytes()[1..]);
        } else if opcode::READ_OTHER_STATUS.contains(&beat.opcode) {
            self.put_data(&[0]);
        } else if opcode::WRITE_STATUS.contains(&beat.opcode) {
            // protection bits of this part stay clear
            self.take_write_enable();
        } else {
            self.put_data(&[0xff; BEAT as usize]);
        }
        beat.address
    }

    /// Status register 1: write in progress, write enable latch, protection bits.
    fn part_status(&self) -> u8 {
        let cells = &self.cells;
        let busy = cells.count_down(Cell::SpiBusy) || self.hangs(Part::Flash);
        let protected = if self.is_write_protected() {
            PROTECTED
        } else {
            0
        };
        let enabled = cells.get(Cell::SpiWriteEnabled) != 0;
        u8::from(busy) | (u8::from(enabled) << 1) | protected
    }

    /// A beat of a page program; the address wraps inside its page. The part fills its page
    /// buffer beat by beat and programs it when chip select is dropped.
    fn program_beat(&self, beat: &Beat) -> u32 {
        let cells = &self.cells;
        if beat.first {
            cells.blank_page();
            if cells.get(Cell::SpiWriteEnabled) == 0 {
                cells.count(Cell::NoWriteEnable);
            }
        }
        let page = beat.address & !(PAGE - 1);
        let start = beat.address - page;
        if start + beat.length > PAGE {
            cells.count(Cell::PageWrap);
        }
        for (offset, byte) in (start..).zip(self.data(beat.length)) {
            cells.set_page_byte(offset, byte);
        }
        if beat.last && cells.get(Cell::SpiWriteEnabled) != 0 {
            self.program_flash(page, &cells.page());
            cells.set(Cell::SpiWriteEnabled, 0);
            cells.set(Cell::SpiBusy, WRITE_IN_PROGRESS_READS);
        }
        page + (start + beat.length) % PAGE
    }

    fn erase_command(&self, address: u32, size: u32) {
        if !address.is_multiple_of(size) {
            self.cells.count(Cell::UnalignedErase);
        }
        if self.take_write_enable() {
            self.erase_flash(address, size);
            self.cells.set(Cell::SpiBusy, WRITE_IN_PROGRESS_READS);
        }
    }

    /// Uses up the write enable latch; counts when it was not set.
    fn take_write_enable(&self) -> bool {
        let enabled = self.cells.get(Cell::SpiWriteEnabled) != 0;
        if !enabled {
            self.cells.count(Cell::NoWriteEnable);
        }
        self.cells.set(Cell::SpiWriteEnabled, 0);
        enabled
    }

    /// The first `length` bytes of the data registers.
    fn data(&self, length: u32) -> Vec<u8> {
        let all = DATA
            .iter()
            .flat_map(|&cell| self.cells.get(cell).to_be_bytes());
        all.take(usize::try_from(length).unwrap_or(0)).collect()
    }

    /// Puts bytes into the data registers, the first one most significant; the rest is kept.
    fn put_data(&self, bytes: &[u8]) {
        for (chunk, cell) in bytes.chunks(4).zip(DATA) {
            let mut dword = self.cells.get(cell).to_be_bytes();
            dword[..chunk.len()].copy_from_slice(chunk);
            self.cells.set(cell, u32::from_be_bytes(dword));
        }
    }
}

/// One beat.
struct Beat {
    opcode: u32,
    address: u32,
    /// Data bytes, at most [`BEAT`].
    length: u32,
    /// The command phase is in this beat.
    first: bool,
    /// Chip select is dropped after it.
    last: bool,
}
