//! Telling the chip which image to boot (burn 8.11). The flash alone decides after a power cycle; this
//! is for resets that keep the chip powered.

use crate::access::{AccessError, Device, RegisterAccess, RegisterError, write_register};
use crate::model::{ImageFormat, Model};
use crate::registers::mfrl::TRIGGER_WARM_REBOOT;
use crate::registers::{Mfai, Mfrl};

use super::way::Route;

/// Register status with which old firmware answers a reset level it does not know.
const BAD_PARAMETER: u8 = 0x07;

/// Boot-address register of the oldest chips: the address is shifted up.
const SHIFTED: u32 = 0xf_0000;
const SHIFT: u32 = 8;

/// Why the boot address could not be set.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// CR space.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The firmware.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The register has no room for the address.
    #[error("address {0:#x} does not fit the boot-address register")]
    Address(u64),
}

/// Makes the chip boot the image at `start`, the way that belongs to `route`.
///
/// # Errors
/// [`BootError`]; the image is in place and runs after a cold boot all the same.
pub(super) fn choose(
    device: &Device,
    model: &Model,
    route: Route,
    start: u64,
) -> Result<(), BootError> {
    let address = u32::try_from(start).map_err(|_| BootError::Address(start))?;
    let mfai = Mfai::at(address);
    match (device.registers().filter(|_| route.is_firmware()), mfai) {
        (Some(registers), Some(mfai)) => through_firmware(registers, &mfai),
        // MFAI has 24 bits for the address; CR space has more
        _ => in_cr_space(device, model, address),
    }
}

fn through_firmware(registers: &dyn RegisterAccess, mfai: &Mfai) -> Result<(), BootError> {
    write_register(registers, mfai)?;
    let level = Mfrl {
        reset_trigger: TRIGGER_WARM_REBOOT,
        ..Mfrl::default()
    };
    match write_register(registers, &level) {
        Err(error) if error.status() != Some(BAD_PARAMETER) => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn in_cr_space(device: &Device, model: &Model, address: u32) -> Result<(), BootError> {
    let value = if model.boot_address == SHIFTED {
        address
            .checked_mul(1 << SHIFT)
            .ok_or(BootError::Address(u64::from(address)))?
    } else {
        address
    };
    device.write_cr(model.boot_address, value)?;
    if let Some((register, bit)) = reload_request(model) {
        let former = device.read_cr(register)?;
        device.write_cr(register, former | bit)?;
    }
    Ok(())
}

/// The register and bit that ask for a reload of the firmware on a warm reboot.
const fn reload_request(model: &Model) -> Option<(u32, u32)> {
    match (model.format, model.hw_id) {
        (ImageFormat::Fs3 | ImageFormat::Fs4, 0x209 | 0x20b | 0x20d | 0x211 | 0x249) => {
            Some((0xf_0204, 1 << 1))
        }
        (ImageFormat::Fs4, 0x20f | 0x212 | 0x216 | 0x214 | 0x24e | 0x250) => {
            Some((0xf_0c28, 1 << 2))
        }
        _ => None,
    }
}
