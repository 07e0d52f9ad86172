//! How the flash is reached (burn 8.8): through the running firmware's flash registers, or past it
//! through the flash gateway. One way is chosen and said; no other is tried when it fails.

use crate::access::{Device, FirmwareFlash, FlashAccess, FlashError, GatewayError, RegisterAccess};

use super::error::Fault;
use super::facts::CardFacts;

/// The way to the flash, as the user wishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Through {
    /// The gateway where no firmware works from the flash, else the firmware.
    #[default]
    Auto,
    /// The firmware's flash registers.
    Firmware,
    /// The gateway, even while firmware works from the flash: it stands still meanwhile and may
    /// hang.
    Gateway,
}

/// The way taken, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    /// MFBA and MFBE.
    Firmware,
    /// The gateway: the chip is in recovery.
    GatewayInRecovery,
    /// The gateway: no firmware works from the flash.
    Gateway,
    /// The gateway past firmware that works from the flash, as asked.
    GatewayPastFirmware,
}

impl Route {
    /// Whether the running firmware is what writes.
    #[must_use]
    pub const fn is_firmware(self) -> bool {
        matches!(self, Self::Firmware)
    }
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Firmware => {
                "through the running firmware (MFBA, MFBE), which works from the flash"
            }
            Self::GatewayInRecovery => "through the flash gateway; no firmware runs",
            Self::Gateway => "through the flash gateway; no firmware works from the flash",
            Self::GatewayPastFirmware => {
                "through the flash gateway, past the running firmware, which may hang"
            }
        })
    }
}

/// Opens the flash and lets `job` work on it. The gateway, where it is taken, stays locked until
/// `job` is done, whatever comes of it.
pub(super) fn with_flash<T, E: From<Fault>>(
    device: &Device,
    card: &CardFacts,
    through: Through,
    job: impl FnOnce(&dyn FlashAccess, Route) -> Result<T, E>,
) -> Result<T, E> {
    let registers = device.registers().filter(|_| !card.recovery);
    let (flash, route) = match (through, registers) {
        (Through::Firmware, None) => return Err(Fault::NoFirmware.into()),
        (Through::Firmware, Some(registers)) => {
            return through_firmware(device, card, registers, job);
        }
        (Through::Gateway, Some(_)) => (
            device.flash_past_firmware(card.model),
            Route::GatewayPastFirmware,
        ),
        (Through::Auto, Some(registers)) => match device.flash(card.model) {
            Err(GatewayError::FirmwareRuns { .. }) => {
                return through_firmware(device, card, registers, job);
            }
            flash => (flash, Route::Gateway),
        },
        (Through::Auto | Through::Gateway, None) if card.recovery => {
            (device.flash(card.model), Route::GatewayInRecovery)
        }
        (Through::Auto | Through::Gateway, None) => (device.flash(card.model), Route::Gateway),
    };
    let flash = flash.map_err(Fault::from)?;
    let session = flash.session().map_err(Fault::from)?;
    let outcome = job(&session, route);
    if let Err(error) = session.finish() {
        log::warn!("the flash gateway could not be given back: {error}");
    }
    outcome
}

fn through_firmware<T, E: From<Fault>>(
    device: &Device,
    card: &CardFacts,
    registers: &dyn RegisterAccess,
    job: impl FnOnce(&dyn FlashAccess, Route) -> Result<T, E>,
) -> Result<T, E> {
    let flash = FirmwareFlash::open(registers, device.name(), card.model)
        .map_err(|error: FlashError| Fault::from(error))?;
    job(&flash, Route::Firmware)
}
