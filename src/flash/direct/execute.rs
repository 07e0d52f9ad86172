//! Carrying out a plan: every change is read back before the next is made.

use crate::access::flash::{FlashOperation, pages};
use crate::access::{EraseUnit, FlashAccess};
use crate::bytes::{ByteSource, ReadError};
use crate::flash::cancel::Cancel;
use crate::flash::ending::Boots;
use crate::image::marker::{self, MARKER_SIZE};
use crate::image::{self, ImageError};
use crate::model::ImageFormat;
use crate::progress::{Event, Phase, Sink};

use super::boot::BootError;
use super::error::{BurnError, Fault};
use super::plan::{Action, Plan, Step};
use super::steady::Steady;

/// How often a wrong byte is read before it is believed.
const READS: usize = 3;
/// How often a page is programmed that lacks zeroes.
const PROGRAMS: usize = 2;
/// Bytes read at once to compare.
const PIECE: usize = 0x1000;

/// Tells the chip which image to boot.
pub type ChooseBoot<'a> = dyn Fn(u64) -> Result<(), BootError> + 'a;

/// Carries out `plan`. `cancel` is looked at before every change until the start pattern is
/// written; from then on the burn goes to its end.
///
/// Events: [`Event::Started`], then the phases erase, write, verify, activate.
///
/// # Errors
/// [`BurnError`].
pub fn execute(
    flash: &dyn FlashAccess,
    format: ImageFormat,
    plan: &Plan,
    choose_boot: &ChooseBoot<'_>,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<(), BurnError> {
    let mut run = Run {
        flash,
        format,
        plan,
        choose_boot,
        cancel,
        sink,
        step: Step::CheckImage,
        succeeded: Some(Step::OpenFlash),
        done: Progress::default(),
    };
    (run.sink)(Event::Started { bytes: plan.size });
    run.all().map_err(|fault| run.failed(fault))
}

/// Bytes done in the phase that goes on.
#[derive(Debug, Default)]
struct Progress {
    phase: Option<Phase>,
    done: u64,
    total: u64,
}

struct Run<'a, 's, 'c> {
    flash: &'a dyn FlashAccess,
    format: ImageFormat,
    plan: &'a Plan,
    choose_boot: &'a ChooseBoot<'c>,
    cancel: &'a Cancel,
    sink: &'a mut Sink<'s>,
    step: Step,
    succeeded: Option<Step>,
    done: Progress,
}

impl Run<'_, '_, '_> {
    fn all(&mut self) -> Result<(), Fault> {
        for (step, action) in &self.plan.actions {
            self.enter(*step);
            match action {
                Action::Zero { address, len } => self.program(*address, &vec![0; *len])?,
                Action::Erase { address, unit } => self.erase(*address, *unit)?,
                Action::Program { address, bytes } => self.program(*address, bytes)?,
                Action::Compare => self.compare()?,
                Action::BootFrom { start } => self.boot_from(*start),
            }
        }
        self.enter(Step::ReadBack);
        self.read_back()?;
        self.enter_phase(None);
        Ok(())
    }

    /// Notes a step's begin, and with it the end of the one before.
    fn enter(&mut self, step: Step) {
        if step == self.step {
            return;
        }
        self.succeeded = Some(self.step);
        self.step = step;
        self.enter_phase(phase(step));
    }

    fn enter_phase(&mut self, phase: Option<Phase>) {
        if phase == self.done.phase {
            return;
        }
        if let Some(phase) = self.done.phase {
            (self.sink)(Event::PhaseDone { phase });
        }
        let (erased, programmed) = self.plan.totals();
        self.done = Progress {
            phase,
            done: 0,
            total: match phase {
                Some(Phase::Erase) => erased,
                Some(Phase::Write | Phase::Verify) => programmed,
                _ => 0,
            },
        };
    }

    fn advance(&mut self, bytes: u64) {
        let Some(phase) = self.done.phase else {
            return;
        };
        self.done.done += bytes;
        (self.sink)(Event::Progress {
            phase,
            done: self.done.done,
            total: self.done.total,
        });
    }

    /// A point to stop at: nothing is half done, and no pattern of the new image stands.
    fn check_cancel(&self) -> Result<(), Fault> {
        if self.step < Step::Mark && self.cancel.requested() {
            return Err(Fault::Cancelled);
        }
        Ok(())
    }

    fn erase(&mut self, address: u64, unit: EraseUnit) -> Result<(), Fault> {
        self.check_cancel()?;
        self.flash.erase(address, unit)?;
        let piece = [0xff; PIECE];
        for at in (address..address + unit.size()).step_by(PIECE) {
            self.expect(FlashOperation::Erase, at, &piece)?;
        }
        self.advance(unit.size());
        Ok(())
    }

    fn program(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        for (at, page) in pages(address, bytes, self.flash.page_size()) {
            self.check_cancel()?;
            if page.iter().any(|&byte| byte != 0xff) {
                self.program_page(at, page)?;
            }
            self.advance(page.len() as u64);
        }
        Ok(())
    }

    /// One page. Zeroes that did not take are programmed once more; ones that are missing would
    /// need an erase.
    fn program_page(&mut self, address: u64, page: &[u8]) -> Result<(), Fault> {
        for _ in 1..PROGRAMS {
            self.flash.program(address, page)?;
            if self.matches(address, page)? {
                return Ok(());
            }
            (self.sink)(Event::Note {
                text: format!("the page at {address:#x} is programmed once more"),
            });
        }
        self.flash.program(address, page)?;
        self.expect(FlashOperation::Program, address, page)
    }

    /// Reads everything that was programmed before, as a whole.
    fn compare(&mut self) -> Result<(), Fault> {
        let plan = self.plan;
        for (_, action) in plan
            .actions
            .iter()
            .filter(|(step, _)| *step < Step::Compare)
        {
            let Action::Program { address, bytes } = action else {
                continue;
            };
            for (at, piece) in pages(*address, bytes, PIECE as u64) {
                self.check_cancel()?;
                self.expect(FlashOperation::Program, at, piece)?;
                self.advance(piece.len() as u64);
            }
        }
        Ok(())
    }

    fn matches(&self, address: u64, expected: &[u8]) -> Result<bool, Fault> {
        for _ in 0..READS {
            if *self.flash.read(address, expected.len() as u64)? == *expected {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Fails unless the flash reads as expected. A wrong byte is read again before it is believed,
    /// and not believed if another is wrong then.
    fn expect(
        &mut self,
        operation: FlashOperation,
        address: u64,
        expected: &[u8],
    ) -> Result<(), Fault> {
        let mut wrong = None;
        let mut steady = true;
        for read in 0..READS {
            let found = self.flash.read(address, expected.len() as u64)?;
            let differs = |(at, (found, expected)): (u64, (&u8, &u8))| {
                (found != expected).then_some((at, *expected, *found))
            };
            let before = wrong;
            wrong = (address..)
                .zip(found.iter().zip(expected))
                .find_map(differs);
            steady &= read == 0 || wrong == before;
            if wrong.is_none() {
                if read > 0 {
                    (self.sink)(Event::Note {
                        text: format!("the flash at {address:#x} read wrong and then right"),
                    });
                }
                return Ok(());
            }
        }
        wrong.map_or(Ok(()), |(address, expected, found)| {
            Err(if steady {
                Fault::Mismatch {
                    operation,
                    address,
                    expected,
                    found,
                }
            } else {
                Fault::Unsteady { address }
            })
        })
    }

    /// Failing is no fault: the image is in place and runs after a power cycle (burn 8.11).
    fn boot_from(&mut self, start: u64) {
        if let Err(error) = (self.choose_boot)(start) {
            (self.sink)(Event::Note {
                text: format!(
                    "the boot address could not be set ({error}); the new image runs after a cold boot"
                ),
            });
        }
    }

    /// What the flash boots now must be the new image.
    fn read_back(&self) -> Result<(), Fault> {
        let expected = self.plan.to;
        match image::query_flash(&Steady::new(self.flash), self.format) {
            Ok(info) if info.version == Some(expected) && info.start == self.plan.start => Ok(()),
            Ok(_) => Err(Fault::NotStored {
                expected,
                found: None,
            }),
            Err(ImageError::Read {
                source: failed @ ReadError::Failed { .. },
                ..
            }) => Err(failed.into()),
            Err(error) => Err(Fault::NotStored {
                expected,
                found: Some(error),
            }),
        }
    }

    /// The error of a run that stopped here, with what the card boots now.
    fn failed(&self, fault: Fault) -> BurnError {
        BurnError {
            fault,
            failed: self.step,
            succeeded: self.succeeded,
            boots: self.boots(),
            left_open: None,
        }
    }

    fn boots(&self) -> Boots {
        let old = match self.plan.kept {
            Some(_) => Boots::Old(self.plan.from),
            None => Boots::Nothing,
        };
        if self.step < Step::Mark {
            return old;
        }
        let new = Boots::New(self.plan.to);
        let is_marked = || {
            let flash = Steady::new(self.flash);
            let pattern = flash.read(self.plan.start, MARKER_SIZE);
            pattern.map(|bytes| *bytes == *marker::of(self.format))
        };
        match (self.step, self.plan.kept) {
            (Step::ReadBack, _) => Boots::Unknown,
            // both images are good: the lower one boots
            (_, kept) => match (is_marked(), kept) {
                (Err(_), _) => Boots::Unknown,
                (Ok(false), _) => old,
                (Ok(true), Some(kept)) if kept < self.plan.start && self.step < Step::Retire => old,
                (Ok(true), Some(kept)) if kept < self.plan.start => Boots::Unknown,
                (Ok(true), _) => new,
            },
        }
    }
}

/// What a step looks like from outside.
const fn phase(step: Step) -> Option<Phase> {
    match step {
        Step::Erase => Some(Phase::Erase),
        Step::WriteDeviceData | Step::Write => Some(Phase::Write),
        Step::Compare => Some(Phase::Verify),
        Step::Mark | Step::ChooseBoot | Step::Retire | Step::ReadBack => Some(Phase::Activate),
        Step::ReadCard | Step::OpenFlash | Step::CheckImage | Step::ClearPatterns => None,
    }
}
