//! Component data: MCDA (device-access 4.5).

use crate::registers::mcc::ControlState;
use crate::registers::{Mcda, Register};

use super::super::cells::Cell;
use super::super::icmd::{Method, TlvStatus};
use super::super::spec::ReadBack;
use super::components::{MCDA_LIMIT, MCDA_WORD_LOG2};
use super::{Firmware, reply};

/// Bytes of the marker an image begins with.
const MARKER: u32 = 0x10;

impl Firmware<'_> {
    pub(super) fn mcda(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        self.drop_silent_owner();
        match method {
            // nothing to tell: the image stays as it was sent
            Method::Write => {
                let request = Self::decode_mcda(image)?;
                self.piece(&request, ControlState::Download)?;
                self.receive(&request);
                Ok(())
            }
            Method::Read => reply(image, |mut request: Mcda| {
                self.piece(&request, ControlState::Upload)?;
                request.data = self.component_piece(&request);
                Ok(request)
            }),
        }
    }

    fn decode_mcda(image: &[u8]) -> Result<Mcda, TlvStatus> {
        Mcda::decode(image).map_err(|_| TlvStatus::TooShort)
    }

    /// Whether a piece is one of the owner's, in the right state, inside the component.
    fn piece(&self, request: &Mcda, state: ControlState) -> Result<(), TlvStatus> {
        let handle = request.update_handle;
        if handle == 0 || handle != self.get(Cell::UpdateHandle) {
            return Err(TlvStatus::BadParameter);
        }
        self.note_command();
        if self.state() != state {
            return Err(TlvStatus::NotAvailable);
        }
        let length = u32::try_from(request.data.len()).unwrap_or(u32::MAX);
        let whole_words = (request.offset | length).trailing_zeros() >= MCDA_WORD_LOG2.into();
        let end = u64::from(request.offset) + u64::from(length);
        let inside = end <= u64::from(self.get(Cell::UpdateSize));
        if length == 0 || length > MCDA_LIMIT.into() || !whole_words || !inside {
            return Err(TlvStatus::BadParameter);
        }
        Ok(())
    }

    /// Programs a piece at its place. The marker is the firmware's own business: whatever is sent
    /// for it stays blank until ACTIVATE.
    fn receive(&self, piece: &Mcda) {
        let target = self.get(Cell::UpdateTarget) + piece.offset;
        let skip = usize::try_from(MARKER.saturating_sub(piece.offset)).unwrap_or(0);
        let skip = skip.min(piece.data.len());
        if let (Some(bytes), Ok(skipped)) = (piece.data.get(skip..), u32::try_from(skip)) {
            self.cycle.program_flash(target + skipped, bytes);
        }
    }

    /// A piece of an image in the flash, with the marker as it would be sent, or as it is.
    fn component_piece(&self, piece: &Mcda) -> Vec<u8> {
        let start = self.get(Cell::UpdateTarget);
        let length = u32::try_from(piece.data.len()).unwrap_or(0);
        let mut bytes = self.cycle.flash.read(start + piece.offset, length);
        if self.hands_out() == ReadBack::Whole {
            return bytes;
        }
        let masked = usize::try_from(MARKER.saturating_sub(piece.offset)).unwrap_or(0);
        for byte in bytes.iter_mut().take(masked) {
            *byte = 0xff;
        }
        bytes
    }
}
