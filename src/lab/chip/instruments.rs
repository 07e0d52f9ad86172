//! What went by, and what a tool did that it must never do to a card.

use serde::Serialize;

use super::cells::Cell;
use super::firmware::{self, KnownRegister};
use super::{Chip, ChipError, Cycle};

/// A struct of counters, each kept in a cell.
macro_rules! counters {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident = $cell:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u32,)*
        }

        impl $name {
            const CELLS: &[Cell] = &[$(Cell::$cell),*];

            fn read(chip: &Chip) -> Self {
                Self { $($field: chip.cells.get(Cell::$cell),)* }
            }

            /// Those that are not zero, with their names.
            #[must_use]
            pub fn by_name(&self) -> Vec<(&'static str, u32)> {
                let all = [$((stringify!($field), self.$field)),*];
                all.into_iter().filter(|&(_, count)| count > 0).collect()
            }
        }
    };
}

counters! {
    /// What went by since the lab was made or the counters were reset; they wrap at 2^32.
    Counters {
        /// Config reads.
        config_reads = ConfigReads,
        /// Config writes.
        config_writes = ConfigWrites,
        /// Accesses to CR addresses nobody describes.
        unknown_cr_accesses = UnknownCr,
        /// ICMD commands.
        icmd_commands = IcmdCommands,
        /// Access registers.
        register_accesses = RegisterAccesses,
        /// Blocks erased, by firmware or through the gateway.
        flash_erases = FlashErases,
        /// Program operations.
        flash_programs = FlashPrograms,
        /// Commands of the flash gateway.
        gateway_commands = GatewayCommands,
        /// Times a process died inside a config cycle.
        lock_takeovers = LockTakeovers,
    }
}

counters! {
    /// Things a tool must never do (witness).
    Violations {
        /// Capability used while its semaphore was free.
        no_capability_semaphore = NoCapabilitySemaphore,
        /// Semaphore written with a ticket that was never handed out.
        ticket_never_issued = TicketNeverIssued,
        /// Gateway command without the gateway's lock.
        no_gateway_lock = NoGatewayLock,
        /// Gateway command while the running firmware fetches code through the cache.
        cache_replacement_on = CacheReplacementOn,
        /// ICMD command without its semaphore.
        no_icmd_semaphore = NoIcmdSemaphore,
        /// Program or erase without write enable.
        no_write_enable = NoWriteEnable,
        /// Programming bits that need an erase.
        needs_erase = NeedsErase,
        /// Programming past the end of a page.
        page_wrap = PageWrap,
        /// Erase of an address that is not the start of a block.
        unaligned_erase = UnalignedErase,
    }
}

impl Counters {
    /// Config reads and writes.
    #[must_use]
    pub fn config_cycles(&self) -> u64 {
        u64::from(self.config_reads) + u64::from(self.config_writes)
    }

    /// Pages programmed and blocks erased.
    #[must_use]
    pub const fn flash_operations(&self) -> u32 {
        self.flash_erases.wrapping_add(self.flash_programs)
    }
}

/// Accesses to one access register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterCount {
    /// Its id; `None` for all ids this firmware does not have, together.
    pub id: Option<u16>,
    /// Its name; `unknown` for those.
    pub name: &'static str,
    /// How many.
    pub count: u32,
}

impl Chip {
    /// What went by.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters::read(self)
    }

    /// What should not have gone by.
    #[must_use]
    pub fn violations(&self) -> Violations {
        Violations::read(self)
    }

    /// Accesses by register, those that were not used left out.
    #[must_use]
    pub fn register_counts(&self) -> Vec<RegisterCount> {
        let known = firmware::known_registers()
            .enumerate()
            .map(|(index, KnownRegister { id, name })| (Some(id), name, index));
        known
            .chain([(None, "unknown", firmware::UNKNOWN_REGISTER)])
            .map(|(id, name, index)| RegisterCount {
                id,
                name,
                count: self.cells.register_count(index),
            })
            .filter(|register| register.count > 0)
            .collect()
    }

    /// Sets all counters and violations to zero.
    ///
    /// # Errors
    /// [`ChipError::Held`].
    pub fn reset_counters(&self) -> Result<(), ChipError> {
        let cycle = self.cycle()?;
        for &cell in Counters::CELLS.iter().chain(Violations::CELLS) {
            cycle.cells.set(cell, 0);
        }
        for index in 0..=firmware::UNKNOWN_REGISTER {
            cycle.cells.set_register_count(index, 0);
        }
        Ok(())
    }
}

impl Cycle<'_> {
    /// Counts an access to the register `id`.
    pub(super) fn count_register(&self, id: u16) {
        self.cells.count(Cell::RegisterAccesses);
        let index = firmware::known_registers()
            .position(|register| register.id == id)
            .unwrap_or(firmware::UNKNOWN_REGISTER);
        let count = self.cells.register_count(index).wrapping_add(1);
        self.cells.set_register_count(index, count);
    }
}
