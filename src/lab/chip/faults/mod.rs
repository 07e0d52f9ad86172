//! Breaking a chip on purpose.
//!
//! A fault is kept in the chip's cells, so it holds for every process that has the chip open and
//! for every tool, whichever way it comes. While none is armed it costs one look at a cell per
//! config cycle.
//!
//! An [`Accident`] strikes once, at a [`Moment`], and lasts until the next power cycle
//! ([`Chip::boot`](super::Chip::boot)), as a held [`Lock`] does. The other faults are the
//! firmware's and the flash part's own: they outlast power cycles and end when they are cleared.
//!
//! [`strike`] is what happens, [`torn`] what a broken-off flash operation leaves behind, [`armed`]
//! how faults are armed, told and cleared.

mod armed;
mod strike;
mod torn;

pub use torn::Torn;

pub(super) use strike::Extent;

use std::fmt;

use crate::registers::mcc::{ErrorCode, Instruction};

/// Something broken about a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Strikes at its moment.
    Accident {
        /// What happens.
        accident: Accident,
        /// When.
        moment: Moment,
    },
    /// Struck, and lasts until the next power cycle. Cannot be armed.
    Struck(Accident),
    /// A lock is held by [`DEAD_OWNER`], who never gives it back.
    Held(Lock),
    /// The firmware refuses an instruction of the update state machine.
    Refusal {
        /// The instruction.
        instruction: Instruction,
        /// The error code it answers.
        code: ErrorCode,
    },
    /// One read in `interval` that a tool makes of the flash has one wrong bit.
    BitErrors {
        /// Reads; 1 = every one.
        interval: u32,
    },
    /// The flash part is write-protected by a pin: it stays as it is.
    WriteProtected,
}

/// Token and ticket of the owner that holds a [`Fault::Held`] lock. No process has it.
pub const DEAD_OWNER: u32 = 0x5ead_0001;

/// What strikes a chip once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accident {
    /// Power is gone; from then on all reads are ones. The flash operation it happens in is left
    /// as [`Torn`] says.
    PowerLoss(Torn),
    /// The chip falls off the bus: all reads are ones.
    Vanish,
    /// A part of the chip gets stuck.
    Hang(Part),
}

/// A part of a chip that can get stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The firmware: commands stay busy and are not carried out.
    Firmware,
    /// The vendor-specific capability: the flag never changes.
    Capability,
    /// The flash gateway: commands stay busy and are not carried out.
    Gateway,
    /// The flash part: write in progress for ever.
    Flash,
}

/// A lock of a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// The semaphore of the vendor-specific capability, on every function.
    Capability,
    /// The semaphore of the command mailbox.
    Icmd,
    /// The semaphore tools take around programming flash (ConnectX-3: 0xf03a0).
    Flash,
    /// The lock of the flash gateway (ConnectX-3: 0xf03fc).
    Gateway,
}

/// When an accident strikes: at the `number`-th of a thing, from 1, counted from arming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// What is counted.
    pub unit: Unit,
    /// Which one.
    pub number: u32,
}

impl Moment {
    /// At the next config cycle.
    pub const AT_ONCE: Self = Self {
        unit: Unit::ConfigCycle,
        number: 1,
    };
}

/// What goes by and can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A config read or write. Power is lost before it.
    ConfigCycle,
    /// An access register. Power is lost before it is answered.
    Register,
    /// A page programmed or a block erased, by firmware or through the gateway
    /// ([`Counters::flash_operations`](super::Counters::flash_operations)). Other accidents strike
    /// after it.
    FlashOperation,
}

impl Accident {
    const ALL: [Self; 9] = [
        Self::PowerLoss(Torn::Whole),
        Self::PowerLoss(Torn::Front),
        Self::PowerLoss(Torn::Back),
        Self::PowerLoss(Torn::Garbled),
        Self::Vanish,
        Self::Hang(Part::Firmware),
        Self::Hang(Part::Capability),
        Self::Hang(Part::Gateway),
        Self::Hang(Part::Flash),
    ];

    /// As kept in a cell: the position in [`Self::ALL`].
    fn code(self) -> u32 {
        (0..)
            .zip(Self::ALL)
            .find_map(|(code, accident)| (accident == self).then_some(code))
            .unwrap_or(0)
    }

    fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

impl Unit {
    const fn from_code(code: u32) -> Self {
        match code {
            1 => Self::Register,
            2 => Self::FlashOperation,
            _ => Self::ConfigCycle,
        }
    }
}

impl Lock {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Capability, Self::Icmd, Self::Flash, Self::Gateway];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accident { accident, moment } => write!(f, "{accident} at {moment}"),
            Self::Struck(Accident::PowerLoss(_)) => f.write_str("power was lost"),
            Self::Struck(Accident::Vanish) => f.write_str("vanished from the bus"),
            Self::Struck(Accident::Hang(part)) => write!(f, "{part} hangs"),
            Self::Held(lock) => write!(f, "{lock} held by a dead owner ({DEAD_OWNER:#x})"),
            Self::Refusal { instruction, code } => write!(
                f,
                "{instruction} refused with {:#04x} ({})",
                code.code(),
                code.name()
            ),
            Self::BitErrors { interval: 1 } => {
                f.write_str("a bit error in every read of the flash")
            }
            Self::BitErrors { interval } => {
                write!(f, "a bit error in one of {interval} reads of the flash")
            }
            Self::WriteProtected => f.write_str("flash write-protected"),
        }
    }
}

impl fmt::Display for Accident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerLoss(Torn::Whole) => f.write_str("power loss"),
            Self::PowerLoss(torn) => write!(f, "power loss ({torn})"),
            Self::Vanish => f.write_str("fall off the bus"),
            Self::Hang(part) => write!(f, "hang of the {part}"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Firmware => "firmware",
            Self::Capability => "vendor-specific capability",
            Self::Gateway => "flash gateway",
            Self::Flash => "flash part",
        })
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capability => "capability semaphore",
            Self::Icmd => "ICMD semaphore",
            Self::Flash => "flash semaphore",
            Self::Gateway => "gateway lock",
        })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::ConfigCycle => "config cycle",
            Unit::Register => "register access",
            Unit::FlashOperation => "flash operation",
        };
        write!(f, "{unit} {} from now", self.number)
    }
}
