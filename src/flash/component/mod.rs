//! The firmware-controlled burn: the running firmware takes the image (MCC, MCDA), checks it and
//! writes it to the slot that does not run (burn 7).
//!
//! The image is verified as a whole and against the card first ([`preflight`]), which gives the
//! plan ([`steps`]); only then the first byte is sent. The start pattern travels as 0xff and is
//! written by the firmware at the end, so a burn that is broken off anywhere leaves the old image
//! the only bootable one. Every error says at which step, and what the card boots ([`error`]).
//!
//! One burn holds, from the outside in: the card's lock file ([`CardLock`]), the card's
//! flash-programming semaphore, the update handle ([`session`]). All three are given back on
//! every way out.

mod closing;
mod codes;
mod error;
mod foreign;
mod handle;
mod machine;
mod pacing;
mod patient;
mod preflight;
mod read;
mod run;
mod session;
mod steps;
mod target;
mod transfer;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod preflight_tests;
#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod tests;

pub use crate::flash::ending::{Boots, Burned};
pub use codes::FirmwareError;
pub use error::{BurnError, Fault};
pub use handle::{release_stuck_handle, stuck_handle};
pub use pacing::Pacing;
pub use preflight::{Cleared, Refusal, Target, preflight};
pub use read::Readable;
pub use steps::{Plan, Step};

use std::time::Instant;

use crate::access::{Device, RegisterAccess};
use crate::flash::cancel::Cancel;
use crate::flash::lock::CardLock;
use crate::flash::unbooted::{self, Running};
use crate::progress::{Event, Sink};

use patient::Patient;

/// What to do when an update is staged that has not been activated yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StagedUpdate {
    /// Leave it. The firmware decides whether it takes another one on top.
    #[default]
    Leave,
    /// Take it back first, where the firmware can (MIRC).
    TakeBack,
}

/// How a burn is done. Needs the card's lock, so that none is done without.
#[derive(Debug, Clone, Copy)]
pub struct BurnOptions<'a> {
    /// The card's lock, held by the caller.
    pub lock: &'a CardLock,
    /// When an update is staged already.
    pub staged_update: StagedUpdate,
    /// Waits.
    pub pacing: Pacing,
}

impl<'a> BurnOptions<'a> {
    /// The careful way, under this lock.
    #[must_use]
    pub fn under(lock: &'a CardLock) -> Self {
        Self {
            lock,
            staged_update: StagedUpdate::default(),
            pacing: Pacing::default(),
        }
    }
}

/// Verifies `image` against the card and plans its burn; nothing is written.
///
/// # Errors
/// [`BurnError`]: the card could not be read, or image and card do not go together.
pub fn plan(device: &Device, image: &[u8], options: &BurnOptions<'_>) -> Result<Plan, BurnError> {
    let (_, target, cleared) = prepare(device, image, options, &Cancel::new())?;
    knows_its_flash(device, &target, options.lock)?;
    Ok(cleared.plan)
}

/// Burns `image`.
///
/// Events: [`Event::Started`], then the phases initialize, write, verify, activate.
///
/// # Errors
/// [`BurnError`]. Whatever was begun on the card has been taken back, or the error says what could
/// not be.
pub fn burn(
    device: &Device,
    image: &[u8],
    options: &BurnOptions<'_>,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Burned, BurnError> {
    let started = Instant::now();
    let (registers, target, cleared) = prepare(device, image, options, cancel)?;
    let semaphore = device.flash_semaphore().map_err(|error| {
        BurnError::before(
            Step::TakeSemaphore,
            Some(Step::CheckImage),
            Boots::Old(cleared.plan.stored),
            Fault::Semaphore(error.into()),
        )
    })?;
    if let Some(text) = knows_its_flash(device, &target, options.lock)? {
        sink(Event::Note { text });
    }
    let result = run::run(registers, &cleared, options, cancel, sink);
    drop(semaphore);
    let activation = result?;
    Ok(Burned {
        from: cleared.plan.stored,
        to: cleared.plan.to,
        activation,
        elapsed: started.elapsed(),
    })
}

/// Reads the card, checks the image against it, plans.
fn prepare<'d>(
    device: &'d Device,
    image: &[u8],
    options: &BurnOptions<'_>,
    cancel: &Cancel,
) -> Result<(&'d dyn RegisterAccess, Target, Cleared), BurnError> {
    let unread = |fault: Fault| BurnError::before(Step::ReadCard, None, Boots::Old(None), fault);
    let registers = device.registers().ok_or_else(|| {
        unread(Fault::NoFirmwareControl {
            missing: "running firmware",
        })
    })?;
    let hw_id = device
        .hw_id()
        .map_err(|error| unread(Fault::Unreachable(error.into())))?;
    let patient = Patient::new(registers, &options.pacing, cancel);
    let target = target::read(&patient, hw_id).map_err(unread)?;
    let cleared = check(image, &target, options)?;
    Ok((registers, target, cleared))
}

/// Refuses a card whose flash boots what its firmware does not know of.
fn knows_its_flash(
    device: &Device,
    target: &Target,
    lock: &CardLock,
) -> Result<Option<String>, BurnError> {
    let stopped = |boots, fault: Fault| {
        let boots = Boots::Old(boots);
        BurnError::before(Step::LookAtFlash, Some(Step::CheckImage), boots, fault)
    };
    let running = Running {
        version: target.running,
        uptime: target.uptime,
    };
    let begun =
        unbooted::begun(lock, running).map_err(|error| stopped(target.stored, error.into()))?;
    let seen = foreign::check(device, target, begun)
        .map_err(|foreign::Unknown { boots, refusal }| stopped(boots, refusal.into()))?;
    if seen.begun_is_void {
        unbooted::forget(lock).map_err(|error| stopped(target.stored, error.into()))?;
    }
    Ok(seen.note)
}

/// Checks the image against what the card said and plans.
fn check(image: &[u8], target: &Target, options: &BurnOptions<'_>) -> Result<Cleared, BurnError> {
    let refused = |refusal: Refusal| {
        let boots = Boots::Old(target.stored);
        BurnError::before(Step::CheckImage, Some(Step::ReadCard), boots, refusal)
    };
    let mut cleared = preflight(image, target).map_err(refused)?;
    let staged = target.stored.filter(|_| target.stored != target.running);
    if let (Some(staged), StagedUpdate::TakeBack) = (staged, options.staged_update) {
        if !target.can_reactivate {
            return Err(refused(Refusal::CannotTakeBack { staged }));
        }
        cleared.plan.reactivate = true;
    }
    Ok(cleared)
}
