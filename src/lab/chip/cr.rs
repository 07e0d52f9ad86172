//! CR space: ids, semaphores, boot address, flash gateway and the few registers tools look at
//! (device-access 3.1, burn 8). Addresses nobody describes read zero, take nothing and are counted.

use crate::model::{GatewayLayout, ImageFormat, Model};

use super::cells::{Cell, SCRATCH_CELLS};
use super::gateway::GatewayMap;
use super::{Cycle, Power};

const ID: u32 = 0xf_0014;
/// ConnectX-3 write flush: always done.
const FLUSH: u32 = 0xf_0380;
const HCR_SEMAPHORE: u32 = 0xf_03bc;
const HCR_FLASH_SEMAPHORE: u32 = 0xf_03a0;
/// ConnectX-3 gateway semaphore.
const GATEWAY_SEMAPHORE: u32 = 0xf_03fc;
/// ConnectX-3 tools HCR, last dword: opcode, go, status (device-access 3.6).
const HCR_COMMAND: u32 = 0x8_0798;
const HCR_GO: u32 = 1 << 23;
/// HCR status "bad opcode": this firmware has no tools commands.
const HCR_BAD_OPCODE: u32 = 0x02 << 24;
/// What a taken semaphore reads as.
const TAKEN: u32 = 1;

/// Registers that keep what is written to them: reload requests, ConnectX-3 boot ROM counter and
/// link-down resets, flash clock dividers, GPIO of ConnectX-3, of the flash hold line of
/// ConnectX-6, BlueField-2 and ConnectX-7, recovery indications (burn 8.2, 8.6, 8.10, 8.11).
#[rustfmt::skip]
const SCRATCH: &[u32] = &[
    0xf_0204, 0xf_0c28, 0x4_1270, 0xf_3834, 0xf_e804, 0xf_f804,
    0xf_0040, 0xf_0048, 0xf_004c, 0xf_0050,
    0xf_1004, 0xf_c028, 0xf_c024, 0xf_c04c, 0xf_c054, 0xf_c014,
    0xf_1084, 0xf_a028, 0xf_a024, 0xf_a04c, 0xf_a054, 0xf_a014,
    0xf_1078, 0xf_1100, 0xf_1104, 0xf_1108,
    0xf_813c, 0xf_c13c,
];
const _: () = assert!(SCRATCH.len() <= SCRATCH_CELLS);

/// Global image status, ConnectX-6 on (device-access 3.1): no complaint.
const IMAGE_STATUS: [u32; 2] = [0xe_3044, 0x5_5084];
/// ConnectX-3 link-down counter that recovery tools look at (burn 8.6).
const LINK_DOWN: u32 = 0x4_1270;

/// Core clocks per microsecond of chips with a flash clock divider.
const CORE_CLOCK: u32 = 0x7f4;
const CORE_CLOCK_VALUE: u32 = 400;

/// A field in a register: address, lowest bit.
type Field = (u32, u32);

/// Where one chip keeps the registers that move from chip to chip.
#[derive(Debug)]
pub struct CrMap {
    /// No vendor-specific capability; CR space is behind config 0x58.
    pub legacy_gateway: bool,
    /// Flash gateway.
    pub gateway: GatewayMap,
    boot_address: Field,
    life_cycle: Option<Field>,
    configuration_not_done: Option<Field>,
    /// Cache-replacement guard: offset, command (burn 8.8).
    guard: Option<(Field, Field)>,
}

impl CrMap {
    /// The registers of `model`.
    pub fn of(model: &Model) -> Self {
        let boot_shift = if model.boot_address == 0xf_0000 { 8 } else { 0 };
        Self {
            legacy_gateway: model.format == ImageFormat::Fs2,
            gateway: GatewayMap::of(model.gateway),
            boot_address: (model.boot_address, boot_shift),
            life_cycle: life_cycle(model),
            configuration_not_done: configuration_not_done(model),
            guard: guard(model),
        }
    }

    /// Firmware of this chip runs from flash through a cache that a gateway user must stop.
    pub const fn has_cache_replacement(&self) -> bool {
        self.guard.is_some() && self.gateway.cache_replacement.is_some()
    }
}

const fn life_cycle(model: &Model) -> Option<Field> {
    match model.hw_id {
        0x20f => Some((0xf_0060, 0)),
        0x212 | 0x214 | 0x216 => Some((0xf_0068, 0)),
        0x218 | 0x21c => Some((0xf_0000, 4)),
        0x21e | 0x220 | 0x224 => Some((0xf_0000, 16)),
        _ => None,
    }
}

const fn configuration_not_done(model: &Model) -> Option<Field> {
    match model.hw_id {
        0x1ff | 0x209 | 0x20b => Some((0xb_0004, 31)),
        0x20d | 0x211 => Some((0xb_5e04, 31)),
        0x20f | 0x212 | 0x214 | 0x216 | 0x218 | 0x21c => Some((0xb_5f04, 31)),
        0x21e | 0x224 => Some((0xa_0304, 31)),
        _ => None,
    }
}

const fn guard(model: &Model) -> Option<(Field, Field)> {
    match (model.gateway, model.hw_id) {
        (GatewayLayout::ConnectX3, _) => None,
        (GatewayLayout::Old, 0x1ff | 0x209 | 0x20b | 0x20d | 0x211 | 0x249) => {
            Some(((0xf_0408, 0), (0xf_040c, 16)))
        }
        (GatewayLayout::Old, _) => Some(((0xf_0444, 0), (0xf_0448, 16))),
        (GatewayLayout::Sixth, _) => Some(((0xf_0484, 0), (0xf_0488, 24))),
        (GatewayLayout::Seventh, _) => Some(((0x8a_1204, 0), (0x8a_1208, 24))),
    }
}

impl Cycle<'_> {
    /// Reads the dword at CR address `address`.
    pub(super) fn cr_read(&self, address: u32) -> u32 {
        let address = address & !3;
        if let Some(register) = self.cr.gateway.register(address) {
            return self.gateway_read(register);
        }
        if let Some(value) = self.fixed_register(address) {
            return value;
        }
        if let Some(index) = SCRATCH.iter().position(|&known| known == address) {
            return self.cells.scratch(index);
        }
        self.moving_register(address).unwrap_or_else(|| {
            self.cells.count(Cell::UnknownCr);
            0
        })
    }

    /// Writes the dword at CR address `address`.
    pub(super) fn cr_write(&self, address: u32, value: u32) {
        let address = address & !3;
        let cells = &self.cells;
        if let Some(register) = self.cr.gateway.register(address) {
            self.gateway_write(register, value);
        } else if let Some(index) = SCRATCH.iter().position(|&known| known == address) {
            cells.set_scratch(index, value);
        } else if let Some(semaphore) = self.hardware_semaphore(address) {
            if value == 0 {
                cells.set(semaphore, 0);
            }
        } else if address == HCR_COMMAND && self.cr.legacy_gateway {
            let status = if value & HCR_GO != 0 {
                HCR_BAD_OPCODE
            } else {
                0
            };
            cells.set(Cell::HcrStatus, (value & 0xf_ffff & !HCR_GO) | status);
        } else if address == self.cr.boot_address.0 {
            cells.set(Cell::BootAddress, value >> self.cr.boot_address.1);
        } else if self.fixed_register(address).is_none() && self.moving_register(address).is_none()
        {
            cells.count(Cell::UnknownCr);
        }
    }

    /// Registers at the same address on every chip that has them.
    fn fixed_register(&self, address: u32) -> Option<u32> {
        let legacy = self.cr.legacy_gateway;
        match address {
            ID => Some((u32::from(self.spec.revision) << 16) | u32::from(self.spec.hw_id)),
            FLUSH | LINK_DOWN if legacy => Some(0),
            _ if !legacy && IMAGE_STATUS.contains(&address) => Some(0),
            HCR_COMMAND if legacy => Some(self.cells.get(Cell::HcrStatus)),
            CORE_CLOCK if !legacy => Some(CORE_CLOCK_VALUE),
            _ => {
                let semaphore = self.hardware_semaphore(address)?;
                if self.cells.get(semaphore) != 0 {
                    return Some(TAKEN);
                }
                // reading a free one takes it
                self.cells.set(semaphore, TAKEN);
                Some(0)
            }
        }
    }

    /// Read-to-take semaphores of ConnectX-3.
    fn hardware_semaphore(&self, address: u32) -> Option<Cell> {
        match address {
            HCR_SEMAPHORE if self.cr.legacy_gateway => Some(Cell::HcrSemaphore),
            HCR_FLASH_SEMAPHORE if self.cr.legacy_gateway => Some(Cell::HcrFlashSemaphore),
            GATEWAY_SEMAPHORE if self.cr.gateway.lock_by_semaphore => Some(Cell::GatewayLock),
            _ => None,
        }
    }

    /// Registers whose place depends on the chip; several can share a dword.
    fn moving_register(&self, address: u32) -> Option<u32> {
        let running = self.power() == Power::Running;
        let secured = u32::from(self.spec.secure);
        let mut value = None;
        let mut put = |field: Option<Field>, bits: u32| {
            if let Some((at, shift)) = field
                && at == address
            {
                value = Some(value.unwrap_or(0) | (bits << shift));
            }
        };
        put(
            Some(self.cr.boot_address),
            self.cells.get(Cell::BootAddress),
        );
        put(self.cr.life_cycle, secured);
        put(self.cr.configuration_not_done, u32::from(!running));
        // the firmware fetches code from here with read commands
        let (offset, command) = if running { (0x1_0000, 0x03) } else { (0, 0) };
        put(self.cr.guard.map(|guard| guard.0), offset);
        put(self.cr.guard.map(|guard| guard.1), command);
        value
    }
}
