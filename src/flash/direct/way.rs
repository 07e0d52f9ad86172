//! How the flash is reached (burn 8.8): through the running firmware's flash registers, or past it
//! through the flash gateway. One way is chosen and said; no other is tried when it fails.

use crate::access::gateway::Flash;
use crate::access::{Device, FirmwareFlash, FlashAccess, GatewayError};
use crate::bytes::ByteSource;

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

/// The flash, reached.
pub(super) enum Opened<'d> {
    /// Through the firmware.
    Firmware(FirmwareFlash<'d>),
    /// Through the gateway.
    Gateway(Flash, Route),
}

impl<'d> Opened<'d> {
    /// Chooses the way and opens the flash for reading.
    pub(super) fn open(
        device: &'d Device,
        card: &CardFacts,
        through: Through,
    ) -> Result<Self, Fault> {
        let registers = device.registers().filter(|_| !card.recovery);
        let firmware = |registers| {
            Ok(Self::Firmware(FirmwareFlash::open(
                registers,
                device.name(),
                card.model,
            )?))
        };
        let (flash, route) = match (through, registers) {
            (Through::Firmware, None) => return Err(Fault::NoFirmware),
            (Through::Firmware, Some(registers)) => return firmware(registers),
            (Through::Gateway, Some(_)) => (
                device.flash_past_firmware(card.model),
                Route::GatewayPastFirmware,
            ),
            (Through::Auto, Some(registers)) => match device.flash(card.model) {
                Err(GatewayError::FirmwareRuns { .. }) => return firmware(registers),
                flash => (flash, Route::Gateway),
            },
            (Through::Auto | Through::Gateway, None) if card.recovery => {
                (device.flash(card.model), Route::GatewayInRecovery)
            }
            (Through::Auto | Through::Gateway, None) => (device.flash(card.model), Route::Gateway),
        };
        Ok(Self::Gateway(flash?, route))
    }

    /// The contents.
    pub(super) fn contents(&self) -> &dyn ByteSource {
        match self {
            Self::Firmware(flash) => flash,
            Self::Gateway(flash, _) => flash,
        }
    }

    /// Lets `job` change the flash. The gateway, where it is taken, stays locked until `job` is
    /// done, whatever comes of it.
    pub(super) fn change<T, E: From<Fault>>(
        &self,
        job: impl FnOnce(&dyn FlashAccess, Route) -> Result<T, E>,
    ) -> Result<T, E> {
        let (flash, route) = match self {
            Self::Firmware(flash) => return job(flash, Route::Firmware),
            Self::Gateway(flash, route) => (flash, *route),
        };
        let session = flash.session().map_err(Fault::from)?;
        let outcome = job(&session, route);
        if let Err(error) = session.finish() {
            error.log_unreleased("flash gateway");
        }
        outcome
    }
}
