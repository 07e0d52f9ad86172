//! Configuration space of a function: header, capabilities, and the doors to the chip's inside.
//!
//! 256 bytes are answered as the chips lay them out; beyond them there are no extended
//! capabilities (dwords read 0). One call is one config cycle: it counts, takes its configured
//! time and has the chip to itself.

use std::sync::Arc;

use crate::pci::{ConfigError, ConfigSpace, MELLANOX};

use super::cells::{Cell, FunctionCell};
use super::pace::Pace;
use super::spec::FunctionSpec;
use super::vsec::VsecRegister;
use super::{Chip, Cycle, Power};

/// Power management capability.
const PM: u8 = 0x40;
/// VPD capability.
const VPD: u8 = 0x48;
/// Gateway of chips without the vendor-specific capability: address, then data
/// (device-access 2.5).
const LEGACY: u16 = 0x58;
/// PCI Express capability.
const PCIE: u8 = 0x60;
/// MSI-X capability.
const MSIX: u8 = 0x9c;
/// Vendor-specific capability (device-access 2.1).
const VSEC: u8 = 0xc0;
/// Its last register.
const VSEC_END: u16 = VSEC as u16 + VsecRegister::Data as u16;

const COMMAND: u16 = 0x04;
/// Command register bits that can be set: memory, bus master, parity, SERR, INTx disable.
const COMMAND_WRITABLE: u32 = 0x0546;
/// What a kernel leaves there: memory decoding, bus master, INTx off.
const COMMAND_AT_BOOT: u32 = 0x0406;
/// Status: there is a capability list.
const STATUS: u32 = 0x0010_0000;

/// Class of a chip in flash recovery: a memory controller.
const RECOVERY_CLASS: u32 = 0x05_8000;

/// Dwords of configuration space that are answered.
const DWORDS: usize = 64;
/// End of configuration space.
const SPACE_END: u16 = 0x1000;

/// Fixed dwords of one function's configuration space in one state of the chip.
type Header = [u32; DWORDS];

/// The configuration space of one function of a chip.
pub struct Function {
    chip: Arc<Chip>,
    index: usize,
    running: Header,
    recovery: Header,
    pace: Pace,
}

impl Function {
    /// Function `index` of `chip`, which `spec` describes.
    pub(super) fn new(chip: Arc<Chip>, index: usize, spec: &FunctionSpec) -> Self {
        let running = functional_header(&chip, spec);
        let recovery = recovery_header(&chip);
        let pace = Pace::new(chip.spec.cycle_delay_ns);
        Self {
            chip,
            index,
            running,
            recovery,
            pace,
        }
    }

    fn begin(&self, operation: &'static str, offset: u16) -> Result<Cycle<'_>, ConfigError> {
        let fail = |reason: String| ConfigError::Transfer {
            device: self.device(),
            operation,
            offset,
            reason,
        };
        if !offset.is_multiple_of(4) || offset >= SPACE_END {
            return Err(fail("no dword of configuration space".to_owned()));
        }
        self.pace.cycle();
        let cycle = self.chip.cycle().map_err(|held| fail(held.to_string()))?;
        cycle.note_config_cycle();
        Ok(cycle)
    }

    /// The function's fixed dwords, or `None` when it does not answer: no power, or a secondary
    /// function in recovery.
    fn header(&self, cycle: &Cycle<'_>) -> Option<&Header> {
        match cycle.power() {
            Power::Off => None,
            Power::Running => Some(&self.running),
            Power::Recovery => (self.index == 0).then_some(&self.recovery),
        }
    }
}

impl ConfigSpace for Function {
    fn read(&self, offset: u16) -> Result<u32, ConfigError> {
        let cycle = self.begin("read", offset)?;
        cycle.cells.count(Cell::ConfigReads);
        let Some(header) = self.header(&cycle) else {
            return Ok(u32::MAX);
        };
        let fixed = header.get(usize::from(offset / 4)).copied().unwrap_or(0);
        Ok(cycle.config_read(self.index, offset, fixed))
    }

    fn write(&self, offset: u16, value: u32) -> Result<(), ConfigError> {
        let cycle = self.begin("write", offset)?;
        cycle.cells.count(Cell::ConfigWrites);
        if self.header(&cycle).is_some() {
            cycle.config_write(self.index, offset, value);
        }
        Ok(())
    }

    fn device(&self) -> String {
        self.chip.addresses[self.index].to_string()
    }
}

impl Cycle<'_> {
    /// Command registers as a kernel sets them when it finds the functions.
    pub(super) fn enable_functions(&self) {
        for index in 0..self.addresses.len() {
            self.cells
                .set_function(index, FunctionCell::Command, COMMAND_AT_BOOT);
        }
    }

    fn config_read(&self, function: usize, offset: u16, fixed: u32) -> u32 {
        match self.door(offset) {
            Door::Fixed => fixed,
            Door::Command => STATUS | self.cells.function(function, FunctionCell::Command),
            Door::Vsec(register) => self.vsec_read(function, register),
            Door::VpdAddress => {
                (self.cells.function(function, FunctionCell::VpdAddress) << 16) | fixed
            }
            Door::VpdData => self.cells.function(function, FunctionCell::VpdData),
            Door::LegacyAddress => self.cells.function(function, FunctionCell::LegacyAddress),
            Door::LegacyData => {
                self.cr_read(self.cells.function(function, FunctionCell::LegacyAddress))
            }
        }
    }

    fn config_write(&self, function: usize, offset: u16, value: u32) {
        let cells = &self.cells;
        match self.door(offset) {
            Door::Fixed => {}
            Door::Command => {
                let command = value & COMMAND_WRITABLE;
                cells.set_function(function, FunctionCell::Command, command);
            }
            Door::Vsec(register) => self.vsec_write(function, register, value),
            Door::VpdAddress => self.vpd_command(function, value >> 16),
            Door::VpdData => cells.set_function(function, FunctionCell::VpdData, value),
            Door::LegacyAddress => {
                cells.set_function(function, FunctionCell::LegacyAddress, value);
            }
            Door::LegacyData => {
                self.cr_write(cells.function(function, FunctionCell::LegacyAddress), value);
            }
        }
    }

    fn door(&self, offset: u16) -> Door {
        let legacy = self.cr.legacy_gateway;
        match offset {
            COMMAND => Door::Command,
            0xc4..=VSEC_END if !legacy => {
                VsecRegister::at(offset - u16::from(VSEC)).map_or(Door::Fixed, Door::Vsec)
            }
            0x48 if self.has_vpd() => Door::VpdAddress,
            0x4c if self.has_vpd() => Door::VpdData,
            LEGACY if legacy => Door::LegacyAddress,
            0x5c if legacy => Door::LegacyData,
            _ => Door::Fixed,
        }
    }

    /// The firmware serves VPD.
    fn has_vpd(&self) -> bool {
        self.power() == Power::Running && !self.vpd.is_empty()
    }

    /// VPD address word written (device-access 5.1): bit 15 = 0 reads, 1 would write; this VPD is
    /// read-only, so a write ends without effect.
    fn vpd_command(&self, function: usize, word: u32) {
        let write = word & 0x8000 != 0;
        let address = word & 0x7ffc;
        if !write {
            let data = crate::bytes::le32(&self.vpd, address as usize).unwrap_or(u32::MAX);
            self.cells
                .set_function(function, FunctionCell::VpdData, data);
        }
        let flag = if write { 0 } else { 0x8000 };
        self.cells
            .set_function(function, FunctionCell::VpdAddress, address | flag);
    }
}

/// What lies behind a dword of configuration space.
enum Door {
    Fixed,
    Command,
    Vsec(VsecRegister),
    VpdAddress,
    VpdData,
    LegacyAddress,
    LegacyData,
}

fn functional_header(chip: &Chip, spec: &FunctionSpec) -> Header {
    let subsystem = (spec.subsystem_vendor, spec.subsystem_device);
    let mut header = base_header(chip, spec.device, spec.class, subsystem);
    let multi_function = u32::from(chip.spec.functions.len() > 1);
    header[0x0c / 4] |= multi_function << 23;
    let mut capabilities = vec![PCIE];
    if !chip.vpd.is_empty() {
        capabilities.push(VPD);
    }
    capabilities.push(MSIX);
    add_capabilities(&mut header, chip, capabilities);
    header
}

fn recovery_header(chip: &Chip) -> Header {
    let device = chip.model.recovery_ids.first().copied().unwrap_or(0);
    let mut header = base_header(chip, device, RECOVERY_CLASS, (MELLANOX, device));
    add_capabilities(&mut header, chip, vec![PCIE]);
    header
}

fn base_header(chip: &Chip, device: u16, class: u32, subsystem: (u16, u16)) -> Header {
    let mut header = [0; DWORDS];
    header[0] = (u32::from(device) << 16) | u32::from(MELLANOX);
    header[0x08 / 4] = (class << 8) | u32::from(chip.spec.revision);
    // cache line of 64 bytes
    header[0x0c / 4] = 0x10;
    // BAR 0: 64 bit, prefetchable; nothing answers behind it
    header[0x10 / 4] = 0x9000_000c;
    header[0x2c / 4] = (u32::from(subsystem.1) << 16) | u32::from(subsystem.0);
    header[0x3c / 4] = 0x100;
    header
}

/// Links the capabilities in order; the vendor-specific one (where the chip has it) and power
/// management end the list.
fn add_capabilities(header: &mut Header, chip: &Chip, mut list: Vec<u8>) {
    if !chip.cr.legacy_gateway {
        list.push(VSEC);
    }
    list.push(PM);
    let mut previous = 0x34;
    for &capability in &list {
        if previous == 0x34 {
            header[0x34 / 4] = u32::from(capability);
        } else {
            header[previous / 4] |= u32::from(capability) << 8;
        }
        previous = usize::from(capability);
    }
    for capability in list {
        let at = usize::from(capability) / 4;
        match capability {
            PCIE => add_pcie(header, chip),
            VPD => header[at] |= 0x03,
            MSIX => {
                // 64 vectors, table and pending bits in BAR 0
                header[at] |= 0x003f_0011;
                header[at + 1] = 0x2000;
                header[at + 2] = 0x3000;
            }
            // functional type, 24 bytes; the other dwords are registers
            VSEC => header[at] |= 0x0018_0009,
            _ => header[at] |= 0x0003_0001,
        }
    }
}

/// PCI Express endpoint, version 2: what the link can do and does.
fn add_pcie(header: &mut Header, chip: &Chip) {
    let link = chip.spec.link;
    let at = usize::from(PCIE) / 4;
    header[at] |= 0x0002_0010;
    // payloads of 512 bytes, function level reset
    header[at + 1] = 0x1000_8002;
    header[at + 2] = 0x0000_5030;
    header[at + 3] = u32::from(link.max_generation & 0xf) | (u32::from(link.max_width & 0x3f) << 4);
    header[at + 4] =
        (u32::from(link.generation & 0xf) << 16) | (u32::from(link.width & 0x3f) << 20);
    let speeds = (1u32 << (link.max_generation & 7)) - 1;
    header[at + 11] = speeds << 1;
    header[at + 12] = u32::from(link.max_generation & 0xf);
}
