//! What stands between a tool and a card, told from an error of any layer: who wants to know
//! whether the card left the bus or somebody holds a lock need not know how the card is reached.

use std::error::Error;

use super::error::AccessError;
use super::exchange::RegisterError;
use super::flash::FlashError;
use super::gateway::GatewayError;
use super::icmd::IcmdError;
use crate::bytes::ReadError;
use crate::pci::ConfigError;

/// Status of a register that the firmware is too busy to answer (device-access 3.4).
const BUSY: u8 = 0x01;

/// What stands between a tool and a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// The function left the bus.
    Gone,
    /// Somebody holds the capability's semaphore or one of the semaphore space.
    Held,
    /// Somebody holds the flash gateway.
    GatewayHeld,
    /// The flash gateway or the flash part does not come to an end.
    FlashHangs,
    /// The firmware is busy, whatever it is asked.
    FirmwareBusy,
}

impl Trouble {
    /// The trouble behind `error`, if it is one of these.
    #[must_use]
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(error) = error.downcast_ref::<ReadError>() {
            return error.source().and_then(Self::of);
        }
        if let Some(error) = error.downcast_ref::<FlashError>() {
            return match error {
                FlashError::Gateway(error) => Self::of(error),
                FlashError::Register { source, .. } => Self::of(source),
                FlashError::Working { .. } => Some(Self::FlashHangs),
                _ => None,
            };
        }
        if let Some(error) = error.downcast_ref::<GatewayError>() {
            return match error {
                GatewayError::Access(error) => Self::of(error),
                GatewayError::Locked { .. } => Some(Self::GatewayHeld),
                GatewayError::Busy { .. } => Some(Self::FlashHangs),
                _ => None,
            };
        }
        if let Some(error) = error.downcast_ref::<RegisterError>() {
            return match error.status() {
                Some(BUSY) => Some(Self::FirmwareBusy),
                _ => error.source().and_then(Self::of),
            };
        }
        if let Some(IcmdError::Access(error)) = error.downcast_ref::<IcmdError>() {
            return Self::of(error);
        }
        match error.downcast_ref::<AccessError>()? {
            AccessError::Config(ConfigError::Gone { .. }) => Some(Self::Gone),
            AccessError::SemaphoreHeld { .. } | AccessError::TokenHeld { .. } => Some(Self::Held),
            _ => None,
        }
    }

    /// Stable word for programs.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Held => "semaphore_busy",
            Self::GatewayHeld => "gateway_busy",
            Self::FlashHangs => "flash_hangs",
            Self::FirmwareBusy => "firmware_busy",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::flash::FlashOperation;
    use std::time::Duration;

    fn gone() -> AccessError {
        let device = "0000:03:00.0".to_owned();
        AccessError::Config(ConfigError::Gone { device, offset: 4 })
    }

    #[test]
    fn a_card_that_left_is_told_however_it_was_reached() {
        let through_firmware = RegisterError::Transport {
            register: 0x9011,
            reason: Box::new(IcmdError::Access(gone())),
        };
        let reading = ReadError::Failed {
            offset: 0x40,
            reason: Box::new(FlashError::Register {
                device: String::new(),
                source: through_firmware,
            }),
        };
        assert_eq!(Trouble::of(&reading), Some(Trouble::Gone));
        assert_eq!(Trouble::of(&gone()), Some(Trouble::Gone));
        let by_gateway = FlashError::from(gone());
        assert_eq!(Trouble::of(&by_gateway), Some(Trouble::Gone));
    }

    #[test]
    fn a_part_that_works_for_ever_hangs_and_a_bad_status_is_no_trouble_of_these() {
        let working = FlashError::Working {
            device: String::new(),
            operation: FlashOperation::Erase,
            address: 0,
            waited: Duration::ZERO,
        };
        assert_eq!(Trouble::of(&working), Some(Trouble::FlashHangs));
        let status = RegisterError::Status {
            register: 0x9062,
            method: crate::access::Method::Read,
            status: 7,
        };
        assert_eq!(Trouble::of(&status), None);
    }
}
