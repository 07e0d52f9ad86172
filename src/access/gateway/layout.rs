//! Where the registers of the flash gateway are and what their bits mean (burn 8.1).

use crate::access::space::Space;
use crate::bytes::with_bits;
use crate::model::GatewayLayout;

/// Where the gateway's registers are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// In CR space, the usual place.
    Cr,
    /// In the recovery space, on a chip whose firmware was refused.
    Recovery,
}

/// Block of the 7th generation's registers in CR space.
const SEVENTH_BLOCK: u32 = 0x8a_1000;
/// Where that block begins in the recovery space.
const RECOVERY_BLOCK: u32 = 0x10;

/// How the number of data bytes of a beat is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SizeField {
    /// Command bits `[10:8]`, log2 of the bytes.
    Log2,
    /// Command bits `[12:8]`, the bytes.
    Bytes,
    /// A register of its own.
    Register(u32),
}

/// How the gateway is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockKind {
    /// By two semaphores that reading takes (ConnectX-3).
    Semaphores,
    /// By the highest bit of the command register, which reading takes.
    CommandBit,
}

/// Registers and bits of one generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::access) struct Layout {
    /// Space all registers are in.
    pub space: Space,
    /// Command register.
    pub command: u32,
    /// Flash address register.
    pub address: u32,
    /// First of four data registers.
    pub data: u32,
    /// Number of data bytes.
    pub(super) size: SizeField,
    /// Enable bit (bit 0) of the firmware's own command master.
    pub gcm: Option<u32>,
    /// Enable bit (bit 0) of cache replacement: the firmware's cache fetching from flash.
    pub cache_replacement: Option<u32>,
    /// Lock.
    pub(super) lock: LockKind,
    /// The bits of a beat start this much higher than in the old layout.
    shift: u32,
    chip_select: u32,
    four_byte: u32,
    /// Set in every command.
    always: u32,
}

/// The gateway works on a command.
pub(super) const BUSY: u32 = 1 << 30;
/// The gateway is locked.
pub(super) const LOCK: u32 = 1 << 31;

const READ: u32 = 0;
const COMMAND_PHASE: u32 = 2;
const ADDRESS_PHASE: u32 = 3;
const DATA_PHASE: u32 = 4;
const KEEP_CHIP_SELECT: u32 = 5;
const FLASH_ENABLE: u32 = 1 << 13;

/// What the data phase of a beat moves: bytes, a power of two up to 16.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Data {
    /// No data phase.
    #[default]
    None,
    /// From the flash.
    Read(u32),
    /// To the flash.
    Write(u32),
}

impl Data {
    /// Bytes moved.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Read(bytes) | Self::Write(bytes) => bytes,
        }
    }
}

/// One beat of an SPI command, as the command register says it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Beat {
    /// Opcode; the command phase is left out in later beats of a command.
    pub opcode: Option<u8>,
    /// An address is sent.
    pub address: bool,
    /// The address has four bytes.
    pub four_byte: bool,
    /// Data phase.
    pub data: Data,
    /// More beats follow: chip select stays.
    pub more: bool,
    /// Bank.
    pub bank: u8,
}

impl Layout {
    /// The layout of a generation; `None` for a window whose registers are not known.
    pub fn new(layout: GatewayLayout, window: Window) -> Option<Self> {
        let old = Self {
            space: Space::Cr,
            command: 0xf_0400,
            address: 0xf_0404,
            data: 0xf_0410,
            size: SizeField::Log2,
            gcm: None,
            cache_replacement: Some(0xf_0420),
            lock: LockKind::CommandBit,
            shift: 0,
            chip_select: 11,
            four_byte: 14,
            always: LOCK,
        };
        match (layout, window) {
            (GatewayLayout::ConnectX3, Window::Cr) => Some(Self {
                cache_replacement: None,
                lock: LockKind::Semaphores,
                always: FLASH_ENABLE,
                ..old
            }),
            (GatewayLayout::Old, Window::Cr) => Some(old),
            (GatewayLayout::Sixth, Window::Cr) => Some(Self {
                address: 0xf_0420,
                size: SizeField::Bytes,
                gcm: Some(0xf_0440),
                cache_replacement: Some(0xf_0480),
                chip_select: 13,
                four_byte: 15,
                ..old
            }),
            (GatewayLayout::Seventh, Window::Cr) => Some(Self::seventh(Space::Cr, SEVENTH_BLOCK)),
            (GatewayLayout::Seventh, Window::Recovery) => {
                Some(Self::seventh(Space::Recovery, RECOVERY_BLOCK))
            }
            // unconfirmed: only a part of the 6th generation's block is known to move
            (_, Window::Recovery) => None,
        }
    }

    const fn seventh(space: Space, block: u32) -> Self {
        Self {
            space,
            command: block,
            address: block + 0x3c,
            data: block + 0x10,
            size: SizeField::Register(block + 0x44),
            gcm: Some(block + 0x28),
            cache_replacement: None,
            lock: LockKind::CommandBit,
            shift: 5,
            chip_select: 13,
            four_byte: 15,
            always: LOCK,
        }
    }

    /// The command dword that starts a beat.
    pub(super) fn command(&self, beat: &Beat) -> u32 {
        let flag = |set: bool, bit: u32| u32::from(set) << (bit + self.shift);
        let mut command = self.always
            | BUSY
            | flag(beat.opcode.is_some(), COMMAND_PHASE)
            | flag(beat.address, ADDRESS_PHASE)
            | flag(beat.data != Data::None, DATA_PHASE)
            | flag(matches!(beat.data, Data::Read(_)), READ)
            | flag(beat.more, KEEP_CHIP_SELECT)
            | u32::from(beat.four_byte) << self.four_byte
            | u32::from(beat.bank & 1) << self.chip_select
            | u32::from(beat.opcode.unwrap_or(0)) << 16;
        command = match self.size {
            SizeField::Log2 => with_bits(command, 10, 8, beat.data.bytes().max(1).ilog2()),
            SizeField::Bytes => with_bits(command, 12, 8, beat.data.bytes()),
            SizeField::Register(_) => command,
        };
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_beat() -> Beat {
        Beat {
            opcode: Some(0x03),
            address: true,
            data: Data::Read(16),
            more: true,
            ..Beat::default()
        }
    }

    fn layout(kind: GatewayLayout) -> Layout {
        Layout::new(kind, Window::Cr).unwrap()
    }

    #[test]
    fn a_read_in_the_old_layout() {
        // lock, busy, opcode 3, 2^4 bytes, keep, data, address, command, read
        assert_eq!(
            layout(GatewayLayout::Old).command(&first_beat()),
            0xc003_043d
        );
    }

    #[test]
    fn a_program_differs_from_a_read_in_opcode_and_direction() {
        let beat = Beat {
            opcode: Some(0x02),
            data: Data::Write(16),
            ..first_beat()
        };
        assert_eq!(layout(GatewayLayout::Old).command(&beat), 0xc002_043c);
        let write_enable = Beat {
            opcode: Some(0x06),
            ..Beat::default()
        };
        assert_eq!(
            layout(GatewayLayout::Old).command(&write_enable),
            0xc006_0004
        );
    }

    #[test]
    fn connectx_3_has_flash_enable_and_no_lock_bit() {
        assert_eq!(
            layout(GatewayLayout::ConnectX3).command(&first_beat()),
            0x4003_243d
        );
    }

    #[test]
    fn the_sixth_generation_counts_bytes_and_moves_the_address_flag() {
        let beat = Beat {
            opcode: Some(0x13),
            four_byte: true,
            bank: 1,
            ..first_beat()
        };
        assert_eq!(layout(GatewayLayout::Sixth).command(&beat), 0xc013_b03d);
    }

    #[test]
    fn the_seventh_generation_starts_at_bit_5_and_has_a_size_register() {
        let seventh = layout(GatewayLayout::Seventh);
        assert_eq!(seventh.command(&first_beat()), 0xc003_07a0);
        assert_eq!(seventh.size, SizeField::Register(0x8a_1044));
        let later = Beat {
            data: Data::Read(16),
            ..Beat::default()
        };
        assert_eq!(seventh.command(&later), 0xc000_0220);
    }

    #[test]
    fn only_the_seventh_generation_has_a_known_recovery_window() {
        let window = Layout::new(GatewayLayout::Seventh, Window::Recovery).unwrap();
        assert_eq!(
            (window.space, window.command, window.address, window.data),
            (Space::Recovery, 0x10, 0x4c, 0x20)
        );
        assert_eq!(Layout::new(GatewayLayout::Sixth, Window::Recovery), None);
    }
}
