//! The volatile state of a chip, by name: one dword each in the shared map `chip.bin`.
//!
//! Everything but the lock word is read and written with the lock held (see [`super::Cycle`]).
//! A file of zeros is a chip without power.

use std::sync::atomic::{AtomicU32, Ordering};

use super::flash::PAGE;
use super::map::Map;

/// Layout of the file; another one belongs to another version of the program.
pub const FORMAT: u32 = 2;

/// Most functions a chip can have.
pub const FUNCTIONS: usize = 8;

/// Size of the ICMD mailbox in bytes (device-access 3.3).
pub const MAILBOX_BYTES: u32 = 0x340;

/// Size of the file in bytes.
pub const FILE_BYTES: u64 = 0x2000;

const FUNCTION_BASE: usize = 0x100;
const FUNCTION_STRIDE: usize = 0x10;
const MAILBOX_BASE: usize = 0x200;
const MAILBOX_CELLS: usize = (MAILBOX_BYTES / 4) as usize;
const SCRATCH_BASE: usize = 0x300;
/// Read-write registers of CR space that do nothing but keep their value.
pub const SCRATCH_CELLS: usize = 0x20;
const PAGE_BASE: usize = SCRATCH_BASE + SCRATCH_CELLS;
const PAGE_CELLS: usize = (PAGE / 4) as usize;
const REGISTER_BASE: usize = 0x380;
/// Access registers that are counted one by one.
pub const REGISTER_COUNTERS: usize = 0x40;

/// One dword of the chip's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// [`FORMAT`], 0 in a new file.
    Format,
    /// The lock word.
    Lock,
    /// A [`super::Power`] code.
    Power,
    /// Counts boots: tells a process that what it knows of the running firmware is old.
    Generation,
    /// Counts changes of the flash contents.
    FlashChanges,

    /// Config reads.
    ConfigReads,
    /// Config writes.
    ConfigWrites,
    /// Accesses to CR addresses the lab knows nothing of.
    UnknownCr,
    /// ICMD commands.
    IcmdCommands,
    /// Access registers answered.
    RegisterAccesses,
    /// Blocks erased, by firmware or through the gateway.
    FlashErases,
    /// Program operations.
    FlashPrograms,
    /// Commands given to the flash gateway.
    GatewayCommands,
    /// Lock word taken over from a dead process.
    LockTakeovers,

    /// Capability used while its semaphore was free.
    NoCapabilitySemaphore,
    /// Semaphore written with a ticket that was never handed out.
    TicketNeverIssued,
    /// Gateway command without its lock.
    NoGatewayLock,
    /// Gateway command while the firmware runs from flash through the cache.
    CacheReplacementOn,
    /// ICMD command without its semaphore.
    NoIcmdSemaphore,
    /// Program or erase without write enable.
    NoWriteEnable,
    /// Programming that would have needed an erase.
    NeedsErase,
    /// Programming past the end of a page.
    PageWrap,
    /// Erase of an address that is not the start of its block.
    UnalignedErase,

    /// What is broken: flags of [`super::faults`]. 0 = nothing, which every config cycle looks at.
    Faults,
    /// The accident that is armed, its code.
    FaultAccident,
    /// What is counted until it strikes, the unit's code.
    FaultUnit,
    /// How many are left; the accident strikes at the one that makes it 0.
    FaultCountdown,
    /// Instruction the firmware refuses.
    FaultInstruction,
    /// Error code it refuses it with.
    FaultErrorCode,
    /// One read in so many has a wrong bit.
    FaultReadInterval,
    /// Reads left until the next one.
    FaultReadsLeft,

    /// ICMD control dword, busy bit excluded.
    IcmdControl,
    /// Reads of the control dword for which the command still shows busy.
    IcmdBusy,
    /// ICMD semaphore (space 0xa, 0x0).
    IcmdSemaphore,
    /// Flash programming semaphore (space 0xa, 0x10).
    FlashSemaphore,

    /// ConnectX-3: main HCR semaphore (0xf03bc).
    HcrSemaphore,
    /// ConnectX-3: HCR flash semaphore (0xf03a0).
    HcrFlashSemaphore,
    /// ConnectX-3: status of the last tools-HCR command.
    HcrStatus,
    /// Address of the image to boot, as written to CR space, MFAI or MFPA.
    BootAddress,

    /// Gateway lock: bit 31 of the command register, or 0xf03fc on ConnectX-3.
    GatewayLock,
    /// Last command, lock and busy excluded.
    GatewayCommand,
    /// Address register.
    GatewayAddress,
    /// Data size register (seventh layout).
    GatewaySize,
    /// Data registers.
    GatewayData0,
    /// See [`Cell::GatewayData0`].
    GatewayData1,
    /// See [`Cell::GatewayData0`].
    GatewayData2,
    /// See [`Cell::GatewayData0`].
    GatewayData3,
    /// Cache replacement enable.
    CacheReplacement,
    /// GCM enable.
    GatewayGcm,
    /// SPI command in progress while chip select is held: its opcode, 0 = none.
    SpiOpcode,
    /// Flash address the next beat continues at.
    SpiAddress,
    /// Write enable latch.
    SpiWriteEnabled,
    /// Status reads for which the part still shows write in progress.
    SpiBusy,

    /// MCC state (burn 7.2).
    UpdateState,
    /// Handle that holds the update lock, 0 = none.
    UpdateHandle,
    /// Last handle handed out.
    UpdateLastHandle,
    /// Component index of the update.
    UpdateComponent,
    /// Size of the component being sent.
    UpdateSize,
    /// Error code of the last instruction.
    UpdateError,
    /// Polls left until INITIALIZE is over.
    UpdatePolls,
    /// Flash address of the slot being written.
    UpdateTarget,
    /// 1 = the component was verified.
    UpdateVerified,
    /// 1 = an image was activated and waits for a reset.
    UpdateStaged,
    /// Second (low dword) of the last command with the handle.
    UpdateLastCommand,

    /// MFRL: trigger written.
    ResetTrigger,
    /// MIRC status of the last reactivation.
    ReactivateStatus,
    /// Second (low dword) at which the firmware started.
    BootTime,
    /// [`Cell::FlashChanges`] at that moment.
    BootFlashChanges,

    /// Number of cells above.
    End,
}

/// One dword of a function's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionCell {
    /// Command register.
    Command,
    /// Capability control: selected space.
    Space,
    /// Capability control: syndrome code.
    Syndrome,
    /// Last ticket handed out.
    Counter,
    /// Owner's ticket, 0 = free.
    Semaphore,
    /// Address dword, with flag and syndrome bits.
    Address,
    /// Data dword.
    Data,
    /// VPD address and flag.
    VpdAddress,
    /// VPD data.
    VpdData,
    /// Address of the gateway at 0x58.
    LegacyAddress,
    /// Number of cells above.
    End,
}

/// Reads and writes cells.
#[derive(Debug)]
pub struct Cells {
    map: Map,
}

impl Cells {
    /// The cells of a map of [`FILE_BYTES`].
    pub fn new(map: Map) -> Self {
        Self { map }
    }

    /// The atomic itself: the lock word.
    pub fn atomic(&self, cell: Cell) -> &AtomicU32 {
        &self.map.cells()[cell as usize]
    }

    /// Value of a cell.
    #[inline]
    pub fn get(&self, cell: Cell) -> u32 {
        self.load(cell as usize)
    }

    /// Sets a cell.
    #[inline]
    pub fn set(&self, cell: Cell, value: u32) {
        self.store(cell as usize, value);
    }

    /// Adds one, wrapping.
    #[inline]
    pub fn count(&self, cell: Cell) {
        self.set(cell, self.get(cell).wrapping_add(1));
    }

    /// Subtracts one unless it is 0; whether it was above 0.
    #[inline]
    pub fn count_down(&self, cell: Cell) -> bool {
        let left = self.get(cell);
        if left > 0 {
            self.set(cell, left - 1);
        }
        left > 0
    }

    /// Value of a cell of function `index`, which is below [`FUNCTIONS`].
    #[inline]
    pub fn function(&self, index: usize, cell: FunctionCell) -> u32 {
        self.load(FUNCTION_BASE + index * FUNCTION_STRIDE + cell as usize)
    }

    /// Sets a cell of function `index`, which is below [`FUNCTIONS`].
    #[inline]
    pub fn set_function(&self, index: usize, cell: FunctionCell, value: u32) {
        self.store(
            FUNCTION_BASE + index * FUNCTION_STRIDE + cell as usize,
            value,
        );
    }

    /// Place of the mailbox dword at byte `offset`.
    fn mailbox_cell(offset: u32) -> Option<usize> {
        let index = usize::try_from(offset / 4).ok()?;
        (index < MAILBOX_CELLS).then_some(MAILBOX_BASE + index)
    }

    /// The mailbox dword at byte `offset`; 0 beyond the mailbox.
    #[inline]
    pub fn mailbox(&self, offset: u32) -> u32 {
        Self::mailbox_cell(offset).map_or(0, |cell| self.load(cell))
    }

    /// Sets the mailbox dword at byte `offset`; nothing beyond the mailbox.
    #[inline]
    pub fn set_mailbox(&self, offset: u32, value: u32) {
        if let Some(cell) = Self::mailbox_cell(offset) {
            self.store(cell, value);
        }
    }

    /// Value of scratch register `index`, which is below [`SCRATCH_CELLS`].
    pub fn scratch(&self, index: usize) -> u32 {
        self.load(SCRATCH_BASE + index)
    }

    /// Sets scratch register `index`, which is below [`SCRATCH_CELLS`].
    pub fn set_scratch(&self, index: usize, value: u32) {
        self.store(SCRATCH_BASE + index, value);
    }

    /// Fills the page buffer of the flash part with ones.
    pub fn blank_page(&self) {
        for index in 0..PAGE_CELLS {
            self.store(PAGE_BASE + index, u32::MAX);
        }
    }

    /// Puts a byte into the page buffer, at `offset` modulo the page.
    pub fn set_page_byte(&self, offset: u32, byte: u8) {
        let offset = (offset % PAGE) as usize;
        let cell = PAGE_BASE + offset / 4;
        let mut dword = self.load(cell).to_be_bytes();
        dword[offset % 4] = byte;
        self.store(cell, u32::from_be_bytes(dword));
    }

    /// The page buffer.
    pub fn page(&self) -> [u8; PAGE as usize] {
        let mut page = [0; PAGE as usize];
        for (index, bytes) in page.chunks_exact_mut(4).enumerate() {
            bytes.copy_from_slice(&self.load(PAGE_BASE + index).to_be_bytes());
        }
        page
    }

    /// How often register `index`, below [`REGISTER_COUNTERS`], was accessed.
    pub fn register_count(&self, index: usize) -> u32 {
        self.load(REGISTER_BASE + index)
    }

    /// Sets that number.
    pub fn set_register_count(&self, index: usize, value: u32) {
        self.store(REGISTER_BASE + index, value);
    }

    /// Clears what a power cycle clears: everything but the lock, the generations, the
    /// instruments and the faults.
    pub fn clear_volatile(&self) {
        let single = Cell::IcmdControl as usize..Cell::End as usize;
        let blocks = FUNCTION_BASE..PAGE_BASE + PAGE_CELLS;
        for cell in single.chain(blocks) {
            self.store(cell, 0);
        }
    }

    #[inline]
    fn load(&self, index: usize) -> u32 {
        self.map.cells()[index].load(Ordering::Relaxed)
    }

    #[inline]
    fn store(&self, index: usize, value: u32) {
        self.map.cells()[index].store(value, Ordering::Relaxed);
    }
}

const _: () = {
    assert!((Cell::End as usize) <= FUNCTION_BASE);
    assert!((FunctionCell::End as usize) <= FUNCTION_STRIDE);
    assert!(FUNCTION_BASE + FUNCTIONS * FUNCTION_STRIDE <= MAILBOX_BASE);
    assert!(MAILBOX_BASE + MAILBOX_CELLS <= SCRATCH_BASE);
    assert!(PAGE_BASE + PAGE_CELLS <= REGISTER_BASE);
    assert!(((REGISTER_BASE + REGISTER_COUNTERS) * 4) as u64 <= FILE_BYTES);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_cycle_keeps_the_instruments_and_clears_the_chip() {
        let dir = tempfile::tempdir().unwrap();
        let map = Map::open(&dir.path().join("chip.bin"), FILE_BYTES).unwrap();
        let cells = Cells::new(map);
        cells.count(Cell::ConfigReads);
        cells.set(Cell::UpdateState, 3);
        cells.set_function(7, FunctionCell::LegacyAddress, 9);
        cells.set_mailbox(MAILBOX_BYTES - 4, 9);
        cells.set_mailbox(MAILBOX_BYTES, 9);
        cells.set_scratch(SCRATCH_CELLS - 1, 9);
        cells.set_page_byte(PAGE - 1, 9);
        cells.set_register_count(REGISTER_COUNTERS - 1, 9);
        cells.set(Cell::Faults, 9);
        assert_eq!(cells.mailbox(MAILBOX_BYTES - 4), 9);
        assert_eq!(cells.page()[PAGE as usize - 1], 9);
        cells.clear_volatile();
        assert_eq!(cells.get(Cell::ConfigReads), 1);
        assert_eq!(cells.get(Cell::UpdateState), 0);
        assert_eq!(cells.function(7, FunctionCell::LegacyAddress), 0);
        assert_eq!(cells.mailbox(MAILBOX_BYTES - 4), 0);
        assert_eq!(cells.scratch(SCRATCH_CELLS - 1), 0);
        assert_eq!(cells.page(), [0; PAGE as usize]);
        assert_eq!(cells.register_count(REGISTER_COUNTERS - 1), 9);
        assert_eq!(cells.get(Cell::Faults), 9);
    }

    #[test]
    fn counting_down_stops_at_zero() {
        let dir = tempfile::tempdir().unwrap();
        let cells = Cells::new(Map::open(&dir.path().join("c"), FILE_BYTES).unwrap());
        cells.set(Cell::SpiBusy, 1);
        assert!(cells.count_down(Cell::SpiBusy));
        assert!(!cells.count_down(Cell::SpiBusy));
    }
}
