//! Names of PCI devices, from the PCI ID database.
//!
//! Vendor 15b3's are built in (`build.rs`).

use super::Function;
use crate::model;

include!(concat!(env!("OUT_DIR"), "/pci_names.rs"));

/// What a 15b3 function with an id that the database lacks is called.
pub const UNKNOWN: &str = "unknown NVIDIA network device";

/// Name of a device of vendor 15b3 (`MT27710 Family [ConnectX-4 Lx]`).
#[must_use]
pub fn device(device: u16) -> Option<&'static str> {
    find(DEVICES, device)
}

/// Name of a board with a device of vendor 15b3, by the ids of its maker.
#[must_use]
pub fn subsystem(device: u16, vendor: u16, subsystem: u16) -> Option<&'static str> {
    find(SUBSYSTEMS, (device, vendor, subsystem))
}

/// The most that is known of a 15b3 function by its ids: its board, else its chip (from the
/// model table, where the database is older than the chip), else [`UNKNOWN`].
#[must_use]
pub fn of_function(function: &Function) -> &'static str {
    let id = function.device;
    subsystem(id, function.subsystem_vendor, function.subsystem_device)
        .or_else(|| device(id))
        .or_else(|| {
            let model = model::by_pci_id(id).or_else(|| model::by_recovery_id(id))?;
            Some(model.long_name)
        })
        .unwrap_or(UNKNOWN)
}

fn find<K: Ord + Copy>(table: &'static [(K, &'static str)], key: K) -> Option<&'static str> {
    let index = table.binary_search_by_key(&key, |&(key, _)| key).ok()?;
    table.get(index).map(|&(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_and_boards_have_their_names() {
        assert_eq!(device(0x1015), Some("MT27710 Family [ConnectX-4 Lx]"));
        let board = subsystem(0x1015, 0x15b3, 0x0003);
        assert!(board.is_some_and(|name| name.contains("MCX4121A-ACAT")));
        assert_eq!(device(0xffff), None);
        assert_eq!(subsystem(0x1015, 0x15b3, 0xffff), None);
    }

    #[test]
    fn the_tables_are_sorted_so_that_every_entry_is_found() {
        assert!(DEVICES.iter().all(|&(id, name)| device(id) == Some(name)));
        assert!(
            SUBSYSTEMS
                .iter()
                .all(|&((id, vendor, board), name)| { subsystem(id, vendor, board) == Some(name) })
        );
    }
}
