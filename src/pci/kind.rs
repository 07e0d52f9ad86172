//! What a function of vendor 15b3 is: the id and the class say it before anything is opened.
//!
//! Ids of chips come from [`crate::model`]; the tables here hold the ids that are no card
//! (device-access 1.2): virtual functions, bridges, functions of a SoC beside the network part.

use std::fmt;
use std::path::Path;

use super::function;
use crate::model;

/// What the functions of a card are.
///
/// The order is that of meaning: a card with functions of several kinds is of the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CardKind {
    /// A chip that shows its ordinary id. Its firmware may still have failed authentication,
    /// which only the chip itself can tell (device-access 1.3).
    Functional,
    /// Flash recovery ("livefish"): the boot ROM found no usable image.
    Recovery,
    /// Management function of a chip whose network functions are not visible here.
    Management,
    /// An id no chip is known for: an unknown NVIDIA network device.
    Unknown,
}

impl fmt::Display for CardKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Functional => "functional",
            Self::Recovery => "recovery",
            Self::Management => "management",
            Self::Unknown => "unknown",
        })
    }
}

/// Virtual functions (device-access 1.2). A virtual machine sees one without its `physfn`.
const VIRTUAL_FUNCTIONS: &[u16] = &[
    0x1002, 0x1004, 0x1012, 0x1014, 0x1016, 0x1018, 0x101a, 0x101c, 0x101e, 0xa2d3, 0x6341, 0x634b,
    0x6355, 0x6733, 0x673d, 0x6369, 0x6751, 0x6373, 0x675b, 0x6765, 0x6747, 0x676f, 0x6779,
];

/// Bridges of the PCIe switch inside ConnectX-6 Dx, -7, -8 and -9 (device-access 1.2).
const EMBEDDED_BRIDGES: &[u16] = &[0x1976, 0x1979, 0x197d, 0x197e];

/// Functions with no network firmware behind them: those of a BlueField SoC (device-access 1.2)
/// and the data-direct interface of ConnectX-8.
const COMPANIONS: &[u16] = &[0xc2d1, 0xc2d2, 0xc2d3, 0xc2d4, 0xc2d5, 0x2100];

/// Management of BlueField-4 (device-access 1.2).
const MANAGEMENT: &[u16] = &[0xc2d6];

/// Chips in recovery, or returned to the vendor, that no model is known for (device-access 1.3).
const RECOVERY_WITHOUT_MODEL: &[u16] = &[
    0x222, 0x223, 0x226, 0x227, 0x228, 0x229, 0x25b, 0x25c, 0x270, 0x271, 0x274, 0x275, 0x276,
    0x278, 0x279, 0x27c,
];

/// PCI-to-PCI bridge, class and subclass.
const BRIDGE: u32 = 0x0604;

/// Memory controller and serial bus controller without a subclass of their own: what chips of
/// old families call themselves in recovery.
const RECOVERY_CLASSES: &[u32] = &[0x0500, 0x0580, 0x0c80];

/// Base classes of the emulated disks, bridges and DMA engines that a SoC shows beside its
/// network functions.
const NOT_NETWORK: &[u32] = &[0x01, 0x06, 0x08];

/// The function in this directory is a PCI-to-PCI bridge.
pub(super) fn is_bridge(path: &Path) -> bool {
    function::number(path, "class", 0xff_ffff).is_ok_and(|class| class >> 8 == BRIDGE)
}

/// The kind of card that a physical function with this device id and 24-bit class makes;
/// `None` for one that is no card by itself.
pub(super) fn of_function(device: u16, class: u32) -> Option<CardKind> {
    let subclass = class >> 8;
    let not_a_card = VIRTUAL_FUNCTIONS.contains(&device)
        || EMBEDDED_BRIDGES.contains(&device)
        || COMPANIONS.contains(&device)
        || subclass == BRIDGE;
    if not_a_card {
        return None;
    }
    if model::by_pci_id(device).is_some() {
        return Some(CardKind::Functional);
    }
    if MANAGEMENT.contains(&device) {
        return Some(CardKind::Management);
    }
    let recovery = model::by_recovery_id(device).is_some()
        || RECOVERY_WITHOUT_MODEL.contains(&device)
        || RECOVERY_CLASSES.contains(&subclass);
    if recovery {
        return Some(CardKind::Recovery);
    }
    (!NOT_NETWORK.contains(&(class >> 16))).then_some(CardKind::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETHERNET: u32 = 0x02_0000;

    #[test]
    fn every_chip_of_the_model_table_is_a_card_by_all_its_ids() {
        for model in model::MODELS {
            for &id in model.pci_ids {
                assert_eq!(of_function(id, ETHERNET), Some(CardKind::Functional));
            }
            for &id in model.recovery_ids {
                assert_eq!(of_function(id, ETHERNET), Some(CardKind::Recovery));
            }
        }
    }

    #[test]
    fn virtual_functions_bridges_and_companions_are_no_cards() {
        for id in [0x1016, 0x101e, 0x1976, 0x197e, 0xc2d1, 0xc2d3, 0x2100] {
            assert_eq!(of_function(id, ETHERNET), None, "{id:#06x}");
        }
        assert_eq!(of_function(0x1974, 0x06_0400), None, "a bridge by class");
        assert_eq!(of_function(0x6001, 0x01_0802), None, "an emulated disk");
    }

    #[test]
    fn an_id_of_the_future_is_an_unknown_network_device() {
        assert_eq!(of_function(0x1033, 0x02_0700), Some(CardKind::Unknown));
    }

    #[test]
    fn an_old_family_in_recovery_is_known_by_its_class() {
        // InfiniHost III Lx: ordinary id, then its flash recovery.
        assert_eq!(of_function(0x6274, 0x0c_0600), Some(CardKind::Unknown));
        assert_eq!(of_function(0x5e8d, 0x05_8000), Some(CardKind::Recovery));
        assert_eq!(of_function(0x01f6, 0x0c_8000), Some(CardKind::Recovery));
    }

    #[test]
    fn an_ordinary_id_stays_functional_whatever_its_class() {
        assert_eq!(of_function(0x1003, 0x05_8000), Some(CardKind::Functional));
    }
}
