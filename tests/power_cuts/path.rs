//! Ways to burn a card.

use std::time::Duration;

use cxfw::card::Card;
use cxfw::flash::component::{self, Pacing};
use cxfw::flash::direct::{self, OtherCard, Through};
use cxfw::flash::lock::CardLock;
use cxfw::flash::{Boots, Cancel};
use cxfw::sys::Roots;

/// A way to burn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BurnPath {
    /// Through the running firmware.
    Component,
    /// Past the firmware, through the flash gateway.
    Gateway,
    /// Through the running firmware's flash registers.
    FlashRegisters,
    /// A backup put back, through the flash gateway.
    Restore,
}

/// A burn that did not end well.
#[derive(Debug)]
pub struct Stopped {
    /// What cxfw says the card boots.
    pub boots: Boots,
    /// All that it says.
    pub message: String,
}

impl BurnPath {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Gateway => "direct, gateway",
            Self::FlashRegisters => "direct, MFBA",
            Self::Restore => "restore",
        }
    }

    /// Burns `file`, an image or for a restore a backup, on a card that was just read.
    pub fn burn(self, card: &Card, roots: &Roots, file: &[u8]) -> Result<(), Stopped> {
        let lock = CardLock::take(roots, "matrix", Duration::from_secs(10)).unwrap();
        let device = card.device.as_ref().unwrap();
        let cancel = Cancel::new();
        match self {
            Self::Component => {
                let mut options = component::BurnOptions::under(&lock);
                options.pacing = hurried();
                component::burn(device, file, &options, &cancel, &mut |_| ())
                    .map(|_| ())
                    .map_err(|error| Stopped {
                        boots: error.boots,
                        message: format!("{error}; {}", error.state()),
                    })
            }
            Self::Gateway | Self::FlashRegisters | Self::Restore => {
                let mut options = direct::BurnOptions::under(&lock);
                options.through = self.through();
                let burned = if self == Self::Restore {
                    let backup = (file, OtherCard::Refuse);
                    direct::restore(device, backup, &options, &cancel, &mut |_| ())
                } else {
                    direct::burn(device, file, &options, &cancel, &mut |_| ())
                };
                burned.map(|_| ()).map_err(|error| Stopped {
                    boots: error.boots,
                    message: format!("{error}; {}", error.state()),
                })
            }
        }
    }

    const fn through(self) -> Through {
        match self {
            Self::FlashRegisters => Through::Firmware,
            Self::Component | Self::Gateway | Self::Restore => Through::Gateway,
        }
    }
}

/// Simulated firmware needs no pauses.
fn hurried() -> Pacing {
    Pacing {
        shortest: Duration::ZERO,
        longest: Duration::from_millis(1),
        retry: Duration::from_millis(1),
        ..Pacing::default()
    }
}
