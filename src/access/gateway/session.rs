//! Changing the flash through the gateway (burn 8.4): one session, one lock.
//!
//! The gateway stays locked from the first write to the last (burn 8.2), so that nobody comes
//! between them; the way to it is offered to others after every operation and while the part
//! works. Dropping the session gives everything back.

use std::borrow::Cow;
use std::cell::{RefCell, RefMut};
use std::time::{Duration, Instant};

use super::lock::Locked;
use super::part::SST;
use super::transaction::Instruction;
use super::{Flash, GatewayError, Part};
use crate::access::error::AccessError;
use crate::access::flash::{
    EraseUnit, FlashAccess, FlashError, FlashOperation, Protection, StatusLayout, check_range,
    pages,
};
use crate::bytes::{ByteSource, ReadError};

/// Page program, 3-byte and 4-byte address.
const PROGRAM: [u8; 2] = [0x02, 0x12];
const ERASE_SUBSECTOR: [u8; 2] = [0x20, 0x21];
const ERASE_SECTOR: [u8; 2] = [0xd8, 0xdc];
const WRITE_ENABLE: u8 = 0x06;
const READ_STATUS: u8 = 0x05;
const READ_STATUS_2: u8 = 0x35;

/// Status register 1: the part works.
const WRITE_IN_PROGRESS: u8 = 1;

/// Bytes of a page.
const PAGE: u64 = 256;

/// The flash, locked for changing it.
pub struct WriteSession<'a> {
    flash: &'a Flash,
    locked: RefCell<Locked<'a>>,
}

impl Flash {
    /// Locks the flash for changing it.
    ///
    /// # Errors
    /// [`FlashError::UnknownPart`] for a part of no known family, [`FlashError::Gateway`] when
    /// somebody else uses the gateway.
    pub fn session(&self) -> Result<WriteSession<'_>, FlashError> {
        if self.part.name.is_none() {
            return Err(FlashError::UnknownPart {
                device: self.device(),
                jedec: self.part.jedec,
            });
        }
        let mut locked = Locked::take(&self.cr, &self.layout, self.model)?;
        locked.session.let_go()?;
        Ok(WriteSession {
            flash: self,
            locked: RefCell::new(locked),
        })
    }
}

impl<'a> WriteSession<'a> {
    /// Gives the gateway back. Dropping does the same, without saying whether it worked.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn finish(self) -> Result<(), AccessError> {
        self.locked.into_inner().finish()
    }

    /// Runs an operation on the gateway and then lets others have the way to it.
    fn with<T>(
        &self,
        operation: impl FnOnce(&mut Locked<'a>) -> Result<T, FlashError>,
    ) -> Result<T, FlashError> {
        let mut locked: RefMut<'_, Locked<'a>> = self.locked.borrow_mut();
        let outcome = operation(&mut locked);
        locked.session.let_go()?;
        outcome
    }

    /// Sends an instruction that changes the flash and waits until it is done.
    fn change(
        &self,
        locked: &mut Locked<'a>,
        instruction: &Instruction,
        data: &[u8],
        wait: &Wait,
    ) -> Result<(), FlashError> {
        let enable = Instruction {
            opcode: WRITE_ENABLE,
            bank: instruction.bank,
            ..Instruction::default()
        };
        locked.write(&self.flash.cr, &enable, &[])?;
        locked.write(&self.flash.cr, instruction, data)?;
        self.await_end(locked, instruction.bank, wait)
    }

    /// Looks at the part's status until it has finished.
    fn await_end(&self, locked: &mut Locked<'a>, bank: u8, wait: &Wait) -> Result<(), FlashError> {
        let start = Instant::now();
        locked.session.rest(wait.first)?;
        for poll in 0..wait.polls {
            if poll > 0 {
                locked.session.rest(wait.pause)?;
            }
            let status = self.register(locked, READ_STATUS, bank)?;
            if status & WRITE_IN_PROGRESS == 0 {
                return Ok(());
            }
            if start.elapsed() > wait.longest {
                break;
            }
        }
        Err(FlashError::Working {
            device: self.flash.device(),
            operation: wait.operation,
            address: wait.address,
            waited: start.elapsed(),
        })
    }

    /// A status register of the part.
    fn register(&self, locked: &mut Locked<'a>, opcode: u8, bank: u8) -> Result<u8, GatewayError> {
        let instruction = Instruction {
            opcode,
            bank,
            ..Instruction::default()
        };
        let mut answer = [0];
        locked.read(&self.flash.cr, &instruction, &mut answer)?;
        Ok(answer[0])
    }

    /// One program operation, inside a page.
    fn program_page(
        &self,
        locked: &mut Locked<'a>,
        address: u64,
        page: &[u8],
    ) -> Result<(), FlashError> {
        let instruction = self.flash.instruction(PROGRAM, address);
        let wait = Wait::program(self.flash, address, page.len());
        self.change(locked, &instruction, page, &wait)
    }

    /// Parts of SST program one byte at a time, and need nothing for ones.
    fn program_bytes(
        &self,
        locked: &mut Locked<'a>,
        address: u64,
        page: &[u8],
    ) -> Result<(), FlashError> {
        for (at, &byte) in (address..).zip(page).filter(|&(_, &byte)| byte != 0xff) {
            let instruction = self.flash.instruction(PROGRAM, at);
            let wait = Wait::program(self.flash, at, 1);
            self.change(locked, &instruction, &[byte], &wait)?;
        }
        Ok(())
    }

    fn programs_bytes(&self) -> bool {
        self.flash.part.vendor() == SST
    }
}

/// How an operation is awaited.
struct Wait {
    operation: FlashOperation,
    address: u64,
    first: Duration,
    pause: Duration,
    polls: u32,
    longest: Duration,
}

impl Wait {
    fn program(flash: &Flash, address: u64, bytes: usize) -> Self {
        let patience = flash.cr.patience();
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Self {
            operation: FlashOperation::Program,
            address,
            first: patience.program_first + patience.program_byte * bytes,
            pause: patience.program_pause,
            polls: patience.program_polls,
            longest: patience.flash_longest,
        }
    }

    fn erase(flash: &Flash, address: u64) -> Self {
        let patience = flash.cr.patience();
        Self {
            operation: FlashOperation::Erase,
            address,
            first: patience.erase_first,
            pause: patience.erase_pause,
            polls: patience.erase_polls,
            longest: patience.flash_longest,
        }
    }
}

impl ByteSource for WriteSession<'_> {
    fn size(&self) -> u64 {
        self.flash.size()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        let bytes = self.flash.read_in_pieces(offset, len, |at, piece| {
            let mut locked = self.locked.borrow_mut();
            let outcome = self.flash.read_beats(&mut locked, at, piece);
            locked.session.let_go()?;
            outcome
        })?;
        Ok(Cow::Owned(bytes))
    }
}

impl FlashAccess for WriteSession<'_> {
    fn part(&self) -> &Part {
        &self.flash.part
    }

    fn page_size(&self) -> u64 {
        PAGE
    }

    fn can_erase(&self, unit: EraseUnit) -> bool {
        unit.size() >= u64::from(self.flash.part.erase_size)
    }

    fn erase(&self, address: u64, unit: EraseUnit) -> Result<(), FlashError> {
        let size = unit.size();
        check_range(&self.flash.device(), address, size, self.size())?;
        if !self.can_erase(unit) || !address.is_multiple_of(size) {
            return Err(FlashError::NoUnit {
                device: self.flash.device(),
                address,
                size,
            });
        }
        let opcodes = match unit {
            EraseUnit::SubSector => ERASE_SUBSECTOR,
            EraseUnit::Sector => ERASE_SECTOR,
        };
        let instruction = self.flash.instruction(opcodes, address);
        let wait = Wait::erase(self.flash, address);
        self.with(|locked| self.change(locked, &instruction, &[], &wait))
    }

    fn program(&self, address: u64, bytes: &[u8]) -> Result<(), FlashError> {
        let len = bytes.len() as u64;
        check_range(&self.flash.device(), address, len, self.size())?;
        for (at, page) in pages(address, bytes, PAGE) {
            self.with(|locked| {
                if self.programs_bytes() {
                    self.program_bytes(locked, at, page)
                } else {
                    self.program_page(locked, at, page)
                }
            })?;
        }
        Ok(())
    }

    fn protection(&self) -> Result<Option<Protection>, FlashError> {
        let layout = StatusLayout::of(&self.flash.part);
        self.with(|locked| {
            let status = self.register(locked, READ_STATUS, 0)?;
            if layout.protects(status) {
                let end = match layout.end_register() {
                    READ_STATUS => status,
                    other => self.register(locked, other, 0)?,
                };
                return Ok(Some(layout.blocks(status, end)));
            }
            if !layout.complement {
                return Ok(None);
            }
            let second = self.register(locked, READ_STATUS_2, 0)?;
            Ok(layout.complement(second))
        })
    }
}

impl std::fmt::Debug for WriteSession<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteSession")
            .field("flash", self.flash)
            .finish_non_exhaustive()
    }
}
