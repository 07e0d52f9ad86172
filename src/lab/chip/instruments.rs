//! What went by, and what a tool did that it must never do to a card.

use serde::Serialize;

use super::cells::Cell;
use super::{Chip, ChipError};

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

    /// Sets all counters and violations to zero.
    ///
    /// # Errors
    /// [`ChipError::Held`].
    pub fn reset_counters(&self) -> Result<(), ChipError> {
        let cycle = self.cycle()?;
        for &cell in Counters::CELLS.iter().chain(Violations::CELLS) {
            cycle.cells.set(cell, 0);
        }
        Ok(())
    }
}
