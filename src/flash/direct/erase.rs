//! Which units are erased for a range: large ones where nothing else is in them, small ones at its
//! edges.

use crate::access::{EraseUnit, FlashAccess};
use crate::image::Extent;

use super::refusal::Refusal;

/// A part of the flash that must stay as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    /// Where.
    pub(super) extent: Extent,
    /// What.
    pub(super) what: String,
}

impl Taken {
    fn meets(&self, start: u64, size: u64) -> bool {
        let end = start.saturating_add(size);
        self.extent.size > 0 && self.extent.address < end && start < self.extent.end()
    }
}

/// The units to erase so that `range` is blank and nothing of `taken` is touched.
pub(super) fn units(
    flash: &dyn FlashAccess,
    range: Extent,
    taken: &[Taken],
) -> Result<Vec<(u64, EraseUnit)>, Refusal> {
    let in_the_way = |start, size| taken.iter().find(|taken| taken.meets(start, size));
    let fits = |unit: EraseUnit, at: u64| {
        let start = at - at % unit.size();
        flash.can_erase(unit)
            && start + unit.size() <= flash.size()
            && in_the_way(start, unit.size()).is_none()
    };
    let mut units = Vec::new();
    let mut at = range.address;
    while at < range.end() {
        let unit = if fits(EraseUnit::Sector, at) {
            EraseUnit::Sector
        } else if fits(EraseUnit::SubSector, at) {
            EraseUnit::SubSector
        } else {
            return Err(refusal(flash, at, taken));
        };
        let start = at - at % unit.size();
        units.push((start, unit));
        at = start + unit.size();
    }
    Ok(units)
}

/// Why the units at `at` cannot be erased.
fn refusal(flash: &dyn FlashAccess, at: u64, taken: &[Taken]) -> Refusal {
    let small = EraseUnit::SubSector;
    let only_large = !flash.can_erase(small);
    let size = if only_large {
        EraseUnit::Sector.size()
    } else {
        small.size()
    };
    let start = at - at % size;
    let Some(found) = taken.iter().find(|taken| taken.meets(start, size)) else {
        return Refusal::TooLarge {
            size: start + size,
            room: flash.size(),
        };
    };
    let (what, address) = (found.what.clone(), found.extent.address);
    if only_large {
        Refusal::EraseUnit { what, address }
    } else {
        Refusal::InTheWay { what, address }
    }
}
