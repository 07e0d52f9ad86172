//! Raw flash through the firmware: MFPA, MFBA, MFBE, MFMC (device-access 4.9, burn 8.7). Secure
//! firmware keeps the flash to itself and answers status 8.

use crate::registers::{Mfba, Mfbe, Mfmc, Mfpa};

use super::super::cells::Cell;
use super::super::faults::Part;
use super::super::flash::{SECTOR, SUBSECTOR};
use super::super::icmd::{Method, TlvStatus};
use super::{Firmware, read_only, reply};

/// Most bytes one MFBA moves (burn 8.7).
const BLOCK: usize = 128;

/// log2 of [`SECTOR`] and [`SUBSECTOR`].
const SECTOR_LOG2: u8 = 16;
const SUBSECTOR_LOG2: u8 = 12;

impl Firmware<'_> {
    /// The one flash there is; a write sets the boot address.
    pub(super) fn mfpa(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        let cells = &self.cycle.cells;
        reply(image, |request: Mfpa| {
            one_flash(request.flash_select)?;
            if method == Method::Write {
                self.flash_is_open()?;
                cells.set(Cell::BootAddress, request.boot_address);
            }
            let [_, vendor, kind, capacity] = self.cycle.spec.jedec_id.to_be_bytes();
            Ok(Mfpa {
                four_byte_address: request.four_byte_address,
                boot_address: cells.get(Cell::BootAddress),
                flash_num: 1,
                bulk_64kb_erase_en: true,
                jedec_id: u32::from_be_bytes([0, capacity, kind, vendor]),
                sector_size: u16::from(SECTOR_LOG2),
                block_alignment: SUBSECTOR_LOG2,
                block_size: SECTOR_LOG2,
                ..Mfpa::default()
            })
        })
    }

    pub(super) fn mfba(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        self.flash_is_open()?;
        self.flash_answers()?;
        reply(image, |mut request: Mfba| {
            one_flash(request.flash_select)?;
            let length = u32::try_from(request.data.len()).unwrap_or(u32::MAX);
            let end = u64::from(request.address) + u64::from(length);
            let size = u64::from(self.cycle.spec.flash_size);
            if length == 0 || request.data.len() > BLOCK || end > size {
                return Err(TlvStatus::BadParameter);
            }
            if method == Method::Write {
                self.flash_is_writable()?;
                self.cycle.program_flash(request.address, &request.data);
            }
            request.data = self.cycle.read_part(request.address, length);
            Ok(request)
        })
    }

    pub(super) fn mfbe(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        self.flash_is_open()?;
        if method == Method::Read {
            return Err(TlvStatus::Method);
        }
        self.flash_answers()?;
        reply(image, |request: Mfbe| {
            one_flash(request.flash_select)?;
            let size = if request.bulk_64kb_erase {
                SECTOR
            } else {
                SUBSECTOR
            };
            let outside = request.address >= self.cycle.spec.flash_size;
            if outside || request.bulk_32kb_erase {
                return Err(TlvStatus::BadParameter);
            }
            if !request.address.is_multiple_of(size) {
                self.cycle.cells.count(Cell::UnalignedErase);
                return Err(TlvStatus::BadParameter);
            }
            self.flash_is_writable()?;
            self.cycle.erase_flash(request.address, size);
            Ok(request)
        })
    }

    /// All of the flash is write-protected, or nothing; no quad mode or dummy cycles. Nothing can
    /// be set.
    pub(super) fn mfmc(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        read_only(method)?;
        self.flash_is_open()?;
        reply(image, |request: Mfmc| {
            one_flash(request.flash_select)?;
            if !self.cycle.is_write_protected() {
                return Ok(Mfmc::default());
            }
            let sectors = self.cycle.spec.flash_size / SECTOR;
            Ok(Mfmc {
                wrp_en: true,
                wrp_block_count: u8::try_from(sectors.ilog2()).unwrap_or(0),
                block_size: 1,
                sector_protect_size: u8::try_from(sectors.min(0x3f)).unwrap_or(0),
                ..Mfmc::default()
            })
        })
    }

    /// Firmware that waits for its flash part answers so.
    fn flash_answers(&self) -> Result<(), TlvStatus> {
        if self.cycle.hangs(Part::Flash) {
            Err(TlvStatus::Busy)
        } else {
            Ok(())
        }
    }

    fn flash_is_writable(&self) -> Result<(), TlvStatus> {
        if self.cycle.is_write_protected() {
            Err(TlvStatus::BadParameter)
        } else {
            Ok(())
        }
    }

    fn flash_is_open(&self) -> Result<(), TlvStatus> {
        if self.cycle.spec.secure {
            Err(TlvStatus::NotAvailable)
        } else {
            Ok(())
        }
    }
}

fn one_flash(select: u8) -> Result<(), TlvStatus> {
    if select == 0 {
        Ok(())
    } else {
        Err(TlvStatus::BadParameter)
    }
}
