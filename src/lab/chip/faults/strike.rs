//! Faults at work: what a chip does in place of what it should.

use crate::registers::mcc::{ErrorCode, Instruction};

use super::torn::noise;
use super::{Accident, Part, Torn, Unit};
use crate::lab::chip::cells::Cell;
use crate::lab::chip::{Cycle, Power};

/// Flags of [`Cell::Faults`].
pub(super) mod flag {
    use super::Part;

    /// An accident is armed.
    pub const ARMED: u32 = 1 << 0;
    /// Power was lost.
    pub const POWER_LOST: u32 = 1 << 1;
    /// The chip fell off the bus.
    pub const VANISHED: u32 = 1 << 2;
    /// The firmware refuses an instruction.
    pub const REFUSES: u32 = 1 << 8;
    /// Reads of the flash have bit errors.
    pub const BIT_ERRORS: u32 = 1 << 9;
    /// The flash is write-protected.
    pub const WRITE_PROTECTED: u32 = 1 << 10;

    /// Everything that a power cycle ends.
    pub const STRUCK: u32 = 0xfe;

    /// This part hangs.
    pub const fn hung(part: Part) -> u32 {
        match part {
            Part::Firmware => 1 << 3,
            Part::Capability => 1 << 4,
            Part::Gateway => 1 << 5,
            Part::Flash => 1 << 6,
        }
    }
}

/// How much of a flash operation takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// None: no power, or write-protected.
    Nothing,
    /// What power loss in the middle leaves.
    Part(Torn),
}

impl Cycle<'_> {
    fn faults(&self) -> u32 {
        self.cells.get(Cell::Faults)
    }

    /// A config cycle begins.
    #[inline]
    pub(in crate::lab::chip) fn note_config_cycle(&self) {
        if self.faults() != 0 {
            self.count_towards(Unit::ConfigCycle);
        }
    }

    /// An access register arrives. Whether the firmware is there to answer it.
    pub(in crate::lab::chip) fn note_register(&self) -> bool {
        if self.faults() != 0 {
            self.count_towards(Unit::Register);
        }
        self.power() == Power::Running && !self.hangs(Part::Firmware)
    }

    /// A flash operation begins. How much of it takes place.
    pub(in crate::lab::chip) fn note_flash_operation(&self) -> Extent {
        let faults = self.faults();
        if faults == 0 {
            return Extent::Whole;
        }
        if faults & (flag::POWER_LOST | flag::WRITE_PROTECTED) != 0 {
            return Extent::Nothing;
        }
        match self.count_towards(Unit::FlashOperation) {
            Some(Accident::PowerLoss(torn)) => Extent::Part(torn),
            _ => Extent::Whole,
        }
    }

    /// Counts one of a unit; the accident that strikes with it.
    #[cold]
    fn count_towards(&self, unit: Unit) -> Option<Accident> {
        let cells = &self.cells;
        let armed = self.faults() & flag::ARMED != 0;
        if !armed || cells.get(Cell::FaultUnit) != unit as u32 {
            return None;
        }
        cells.count_down(Cell::FaultCountdown);
        if cells.get(Cell::FaultCountdown) > 0 {
            return None;
        }
        let accident = Accident::from_code(cells.get(Cell::FaultAccident))?;
        self.strike(accident);
        Some(accident)
    }

    fn strike(&self, accident: Accident) {
        let struck = match accident {
            Accident::PowerLoss(_) => flag::POWER_LOST,
            Accident::Vanish => flag::VANISHED,
            Accident::Hang(part) => flag::hung(part),
        };
        let faults = self.faults() & !flag::ARMED;
        self.cells.set(Cell::Faults, faults | struck);
        if !matches!(accident, Accident::Hang(_)) {
            self.cells.set(Cell::Power, Power::Off as u32);
        }
    }

    /// What a power cycle ends is over.
    pub(in crate::lab::chip) fn end_accidents(&self) {
        self.cells.set(Cell::Faults, self.faults() & !flag::STRUCK);
    }

    /// Whether a part is stuck.
    pub(in crate::lab::chip) fn hangs(&self, part: Part) -> bool {
        self.faults() & flag::hung(part) != 0
    }

    /// Whether the flash part is write-protected.
    pub(in crate::lab::chip) fn is_write_protected(&self) -> bool {
        self.faults() & flag::WRITE_PROTECTED != 0
    }

    /// The error code the firmware refuses an instruction with.
    pub(in crate::lab::chip) fn refusal_of(&self, instruction: Instruction) -> Option<ErrorCode> {
        let code = |cell| u8::try_from(self.cells.get(cell)).unwrap_or(0);
        let refused = self.faults() & flag::REFUSES != 0
            && instruction.code() == code(Cell::FaultInstruction);
        refused.then(|| ErrorCode::from_code(code(Cell::FaultErrorCode)))
    }

    /// Reads the flash for a tool: with bit errors where they are armed.
    pub(in crate::lab::chip) fn read_part(&self, address: u32, len: u32) -> Vec<u8> {
        let mut bytes = self.flash.read(address, len);
        if self.faults() & flag::BIT_ERRORS != 0 {
            self.flip_a_bit(&mut bytes);
        }
        bytes
    }

    #[cold]
    fn flip_a_bit(&self, bytes: &mut [u8]) {
        let cells = &self.cells;
        cells.count_down(Cell::FaultReadsLeft);
        if cells.get(Cell::FaultReadsLeft) > 0 {
            return;
        }
        cells.set(Cell::FaultReadsLeft, cells.get(Cell::FaultReadInterval));
        let random = noise(cells.get(Cell::ConfigReads));
        let index = usize::from(random) % bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(index) {
            *byte ^= 1 << (random & 7);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::flag;
    use crate::lab::chip::faults::Part;

    #[test]
    fn every_accident_has_a_flag_of_its_own_among_those_a_power_cycle_ends() {
        let parts = [Part::Firmware, Part::Capability, Part::Gateway, Part::Flash];
        let flags: Vec<u32> = [flag::POWER_LOST, flag::VANISHED]
            .into_iter()
            .chain(parts.map(flag::hung))
            .collect();
        let all = flags.iter().fold(0, |all, flag| all | flag);
        assert_eq!(all.count_ones(), 6);
        assert_eq!(all & flag::STRUCK, all);
        let lasting = flag::ARMED | flag::REFUSES | flag::BIT_ERRORS | flag::WRITE_PROTECTED;
        assert_eq!(lasting & flag::STRUCK, 0);
    }
}
