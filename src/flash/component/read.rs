//! The firmware image read back through the firmware (burn 7.8): the only copy that secure firmware
//! lets a tool make, where it lets one.
//!
//! LOCK, READ, pieces by MCDA, RELEASE. Nothing on the card changes; the handle keeps updates away
//! meanwhile and is given back on every way out.

use crate::access::{Device, RegisterAccess, read_register};
use crate::flash::broken_off::BurnFault;
use crate::flash::cancel::Cancel;
use crate::flash::lock::CardLock;
use crate::progress::{Event, Phase, Sink};
use crate::registers::Mcda;

use super::error::Fault;
use super::machine::Machine;
use super::pacing::Pacing;
use super::patient::Patient;
use super::session::Session;
use super::{closing, steps, target};

/// Largest image that is read, bytes: no flash of these cards has a larger slot.
const LARGEST: u32 = 1 << 26;

/// The image that runs, which the firmware hands out.
pub struct Readable<'d> {
    device: &'d Device,
    registers: &'d dyn RegisterAccess,
    told: Told,
}

/// What the firmware says of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    /// Position of the boot image in the component table.
    pub(super) index: u16,
    /// Bytes of the image.
    pub(super) size: u32,
    /// Bytes a transfer carries.
    pub(super) block: u32,
    /// Unit of transfer sizes.
    pub(super) word: u32,
}

impl Told {
    /// Asks for it; `None` when the image is not handed out.
    fn ask(registers: &dyn RegisterAccess) -> Result<Option<Self>, Fault> {
        let boot_image = target::boot_image(registers)?;
        let told = boot_image.capabilities(registers)?;
        let measure = steps::block_size(told.mcda_max_write_size, told.log_mcda_word_size);
        let size = told.component_size;
        let (true, Some((block, word)), 1..=LARGEST) = (told.rd_en, measure, size) else {
            return Ok(None);
        };
        Ok(Some(Self {
            index: boot_image.index,
            size,
            block,
            word,
        }))
    }
}

impl<'d> Readable<'d> {
    /// Asks the firmware; `None` where none runs, or it hands nothing out (MCQI `rd_en`).
    ///
    /// # Errors
    /// [`Fault::Register`] when the firmware does not answer.
    pub fn of(device: &'d Device) -> Result<Option<Self>, Fault> {
        let Some(registers) = device.registers() else {
            return Ok(None);
        };
        let told = match Told::ask(registers) {
            Err(Fault::NoFirmwareControl { .. }) => None,
            // it knows of no such thing
            Err(fault) if fault.is_refusal_by_firmware() => None,
            told => told?,
        };
        Ok(told.map(|told| Self {
            device,
            registers,
            told,
        }))
    }

    /// Bytes of the image.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.told.size
    }

    /// Reads the image, with or without its start pattern, as the firmware likes.
    ///
    /// Events: `phase`, in bytes.
    ///
    /// # Errors
    /// [`Fault`]: somebody else has the update handle, the firmware refuses, the user wants to stop.
    pub fn read(
        &self,
        lock: &CardLock,
        phase: Phase,
        (cancel, sink): (&Cancel, &mut Sink<'_>),
    ) -> Result<Vec<u8>, Fault> {
        let semaphore = self.device.flash_semaphore();
        let semaphore = semaphore.map_err(|error| Fault::Semaphore(error.into()))?;
        let pacing = Pacing::default();
        let patient = Patient::new(self.registers, &pacing, cancel);
        let machine = Machine {
            registers: &patient,
            pacing: &pacing,
            cancel,
        };
        let bytes = read(machine, lock, &self.told, (phase, sink));
        drop(semaphore);
        bytes
    }
}

/// Takes a handle, reads, and gives it back.
pub(super) fn read(
    machine: Machine<'_>,
    lock: &CardLock,
    told: &Told,
    (phase, sink): (Phase, &mut Sink<'_>),
) -> Result<Vec<u8>, Fault> {
    if let Some(dead) = closing::close_abandoned(machine, lock, told.index)? {
        sink(Event::Note {
            text: format!("closed the update that {dead} left open"),
        });
    }
    let mut session = Session::open(machine, lock, told.index)?;
    let read = read_in(&mut session, machine, told, (phase, sink));
    // a card without power forgets the handle
    if let Err(fault) = &read
        && let Err(error) = session.abort()
        && !fault.is_gone()
    {
        log::warn!(
            "update handle {:#08x} stays open: {error}",
            session.handle()
        );
    }
    read
}

fn read_in(
    session: &mut Session<'_>,
    machine: Machine<'_>,
    told: &Told,
    (phase, sink): (Phase, &mut Sink<'_>),
) -> Result<Vec<u8>, Fault> {
    session.lock()?;
    session.begin_reading()?;
    let bytes = fetch(machine, session.handle(), told, (phase, sink))?;
    session.release()?;
    Ok(bytes)
}

/// Reads piece after piece. The user is listened to between two.
fn fetch(
    machine: Machine<'_>,
    update_handle: u32,
    told: &Told,
    (phase, sink): (Phase, &mut Sink<'_>),
) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    for offset in (0..told.size).step_by(usize::try_from(told.block).unwrap_or(usize::MAX)) {
        if machine.cancel.requested() {
            return Err(Fault::Cancelled);
        }
        let wanted = told.block.min(told.size - offset);
        // whole words travel
        let travels = wanted.next_multiple_of(told.word);
        let request = Mcda {
            update_handle,
            offset,
            data: vec![0; usize::try_from(travels).unwrap_or(0)],
        };
        let piece = read_register(machine.registers, &request)?.data;
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let piece = piece.get(..wanted).ok_or(Fault::ShortPiece {
            offset,
            wanted,
            got: piece.len(),
        })?;
        bytes.extend_from_slice(piece);
        sink(Event::Progress {
            phase,
            done: u64::from(offset) + piece.len() as u64,
            total: u64::from(told.size),
        });
    }
    sink(Event::PhaseDone { phase });
    Ok(bytes)
}

impl std::fmt::Debug for Readable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readable")
            .field("device", &self.device.name())
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}
