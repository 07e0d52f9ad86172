//! Carrying out a plan, step by step, keeping account of how far it got.

use crate::access::RegisterAccess;
use crate::card::BootImage;
use crate::flash::activation::{self, Activation};
use crate::flash::broken_off::BurnFault;
use crate::flash::cancel::Cancel;
use crate::flash::ending::Boots;
use crate::progress::{Event, Phase, Sink};
use crate::registers::Mcc;
use crate::registers::mcc::PROGRESS_NOT_AVAILABLE;

use super::error::{BurnError, Fault};
use super::machine::Machine;
use super::patient::Patient;
use super::preflight::Cleared;
use super::session::Session;
use super::steps::{Plan, Step};
use super::{BurnOptions, closing, transfer};

/// Burns what was cleared and says what activates it.
///
/// # Errors
/// [`BurnError`], after everything that was begun has been taken back.
pub(super) fn run(
    registers: &dyn RegisterAccess,
    cleared: &Cleared,
    options: &BurnOptions<'_>,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Activation, BurnError> {
    let patient = Patient::new(registers, &options.pacing, cancel);
    let machine = Machine {
        registers: &patient,
        pacing: &options.pacing,
        cancel,
    };
    let mut run = Run {
        machine,
        plan: &cleared.plan,
        options,
        step: Step::OpenHandle,
        succeeded: Some(Step::LookAtFlash),
        boots: Boots::Old(cleared.plan.stored),
        left_open: None,
    };
    sink(Event::Started {
        bytes: u64::from(cleared.plan.size),
    });
    run.all_steps(&cleared.component, sink)
        .map_err(|fault| run.failed(fault))
}

struct Run<'a> {
    machine: Machine<'a>,
    plan: &'a Plan,
    options: &'a BurnOptions<'a>,
    step: Step,
    succeeded: Option<Step>,
    boots: Boots,
    left_open: Option<String>,
}

impl<'a> Run<'a> {
    fn all_steps(&mut self, component: &[u8], sink: &mut Sink<'_>) -> Result<Activation, Fault> {
        let mut session = self.open(sink)?;
        if let Err(fault) = self.update(&mut session, component, sink) {
            // a card without power, or one that has to get it anew, forgets its update
            if let Err(error) = session.abort()
                && !fault.is_gone()
            {
                self.left_open = Some(format!(
                    "update handle {:#08x} could not be given back: {error}",
                    session.handle()
                ));
            }
            return Err(fault);
        }
        drop(session);
        self.enter(Step::ReadBack);
        let boot_image = self.read_back(sink)?;
        Ok(self.ask_activation(boot_image, sink))
    }

    /// A handle, after clearing away what a dead run of ours left.
    fn open(&self, sink: &mut Sink<'_>) -> Result<Session<'a>, Fault> {
        let (machine, index) = (self.machine, self.plan.component_index);
        if let Some(dead) = closing::close_abandoned(machine, self.options.lock, index)? {
            sink(Event::Note {
                text: format!("closed the update that {dead} left open"),
            });
        }
        Session::open(machine, self.options.lock, index)
    }

    fn update(
        &mut self,
        session: &mut Session<'_>,
        component: &[u8],
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        self.check_cancel()?;
        self.enter(Step::Lock);
        session.lock()?;
        if self.plan.reactivate {
            self.enter(Step::Reactivate);
            session.reactivate()?;
            self.boots = Boots::Old(self.plan.running);
        }
        self.check_cancel()?;
        self.enter(Step::Initialize);
        let mut polls = Polls::new(Phase::Initialize);
        session.begin(self.plan.size, |mcc| polls.seen(mcc, sink))?;
        sink(Event::PhaseDone {
            phase: Phase::Initialize,
        });
        self.enter(Step::Write);
        transfer::send(
            self.machine.registers,
            session.handle(),
            self.plan,
            component,
            self.machine.cancel,
            sink,
        )?;
        self.enter(Step::Verify);
        let mut polls = Polls::new(Phase::Verify);
        session.verify(|mcc| polls.seen(mcc, sink))?;
        sink(Event::PhaseDone {
            phase: Phase::Verify,
        });
        self.check_cancel()?;
        self.enter(Step::Activate);
        self.boots = Boots::Unknown;
        let mut polls = Polls::new(Phase::Activate);
        session.activate(|mcc| polls.seen(mcc, sink))?;
        self.boots = Boots::New(self.plan.to);
        sink(Event::PhaseDone {
            phase: Phase::Activate,
        });
        self.enter(Step::Release);
        session.release()
    }

    /// What makes the image run. The image is in place whether the card tells or not.
    fn ask_activation(&self, boot_image: BootImage, sink: &mut Sink<'_>) -> Activation {
        activation::what_activates(self.machine.registers, boot_image).unwrap_or_else(|error| {
            sink(Event::Note {
                text: format!("the card does not say what activates the image: {error}"),
            });
            Activation::Reboot
        })
    }

    /// Asks the card what it stores now.
    fn read_back(&mut self, sink: &mut Sink<'_>) -> Result<BootImage, Fault> {
        let registers = self.machine.registers;
        let boot_image = BootImage::find(registers)?.ok_or(Fault::NotStored {
            expected: self.plan.to,
            found: None,
        })?;
        let found = boot_image.stored(registers, self.plan.running)?.version;
        if found.is_none() && boot_image.is_staged() {
            sink(Event::Note {
                text: "the firmware has the image staged, but does not tell its version".to_owned(),
            });
            return Ok(boot_image);
        }
        if found == Some(self.plan.to) {
            return Ok(boot_image);
        }
        self.boots = Boots::Unknown;
        Err(Fault::NotStored {
            expected: self.plan.to,
            found,
        })
    }

    fn enter(&mut self, step: Step) {
        self.succeeded = Some(self.step);
        self.step = step;
    }

    fn check_cancel(&self) -> Result<(), Fault> {
        if self.machine.cancel.requested() {
            Err(Fault::Cancelled)
        } else {
            Ok(())
        }
    }

    /// The error of a run that stopped here. Where the fault came while the image was being
    /// activated, the card is asked what it boots now.
    fn failed(&self, fault: Fault) -> BurnError {
        let boots = match self.boots {
            Boots::Unknown => self.ask_what_boots(),
            known => known,
        };
        BurnError {
            fault,
            failed: self.step,
            succeeded: self.succeeded,
            boots,
            left_open: self.left_open.clone(),
        }
    }

    fn ask_what_boots(&self) -> Boots {
        let registers = self.machine.registers;
        let stored = BootImage::find(registers)
            .ok()
            .flatten()
            .and_then(|boot_image| boot_image.stored(registers, self.plan.running).ok())
            .and_then(|stored| stored.version);
        match stored {
            Some(version) if version == self.plan.to => Boots::New(version),
            Some(version) => Boots::Old(Some(version)),
            None => Boots::Unknown,
        }
    }
}

/// Progress of a phase the firmware counts in percent, or not at all.
struct Polls {
    phase: Phase,
    count: u64,
    done: u64,
}

impl Polls {
    const fn new(phase: Phase) -> Self {
        Self {
            phase,
            count: 0,
            done: 0,
        }
    }

    fn seen(&mut self, mcc: &Mcc, sink: &mut Sink<'_>) {
        self.count += 1;
        let counted = mcc.control_progress < PROGRESS_NOT_AVAILABLE;
        let (done, total) = if counted {
            (u64::from(mcc.control_progress), 100)
        } else {
            (self.count, 0)
        };
        self.done = self.done.max(done);
        sink(Event::Progress {
            phase: self.phase,
            done: self.done,
            total,
        });
    }
}
