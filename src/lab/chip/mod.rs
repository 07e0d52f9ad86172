//! Simulated ConnectX chips, answering below configuration space: the vendor-specific capability,
//! CR space, the ICMD mailbox, the flash gateway, the firmware behind them, boot.
//!
//! A chip is a folder: `flash.bin` (what the flash holds), `chip.bin` (its volatile state),
//! `boot.json` (what booted last). Every process that opens the folder uses the same chip; one
//! config cycle is one step, whoever makes it ([`Cycle`]). A process may die anywhere: what it
//! leaves is what a chip would keep.
//!
//! From outside in: [`config`] finds a register of configuration space, [`vsec`] the address
//! space behind it, [`cr`] and [`gateway`] or [`icmd`] the thing addressed, [`firmware`] answers
//! access registers, [`boot`] decides which firmware that is, [`faults`] breaks any of it. What
//! tools must never do to a card is done, and counted ([`Violations`]).

pub mod boot;
pub mod config;
pub mod faults;
pub mod spec;
pub mod vpd;

mod cells;
mod cr;
mod firmware;
mod flash;
mod gateway;
mod icmd;
mod instruments;
mod lock;
mod map;
mod pace;
mod part;
mod view;
mod vsec;

#[cfg(test)]
mod tests;

pub use boot::{Boot, Running};
pub use faults::Fault;
pub use instruments::{Counters, RegisterCount, Violations};
pub(in crate::lab) use lock::alive;
pub use map::MapError;
pub use spec::{BootRule, ChipSpec, FunctionSpec, LinkSpec, ReadBack};
pub use vpd::VpdSpec;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::model::{self, Model};
use crate::pci::{Address, ConfigSpace, NotAnAddress};

use boot::Remembered;
use cells::{Cell, Cells};
use config::Function;
use cr::CrMap;
use flash::Flash;
use map::Map;

/// Why a chip could not be opened or booted.
#[derive(Debug, thiserror::Error)]
pub enum ChipError {
    /// The spec names a chip nobody knows.
    #[error("hardware id {0:#x} is no chip cxfw knows")]
    UnknownChip(u16),
    /// The spec has no function, or too many.
    #[error("a chip has 1 to {} functions, not {count}", cells::FUNCTIONS)]
    Functions {
        /// How many the spec has.
        count: usize,
    },
    /// A function's address is no PCI address.
    #[error(transparent)]
    Address(#[from] NotAnAddress),
    /// The spec's flash cannot be.
    #[error("flash of {0:#x} bytes: a multiple of 64 KiB up to 256 MiB is possible")]
    FlashSize(u32),
    /// A state file could not be used.
    #[error(transparent)]
    State(#[from] MapError),
    /// The state was written by another version of the program.
    #[error("{} has format {found}, this program knows {expected}; make a new lab", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Format found.
        found: u32,
        /// Format known.
        expected: u32,
    },
    /// Another process keeps the chip.
    #[error(transparent)]
    Held(#[from] lock::Held),
    /// A read or write beyond the end of the flash.
    #[error("{len} bytes at {address:#x} do not fit a flash of {size:#x} bytes")]
    OutsideFlash {
        /// First byte.
        address: u32,
        /// Bytes.
        len: usize,
        /// Bytes of flash.
        size: u32,
    },
    /// A fault that this chip cannot have.
    #[error("cannot break that: {reason}")]
    CannotBreak {
        /// Why not.
        reason: String,
    },
    /// What booted could not be kept in `boot.json`.
    #[error("cannot {action} {}: {source}", path.display())]
    BootFile {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Whether and what a chip runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    /// Nothing answers: never booted, killed while booting, or an accident.
    Off = 0,
    /// Firmware runs.
    Running = 1,
    /// The boot ROM found no good image: flash recovery.
    Recovery = 2,
}

impl Power {
    const fn from_code(code: u32) -> Self {
        match code {
            1 => Self::Running,
            2 => Self::Recovery,
            _ => Self::Off,
        }
    }
}

/// A chip of a lab, shared with every process that has it open.
#[derive(Debug)]
pub struct Chip {
    spec: ChipSpec,
    model: &'static Model,
    dir: PathBuf,
    addresses: Vec<Address>,
    cr: CrMap,
    vpd: Vec<u8>,
    cells: Cells,
    flash: Flash,
    process: u32,
    remembered: Mutex<Remembered>,
}

impl Chip {
    /// Opens the chip whose state is in `dir`; new state is a chip without power and with an
    /// erased flash.
    ///
    /// # Errors
    /// [`ChipError`]: the spec describes no possible chip, or the state files cannot be used.
    pub fn open(dir: &Path, spec: &ChipSpec) -> Result<Arc<Self>, ChipError> {
        let model = model::by_hw_id(spec.hw_id).ok_or(ChipError::UnknownChip(spec.hw_id))?;
        let count = spec.functions.len();
        if count == 0 || count > cells::FUNCTIONS {
            return Err(ChipError::Functions { count });
        }
        let size = spec.flash_size;
        if size == 0 || !size.is_multiple_of(flash::SECTOR) || size > 1 << 28 {
            return Err(ChipError::FlashSize(size));
        }
        let addresses: Result<Vec<Address>, _> = spec
            .functions
            .iter()
            .map(|function| function.address.parse())
            .collect();
        let flash_map = Map::open(&dir.join("flash.bin"), u64::from(size))?;
        let cells_map = Map::open(&dir.join("chip.bin"), cells::FILE_BYTES)?;
        let chip = Arc::new(Self {
            spec: spec.clone(),
            model,
            dir: dir.to_owned(),
            addresses: addresses?,
            cr: CrMap::of(model),
            vpd: spec.vpd.encode(),
            cells: Cells::new(cells_map),
            flash: Flash::new(flash_map, size),
            process: std::process::id(),
            remembered: Mutex::default(),
        });
        chip.check_format()?;
        Ok(chip)
    }

    fn check_format(&self) -> Result<(), ChipError> {
        let cycle = self.cycle()?;
        let found = cycle.cells.get(Cell::Format);
        if found == 0 {
            cycle.cells.set(Cell::Format, cells::FORMAT);
        } else if found != cells::FORMAT {
            return Err(ChipError::Format {
                path: self.dir.join("chip.bin"),
                found,
                expected: cells::FORMAT,
            });
        }
        Ok(())
    }

    /// The chip to itself, for one step.
    fn cycle(&self) -> Result<Cycle<'_>, lock::Held> {
        let taken_over = lock::acquire(self.cells.atomic(Cell::Lock), self.process)?;
        let cycle = Cycle { chip: self };
        if taken_over {
            cycle.cells.count(Cell::LockTakeovers);
        }
        Ok(cycle)
    }

    /// What it is.
    #[must_use]
    pub const fn spec(&self) -> &ChipSpec {
        &self.spec
    }

    /// Configuration space of function `index`, in the order of the spec; `None` beyond them. In
    /// recovery only function 0 answers.
    #[must_use]
    pub fn function(self: &Arc<Self>, index: usize) -> Option<Arc<dyn ConfigSpace>> {
        let spec = self.spec.functions.get(index)?;
        Some(Arc::new(Function::new(Arc::clone(self), index, spec)))
    }

    /// Reads the flash itself, past every lock: what a programmer clipped to the part sees.
    ///
    /// # Errors
    /// [`ChipError::OutsideFlash`], [`ChipError::Held`].
    pub fn read_flash(&self, address: u32, len: u32) -> Result<Vec<u8>, ChipError> {
        self.check_range(address, usize::try_from(len).unwrap_or(usize::MAX))?;
        let cycle = self.cycle()?;
        Ok(cycle.flash.read(address, len))
    }

    /// Writes the flash itself, erasing first what needs it: how a factory fills a part. Bytes
    /// around `bytes` are kept.
    ///
    /// # Errors
    /// [`ChipError::OutsideFlash`], [`ChipError::Held`].
    pub fn write_flash(&self, address: u32, bytes: &[u8]) -> Result<(), ChipError> {
        self.check_range(address, bytes.len())?;
        let cycle = self.cycle()?;
        cycle.flash.overwrite(address, bytes);
        cycle.cells.count(Cell::FlashChanges);
        Ok(())
    }

    fn check_range(&self, address: u32, len: usize) -> Result<(), ChipError> {
        let size = self.flash.size();
        let end = u64::from(address).saturating_add(len as u64);
        if end > u64::from(size) {
            return Err(ChipError::OutsideFlash { address, len, size });
        }
        Ok(())
    }
}

/// Seconds of the wall clock, low 32 bits: comparable between the processes of a lab.
fn seconds() -> u32 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // wraps in 2106; differences are taken modulo 2^32
    since.map_or(0, |time| (time.as_secs() & u64::from(u32::MAX)) as u32)
}

/// Exclusive use of a chip: one step nobody can come between. All that a chip does is a method
/// of this.
struct Cycle<'a> {
    chip: &'a Chip,
}

impl Cycle<'_> {
    fn power(&self) -> Power {
        Power::from_code(self.cells.get(Cell::Power))
    }
}

impl std::ops::Deref for Cycle<'_> {
    type Target = Chip;

    fn deref(&self) -> &Chip {
        self.chip
    }
}

impl Drop for Cycle<'_> {
    fn drop(&mut self) {
        lock::release(self.chip.cells.atomic(Cell::Lock));
    }
}
