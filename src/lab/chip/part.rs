//! The flash part at work: one page programmed or one block erased is one flash operation, for the
//! firmware and for the gateway alike. It is counted, and is what a fault can break off.

use super::Cycle;
use super::cells::Cell;
use super::faults::Extent;
use super::flash::PAGE;

impl Cycle<'_> {
    /// Programs flash, page by page. Bytes of ones need nothing: a page of them is no operation.
    pub(super) fn program_flash(&self, address: u32, bytes: &[u8]) {
        let mut at = address;
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = usize::try_from(PAGE - at % PAGE).unwrap_or(0);
            let (piece, later) = rest.split_at(room.min(rest.len()));
            if piece.iter().any(|&byte| byte != 0xff) {
                self.program_page(at, piece);
            }
            rest = later;
            // a part ends long before 4 GiB
            at = at.saturating_add(u32::try_from(piece.len()).unwrap_or(PAGE));
        }
    }

    /// Programs those pages of `bytes` that the flash does not hold yet.
    pub(super) fn program_what_differs(&self, address: u32, bytes: &[u8]) {
        let page = PAGE as usize;
        for (piece, at) in bytes.chunks(page).zip((address..).step_by(page)) {
            let length = u32::try_from(piece.len()).unwrap_or(PAGE);
            if self.flash.read(at, length) != piece {
                self.program_flash(at, piece);
            }
        }
    }

    /// One program operation; `bytes` lie inside one page. Counts what would have needed an erase.
    fn program_page(&self, address: u32, bytes: &[u8]) {
        match self.note_flash_operation() {
            Extent::Nothing => return,
            Extent::Part(torn) => torn.program(&self.chip.flash, address, bytes),
            Extent::Whole => {
                if !self.flash.program(address, bytes) {
                    self.cells.count(Cell::NeedsErase);
                }
            }
        }
        self.cells.count(Cell::FlashPrograms);
        self.cells.count(Cell::FlashChanges);
    }

    /// Erases the block of `size` bytes (a power of two) around an address.
    pub(super) fn erase_flash(&self, address: u32, size: u32) {
        match self.note_flash_operation() {
            Extent::Nothing => return,
            Extent::Part(torn) => torn.erase(&self.chip.flash, address, size),
            Extent::Whole => {
                self.flash.erase(address, size);
            }
        }
        self.cells.count(Cell::FlashErases);
        self.cells.count(Cell::FlashChanges);
    }
}
