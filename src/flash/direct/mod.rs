//! The direct burn: cxfw itself writes the flash, for cards whose firmware takes no image and for
//! cards in recovery (burn 8, images-fs2 9, images-fs3 9, images-fs4 11).
//!
//! First the flash is looked at (`found`): which image boots and must go on booting, and what
//! belongs to the card. The new image is fitted with that (`device_data`), verified where it will
//! lie, and every change of the flash is planned ([`Plan`]), in an order that leaves a bootable
//! image after each of them, whole or torn. Then the plan is carried out ([`execute()`]), each change
//! read back before the next. A burn that was broken off anywhere is understood by the next one, which
//! finishes it or starts over.
//!
//! One burn holds, from the outside in: the card's lock file ([`CardLock`]), the card's
//! flash-programming semaphore where it has one, the gateway's lock where that is the way. All three
//! are given back on every way out.

mod boot;
mod device_area;
mod device_data;
mod erase;
mod error;
mod execute;
mod facts;
mod fitness;
mod found;
mod fs2;
mod fs3;
mod fs4;
mod identity;
mod in_use;
mod leftover;
mod overlay;
mod owner;
mod place;
mod plan;
mod prepare;
mod refusal;
mod restore;
mod steady;
mod toc;
mod way;

pub use boot::BootError;
pub use error::{BurnError, Fault};
pub use execute::{ChooseBoot, execute};
pub use facts::CardFacts;
pub use identity::RecoveryIdentity;
pub use owner::Owner;
pub use plan::{Action, Plan, Step};
pub use prepare::{Choices, PsidChange, prepare};
pub use refusal::Refusal;
pub use restore::{OtherCard, RestorePlan, prepare_restore};
pub use way::{Route, Through};

use std::time::Instant;

use crate::access::{AccessError, Device, FlashAccess, FlashSemaphore, read_register};
use crate::bytes::ByteSource;
use crate::flash::activation::Activation;
use crate::flash::cancel::Cancel;
use crate::flash::ending::{Boots, Burned};
use crate::flash::lock::CardLock;
use crate::flash::unbooted::{self, Running};
use crate::progress::Sink;
use crate::registers::Mfrl;
use crate::registers::mfrl::TRIGGER_PCI_LINK;

pub(super) use in_use::in_use;

use steady::Steady;
use way::Opened;

/// How a burn is done. Needs the card's lock, so that none is done without.
#[derive(Debug, Clone, Copy)]
pub struct BurnOptions<'a> {
    /// The card's lock, held by the caller.
    pub lock: &'a CardLock,
    /// The way to the flash.
    pub through: Through,
    /// What the user decided.
    pub choices: Choices,
}

impl<'a> BurnOptions<'a> {
    /// The careful way, under this lock.
    #[must_use]
    pub fn under(lock: &'a CardLock) -> Self {
        Self {
            lock,
            through: Through::default(),
            choices: Choices::default(),
        }
    }
}

/// Verifies `image` against the card and plans its burn; nothing is written.
///
/// # Errors
/// [`BurnError`]: the card could not be read, or image and card do not go together.
pub fn plan(device: &Device, image: &[u8], options: &BurnOptions<'_>) -> Result<Plan, BurnError> {
    on_flash(device, options, |card, flash, route| {
        steadily((flash, route), |flash| {
            prepare(flash, card, image, &options.choices)
        })
        .map_err(|fault| unprepared(card, fault))
    })
}

/// Burns `image`.
///
/// # Errors
/// [`BurnError`], which tells what the card boots now.
pub fn burn(
    device: &Device,
    image: &[u8],
    options: &BurnOptions<'_>,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Burned, BurnError> {
    burn_planned(device, options, (cancel, sink), |card, flash| {
        prepare(flash, card, image, &options.choices)
    })
}

/// Puts the firmware of a backup back: the image that booted goes to the free slot, as any other
/// does. Device data is written from it only where the card has none that can be read.
///
/// # Errors
/// [`BurnError`]: as [`burn`], and [`Refusal::OtherCard`] and [`Refusal::NoBackup`].
pub fn restore(
    device: &Device,
    (backup, other): (&[u8], OtherCard),
    options: &BurnOptions<'_>,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Burned, BurnError> {
    burn_planned(device, options, (cancel, sink), |card, flash| {
        Ok(prepare_restore(flash, card, (backup, other), &options.choices)?.plan)
    })
}

/// Verifies a backup against the card and plans how it is put back; nothing is written.
///
/// # Errors
/// As [`restore`].
pub fn plan_restore(
    device: &Device,
    (backup, other): (&[u8], OtherCard),
    options: &BurnOptions<'_>,
) -> Result<RestorePlan, BurnError> {
    on_flash(device, options, |card, flash, route| {
        let steady = Steady::new(flash);
        let mut planned =
            prepare_restore((&steady, route), card, (backup, other), &options.choices)
                .map_err(|fault| unprepared(card, fault))?;
        planned.plan.notes.extend(steady.note());
        Ok(planned)
    })
}

fn burn_planned(
    device: &Device,
    options: &BurnOptions<'_>,
    (cancel, sink): (&Cancel, &mut Sink<'_>),
    prepare: impl FnOnce(&CardFacts, (&dyn FlashAccess, Route)) -> Result<Plan, Fault>,
) -> Result<Burned, BurnError> {
    let started = Instant::now();
    let plan = on_flash(device, options, |card, flash, route| {
        let plan = steadily((flash, route), |flash| prepare(card, flash))
            .map_err(|fault| unprepared(card, fault))?;
        let earlier = note_unbooted((device, card), options.lock, &plan)
            .map_err(|fault| unprepared(card, fault))?;
        let result = carry_out(device, (card, flash), &plan, cancel, sink);
        // the old image boots and is what runs: firmware and flash agree as before
        if let Err(error) = &result
            && matches!(error.boots, Boots::Old(_))
            && earlier == Some(false)
        {
            unbooted::forget(options.lock).map_err(|error| unprepared(card, error.into()))?;
        }
        result.map(|()| plan)
    })?;
    Ok(Burned {
        from: plan.from,
        to: plan.to,
        activation: activation(device, plan.route),
        elapsed: started.elapsed(),
    })
}

/// Plans by what reads twice the same.
fn steadily(
    (flash, route): (&dyn FlashAccess, Route),
    prepare: impl FnOnce((&dyn FlashAccess, Route)) -> Result<Plan, Fault>,
) -> Result<Plan, Fault> {
    let steady = Steady::new(flash);
    let mut plan = prepare((&steady, route))?;
    plan.notes.extend(steady.note());
    Ok(plan)
}

/// Writes down, where firmware runs that takes images, that it will not know its flash. Whether
/// that was so before.
fn note_unbooted(
    (device, card): (&Device, &CardFacts),
    lock: &CardLock,
    plan: &Plan,
) -> Result<Option<bool>, Fault> {
    if device.registers().is_none() {
        return Ok(None);
    }
    Ok(Some(unbooted::remember(lock, running(card), plan.kept)?))
}

const fn running(card: &CardFacts) -> Running {
    Running {
        version: card.running,
        uptime: card.uptime,
    }
}

/// Carries out a plan and tells its notes first.
fn carry_out(
    device: &Device,
    (card, flash): (&CardFacts, &dyn FlashAccess),
    plan: &Plan,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<(), BurnError> {
    for text in plan.notes.iter().cloned() {
        sink(crate::progress::Event::Note { text });
    }
    let choose_boot = |start| boot::choose(device, card.model, plan.route, start);
    execute(flash, card.model.format, plan, &choose_boot, cancel, sink)
}

/// Reads the card, takes its flash and lets `job` change it.
fn on_flash<T>(
    device: &Device,
    options: &BurnOptions<'_>,
    job: impl FnOnce(&CardFacts, &dyn FlashAccess, Route) -> Result<T, BurnError>,
) -> Result<T, BurnError> {
    let read = || {
        let card = CardFacts::read(device)?;
        let runs_from = unbooted::runs_from(options.lock, running(&card))?;
        Ok(CardFacts { runs_from, ..card })
    };
    with_opened(device, read(), options.through, |card, opened| {
        opened.change(|flash, route| job(card, flash, route).map_err(Stopped::Job))
    })
}

/// Reads the card, takes its flash and lets `job` read it.
pub(super) fn reading<T>(
    device: &Device,
    through: Through,
    job: impl FnOnce(&CardFacts, &dyn ByteSource) -> Result<T, Fault>,
) -> Result<T, BurnError> {
    with_opened(device, CardFacts::read(device), through, |card, opened| {
        Ok(job(card, opened.contents())?)
    })
}

/// Lets `job` read the flash of a card that was read, and whose flash semaphore the caller holds or
/// can do without. `None`: the card lets no tool at its flash.
///
/// # Errors
/// [`Fault`]: the flash could not be reached or read.
pub(super) fn looking<T>(
    device: &Device,
    card: &CardFacts,
    job: impl FnOnce(&dyn ByteSource) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    if fitness::card(card).is_err() {
        return Ok(None);
    }
    match Opened::open(device, card, Through::Auto) {
        Ok(opened) => job(opened.contents()).map(Some),
        Err(fault) if fault.is_closed() => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn with_opened<T>(
    device: &Device,
    card: Result<CardFacts, Fault>,
    through: Through,
    job: impl FnOnce(&CardFacts, &Opened<'_>) -> Result<T, Stopped>,
) -> Result<T, BurnError> {
    let card =
        card.map_err(|fault| BurnError::before(Step::ReadCard, None, Boots::Old(None), fault))?;
    let opening =
        |fault| BurnError::before(Step::OpenFlash, Some(Step::ReadCard), card.boots(), fault);
    fitness::card(&card).map_err(|refusal| opening(refusal.into()))?;
    let semaphore = take_semaphore(device).map_err(opening)?;
    let opened = Opened::open(device, &card, through).map_err(opening)?;
    let outcome = job(&card, &opened);
    drop(semaphore);
    outcome.map_err(|stopped| match stopped {
        Stopped::Job(error) => error,
        Stopped::Opening(fault) => opening(fault),
    })
}

/// Where work on the flash stopped.
enum Stopped {
    Opening(Fault),
    Job(BurnError),
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Self::Opening(fault)
    }
}

/// The semaphore between tools; chips behind the legacy gateway have none but the gateway's own.
fn take_semaphore(device: &Device) -> Result<Option<FlashSemaphore>, Fault> {
    match device.flash_semaphore() {
        Ok(semaphore) => Ok(Some(semaphore)),
        Err(AccessError::UnsupportedSpace { .. }) => Ok(None),
        Err(error) => Err(Fault::Semaphore(error)),
    }
}

fn unprepared(card: &CardFacts, fault: Fault) -> BurnError {
    let boots = match &fault {
        Fault::Refused(Refusal::PendingActivation { stored, .. }) => Boots::Old(Some(*stored)),
        _ => card.boots(),
    };
    BurnError::before(Step::CheckImage, Some(Step::OpenFlash), boots, fault)
}

/// What makes the new image run: a chip in recovery looks at its flash when it gets power.
fn activation(device: &Device, route: Route) -> Activation {
    if route == Route::GatewayInRecovery {
        return Activation::ColdBoot;
    }
    let registers = device.registers().filter(|_| route.is_firmware());
    let can_be_reset = registers
        .and_then(|registers| read_register(registers, &Mfrl::default()).ok())
        .is_some_and(|mfrl| mfrl.reset_trigger & TRIGGER_PCI_LINK != 0);
    if can_be_reset {
        Activation::Reset
    } else {
        Activation::Reboot
    }
}
