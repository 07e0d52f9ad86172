//! `cxfw lab fault`: break a simulated chip, or mend it.

use clap::{Args, Subcommand, ValueEnum};

use super::CliError;
use crate::lab::chip::faults::{Accident, Fault, Lock, Moment, Part, Torn, Unit};
use crate::lab::{Lab, LabError};
use crate::registers::mcc::{ErrorCode, Instruction};

/// Arguments of `lab fault`.
#[derive(Debug, Args)]
pub struct FaultArgs {
    /// Card, by its name in the lab or its PCI address
    card: String,

    /// Disarm what has not struck yet, mend firmware and flash, free locks of dead owners; what
    /// has struck ends with `lab reset`
    #[arg(long)]
    clear: bool,

    /// What breaks
    #[command(subcommand)]
    kind: Option<Kind>,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Power is lost, until `lab reset`
    PowerLoss {
        #[command(flatten)]
        moment: MomentArgs,

        /// What it leaves of the flash operation it happens in
        #[arg(long, value_enum, default_value_t)]
        torn: TornArg,
    },
    /// The card falls off the bus, until `lab reset`
    Vanish {
        #[command(flatten)]
        moment: MomentArgs,
    },
    /// A part of the chip gets stuck, until `lab reset`
    Hang {
        /// Which
        #[arg(value_enum)]
        part: PartArg,

        #[command(flatten)]
        moment: MomentArgs,
    },
    /// A lock is held by an owner that is dead, until `lab reset`
    Hold {
        /// Which
        #[arg(value_enum)]
        lock: LockArg,
    },
    /// The firmware refuses an instruction of an update
    Refuse {
        /// Which
        #[arg(value_enum)]
        instruction: InstructionArg,

        /// Error code of MCC: 0x05, 40
        #[arg(value_parser = error_code)]
        code: u8,
    },
    /// Reads of the flash have wrong bits
    BitErrors {
        /// One read in so many
        #[arg(long, value_name = "N", default_value_t = 1)]
        every: u32,
    },
    /// The flash is write-protected
    WriteProtect,
}

/// When an accident happens.
#[derive(Debug, Args)]
struct MomentArgs {
    /// At the N-th from now
    #[arg(long, value_name = "N", default_value_t = 1)]
    at: u32,

    /// What is counted
    #[arg(long, value_enum, default_value_t, value_name = "UNIT")]
    of: UnitArg,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum UnitArg {
    /// Config reads and writes
    #[default]
    Cycle,
    /// Access registers
    Register,
    /// Flash operations: pages programmed and blocks erased
    Flash,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum TornArg {
    /// It did not begin
    #[default]
    Whole,
    /// The front half is done
    Front,
    /// The back half is done
    Back,
    /// Some bits are done; an erase leaves noise
    Garbled,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PartArg {
    /// Commands stay busy
    Firmware,
    /// The flag of the vendor-specific capability never changes
    Capability,
    /// Flash commands stay busy
    Gateway,
    /// Write in progress never ends
    Flash,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LockArg {
    /// Semaphore of the vendor-specific capability
    Capability,
    /// Semaphore of the command mailbox
    Icmd,
    /// Semaphore around programming flash
    Flash,
    /// Lock of the flash gateway
    Gateway,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum InstructionArg {
    /// Take the update handle
    Lock,
    /// Begin to update
    Update,
    /// Check what was sent
    Verify,
    /// Make it the one that boots next
    Activate,
    /// Give the update handle back
    Release,
    /// Give the update up
    Cancel,
    /// Hand the image out
    Read,
}

impl FaultArgs {
    /// Breaks or mends what is asked for; nothing when nothing is.
    pub(super) fn run(&self, lab: &Lab) -> Result<(), CliError> {
        let chip = lab.find_chip(&self.card)?;
        if self.clear {
            chip.clear_faults().map_err(LabError::from)?;
        }
        if let Some(kind) = &self.kind {
            chip.arm(kind.fault()).map_err(LabError::from)?;
        }
        Ok(())
    }
}

impl Kind {
    fn fault(&self) -> Fault {
        match self {
            Self::PowerLoss { moment, torn } => moment.of(Accident::PowerLoss((*torn).into())),
            Self::Vanish { moment } => moment.of(Accident::Vanish),
            Self::Hang { part, moment } => moment.of(Accident::Hang((*part).into())),
            Self::Hold { lock } => Fault::Held((*lock).into()),
            Self::Refuse { instruction, code } => Fault::Refusal {
                instruction: (*instruction).into(),
                code: ErrorCode::from_code(*code),
            },
            Self::BitErrors { every } => Fault::BitErrors { interval: *every },
            Self::WriteProtect => Fault::WriteProtected,
        }
    }
}

impl MomentArgs {
    const fn of(&self, accident: Accident) -> Fault {
        let unit = match self.of {
            UnitArg::Cycle => Unit::ConfigCycle,
            UnitArg::Register => Unit::Register,
            UnitArg::Flash => Unit::FlashOperation,
        };
        let moment = Moment {
            unit,
            number: self.at,
        };
        Fault::Accident { accident, moment }
    }
}

impl From<TornArg> for Torn {
    fn from(torn: TornArg) -> Self {
        match torn {
            TornArg::Whole => Self::Whole,
            TornArg::Front => Self::Front,
            TornArg::Back => Self::Back,
            TornArg::Garbled => Self::Garbled,
        }
    }
}

impl From<PartArg> for Part {
    fn from(part: PartArg) -> Self {
        match part {
            PartArg::Firmware => Self::Firmware,
            PartArg::Capability => Self::Capability,
            PartArg::Gateway => Self::Gateway,
            PartArg::Flash => Self::Flash,
        }
    }
}

impl From<LockArg> for Lock {
    fn from(lock: LockArg) -> Self {
        match lock {
            LockArg::Capability => Self::Capability,
            LockArg::Icmd => Self::Icmd,
            LockArg::Flash => Self::Flash,
            LockArg::Gateway => Self::Gateway,
        }
    }
}

impl From<InstructionArg> for Instruction {
    fn from(instruction: InstructionArg) -> Self {
        match instruction {
            InstructionArg::Lock => Self::LockUpdateHandle,
            InstructionArg::Update => Self::UpdateComponent,
            InstructionArg::Verify => Self::VerifyComponent,
            InstructionArg::Activate => Self::Activate,
            InstructionArg::Release => Self::ReleaseUpdateHandle,
            InstructionArg::Cancel => Self::Cancel,
            InstructionArg::Read => Self::ReadComponent,
        }
    }
}

/// A code in decimal, or in hexadecimal with `0x`.
fn error_code(text: &str) -> Result<u8, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16),
        None => text.parse(),
    }
}
