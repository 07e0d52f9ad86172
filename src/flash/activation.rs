//! What makes a stored image run: what the firmware says of the component (MCQI, activation
//! method) and which resets the card can do (MFRL); burn 10.1.

use crate::access::{RegisterAccess, RegisterError, read_register};
use crate::card::BootImage;
use crate::registers::Mfrl;
use crate::registers::mcqi::ActivationMethod;
use crate::registers::mfrl::{TRIGGER_IMMEDIATE, TRIGGER_LIVE_PATCH, TRIGGER_PCI_LINK};

/// What is needed until the stored image runs, the lightest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activation {
    /// Nothing: it runs.
    Done,
    /// A reset of the card.
    Reset,
    /// A restart of the machine.
    Reboot,
    /// The machine without power for a moment.
    ColdBoot,
}

impl Activation {
    /// The word programs get.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Reset => "reset",
            Self::Reboot => "reboot",
            Self::ColdBoot => "cold_boot",
        }
    }
}

impl std::fmt::Display for Activation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Done => "nothing; it runs",
            Self::Reset => "a reset of the card",
            Self::Reboot => "a restart of the machine",
            Self::ColdBoot => "a cold boot (the machine without power)",
        })
    }
}

/// What makes the stored boot image run, as the firmware tells. Firmware that tells nothing needs
/// a restart of the machine, which is always enough for a card without a power domain of its own.
///
/// # Errors
/// [`RegisterError`] when the firmware was busy or could not be reached.
pub fn what_activates(
    registers: &dyn RegisterAccess,
    boot_image: BootImage,
) -> Result<Activation, RegisterError> {
    let method = boot_image.activation(registers)?;
    let triggers = match read_register(registers, &Mfrl::default()) {
        Ok(mfrl) => Some(mfrl.reset_trigger),
        Err(error) if error.status().is_some() => None,
        Err(error) => return Err(error),
    };
    Ok(decide(method.as_ref(), triggers))
}

/// The lightest of the ways the component names; a reset only where the card can be reset.
fn decide(method: Option<&ActivationMethod>, triggers: Option<u8>) -> Activation {
    const RESETS: u8 = TRIGGER_LIVE_PATCH | TRIGGER_IMMEDIATE | TRIGGER_PCI_LINK;
    let can_be_reset = triggers.is_some_and(|triggers| triggers & RESETS != 0);
    let Some(method) = method else {
        return if can_be_reset {
            Activation::Reset
        } else {
            Activation::Reboot
        };
    };
    let only_cold = (method.pending_server_dc_power_cycle || method.pending_server_ac_power_cycle)
        && !method.pending_fw_reset
        && !method.pending_server_reboot;
    if method.pending_fw_reset && can_be_reset {
        Activation::Reset
    } else if only_cold {
        Activation::ColdBoot
    } else {
        Activation::Reboot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(fw_reset: bool, reboot: bool, power_cycle: bool) -> ActivationMethod {
        ActivationMethod {
            pending_fw_reset: fw_reset,
            pending_server_reboot: reboot,
            pending_server_dc_power_cycle: power_cycle,
            ..ActivationMethod::default()
        }
    }

    const RESETTABLE: Option<u8> = Some(TRIGGER_PCI_LINK | 0x40);

    #[test]
    fn the_lightest_way_the_component_names_counts() {
        let decide = |method: ActivationMethod| decide(Some(&method), RESETTABLE);
        assert_eq!(decide(ways(true, true, true)), Activation::Reset);
        assert_eq!(decide(ways(false, true, true)), Activation::Reboot);
        assert_eq!(decide(ways(false, false, true)), Activation::ColdBoot);
        assert_eq!(decide(ways(false, false, false)), Activation::Reboot);
    }

    #[test]
    fn a_card_that_cannot_be_reset_needs_a_reboot() {
        for triggers in [Some(0x40), None] {
            let method = ways(true, false, false);
            assert_eq!(decide(Some(&method), triggers), Activation::Reboot);
            assert_eq!(decide(None, triggers), Activation::Reboot);
        }
        assert_eq!(decide(None, RESETTABLE), Activation::Reset);
    }
}
