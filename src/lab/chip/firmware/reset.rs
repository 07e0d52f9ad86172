//! What boots next and how to get there: MFAI, MFRL, MIRC (device-access 4.8).

use crate::image::marker;
use crate::registers::mfrl::{ResetState, TRIGGER_PCI_LINK, TRIGGER_WARM_REBOOT};
use crate::registers::mirc::Status;
use crate::registers::{Mfai, Mfrl, Mirc};

use super::super::cells::Cell;
use super::super::flash::SUBSECTOR;
use super::super::icmd::{Method, TlvStatus};
use super::{Firmware, reply};

/// Resets this firmware can do: the whole chip, when the PCIe link is taken down or PERST comes.
const TRIGGERS: u8 = TRIGGER_PCI_LINK | TRIGGER_WARM_REBOOT;
/// Reset types: bit 0, the whole chip.
const TYPES: u8 = 1;

impl Firmware<'_> {
    /// The address tools name is kept; the boot ROM still takes the lowest good image.
    pub(super) fn mfai(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        let cells = &self.cycle.cells;
        reply(image, |request: Mfai| {
            if method == Method::Write {
                if !request.use_address {
                    return Err(TlvStatus::BadParameter);
                }
                cells.set(Cell::BootAddress, request.address);
            }
            Ok(Mfai {
                address: cells.get(Cell::BootAddress),
                use_address: true,
                ..Mfai::default()
            })
        })
    }

    /// A reset is noted and waits for its trigger, which the simulated host gives by booting the
    /// chip.
    pub(super) fn mfrl(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        let cells = &self.cycle.cells;
        reply(image, |request: Mfrl| {
            if method == Method::Write {
                let trigger = request.reset_trigger;
                if trigger & !TRIGGERS != 0 || trigger == 0 || request.rst_type_sel != 0 {
                    return Err(TlvStatus::BadParameter);
                }
                cells.set(Cell::ResetTrigger, trigger.into());
            }
            let waiting = cells.get(Cell::ResetTrigger) & u32::from(TRIGGER_PCI_LINK) != 0;
            Ok(Mfrl {
                reset_trigger: TRIGGERS,
                reset_type: TYPES,
                reset_state: if waiting {
                    ResetState::WaitingForTrigger
                } else {
                    ResetState::Idle
                },
                ..Mfrl::default()
            })
        })
    }

    /// A write makes the running image the one that boots next, so that another update can follow
    /// a staged one.
    pub(super) fn mirc(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        let cells = &self.cycle.cells;
        reply(image, |_: Mirc| {
            if method == Method::Write {
                let status = if cells.get(Cell::UpdateStaged) == 0 {
                    Status::AlreadyActivated
                } else {
                    self.reactivate();
                    Status::Ok
                };
                cells.set(Cell::ReactivateStatus, status.code().into());
            }
            let code = u8::try_from(cells.get(Cell::ReactivateStatus)).unwrap_or(0);
            Ok(Mirc {
                status_code: Status::from_code(code),
            })
        })
    }

    /// Restores the marker of the running image, which ACTIVATE zeroed: its first sub-sector is
    /// erased and written again, marker last, and only then the candidate's marker is zeroed.
    fn reactivate(&self) {
        let cycle = self.cycle;
        let start = self.running.start;
        let sector = cycle.flash.read(start, SUBSECTOR);
        let marker = marker::of(cycle.model.format);
        cycle.erase_flash(start, SUBSECTOR);
        let rest = sector.get(marker.len()..).unwrap_or_default();
        cycle.program_flash(start + 0x10, rest);
        cycle.program_flash(start, marker);
        cycle.program_flash(cycle.cells.get(Cell::UpdateTarget), &[0; 4]);
        cycle.cells.set(Cell::UpdateStaged, 0);
    }
}
