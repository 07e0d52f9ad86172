//! What a burn has to know of the card beforehand, read through the running firmware.

use crate::access::{RegisterAccess, RegisterError, read_register};
use crate::card::{self, BootImage};
use crate::image::HwId;
use crate::model;
use crate::registers::mlock::LockState;
use crate::registers::{Mcam, Mgir, Mirc, Mlock, Register};

use super::error::Fault;
use super::preflight::Target;

/// MCAM feature: MGIR.encryption is valid (device-access 4.7).
const ENCRYPTION_VALID: u16 = 40;

/// Reads the card. `hw_id` is what the chip says of itself in CR space.
///
/// # Errors
/// [`Fault::NoFirmwareControl`] when the firmware does not take images, [`Fault::Register`] when
/// it does not answer.
pub(super) fn read(registers: &dyn RegisterAccess, hw_id: HwId) -> Result<Target, Fault> {
    let model = model::by_hw_id(hw_id.id).ok_or(Fault::UnknownChip(hw_id.id))?;
    let mcam = update_capabilities(registers)?;
    let mgir = read_register(registers, &Mgir::default())?;
    let boot_image = find_boot_image(registers)?;
    let running = mgir.fw_version();
    let stored = boot_image.stored(registers, running)?.version;
    let can_reactivate = Mcam::group_of(Mirc::ID)
        .map(|group| capabilities(registers, group))
        .transpose()?
        .flatten()
        .is_some_and(|mcam| mcam.has_register(Mirc::ID));
    Ok(Target {
        hw_id,
        model,
        psid: mgir.psid(),
        running,
        uptime: mgir.uptime,
        stored,
        security: card::security_of(&mgir),
        encrypted: mcam
            .has_feature(ENCRYPTION_VALID)
            .then_some(mgir.encryption),
        secure_host: secure_host(registers)?,
        can_reactivate,
        boot_image,
        capabilities: boot_image.capabilities(registers)?,
    })
}

/// The component that updates are of.
///
/// # Errors
/// As [`read`].
pub(super) fn boot_image(registers: &dyn RegisterAccess) -> Result<BootImage, Fault> {
    update_capabilities(registers)?;
    find_boot_image(registers)
}

/// MCAM of firmware that takes images.
fn update_capabilities(registers: &dyn RegisterAccess) -> Result<Mcam, Fault> {
    let mcam = capabilities(registers, 0)?.ok_or(Fault::NoFirmwareControl { missing: "MCAM" })?;
    match card::missing_for_update(&mcam) {
        Some(missing) => Err(Fault::NoFirmwareControl { missing }),
        None => Ok(mcam),
    }
}

fn find_boot_image(registers: &dyn RegisterAccess) -> Result<BootImage, Fault> {
    BootImage::find(registers)?.ok_or(Fault::NoFirmwareControl {
        missing: "boot image component",
    })
}

/// MCAM of one register group; `None` when the firmware has no MCAM.
fn capabilities(registers: &dyn RegisterAccess, group: u8) -> Result<Option<Mcam>, RegisterError> {
    let request = Mcam {
        access_reg_group: group,
        ..Mcam::default()
    };
    optional(read_register(registers, &request))
}

/// Cards without secure host do not have the register, or refuse it.
fn secure_host(registers: &dyn RegisterAccess) -> Result<LockState, RegisterError> {
    let mlock = optional(read_register(registers, &Mlock::default()))?;
    Ok(mlock.map_or(LockState::Unlocked, |mlock| mlock.operation))
}

/// A firmware status is "not there"; anything else is a failure.
fn optional<T>(result: Result<T, RegisterError>) -> Result<Option<T>, RegisterError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.status().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}
