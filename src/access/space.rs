//! Address spaces behind the vendor-specific capability (device-access 2.3).

use std::fmt;

/// An address space cxfw uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Extended ICMD; its presence tells a usable capability.
    IcmdExt,
    /// The chip's registers.
    Cr,
    /// ICMD control and mailbox.
    Icmd,
    /// Semaphores: 0x0 ICMD, 0x10 flash programming.
    Semaphores,
    /// State and flash window of a chip in recovery.
    Recovery,
    /// [`Space::Cr`] of a function that owns only the PCI part.
    PciCr,
    /// [`Space::Icmd`] of such a function.
    PciIcmd,
    /// [`Space::Semaphores`] of such a function.
    PciSemaphores,
}

impl Space {
    /// All of them, the common ones first.
    pub const ALL: [Self; 8] = [
        Self::IcmdExt,
        Self::Cr,
        Self::Icmd,
        Self::Semaphores,
        Self::Recovery,
        Self::PciCr,
        Self::PciIcmd,
        Self::PciSemaphores,
    ];

    /// The number that selects it.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::IcmdExt => 0x1,
            Self::Cr => 0x2,
            Self::Icmd => 0x3,
            Self::Semaphores => 0xa,
            Self::Recovery => 0xc,
            Self::PciCr => 0x102,
            Self::PciIcmd => 0x103,
            Self::PciSemaphores => 0x10a,
        }
    }

    /// The space with the same contents in the other half of a twin-space device: 0x2 and 0x102,
    /// 0x3 and 0x103, 0xa and 0x10a.
    #[must_use]
    pub const fn twin(self) -> Option<Self> {
        match self {
            Self::Cr => Some(Self::PciCr),
            Self::PciCr => Some(Self::Cr),
            Self::Icmd => Some(Self::PciIcmd),
            Self::PciIcmd => Some(Self::Icmd),
            Self::Semaphores => Some(Self::PciSemaphores),
            Self::PciSemaphores => Some(Self::Semaphores),
            Self::IcmdExt | Self::Recovery => None,
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "space {:#x}", self.number())
    }
}

/// The spaces a function supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpaceSet(u16);

impl SpaceSet {
    const fn bit(space: Space) -> u16 {
        1 << space as u16
    }

    /// Adds a space.
    pub const fn insert(&mut self, space: Space) {
        self.0 |= Self::bit(space);
    }

    /// It is supported.
    #[must_use]
    pub const fn contains(self, space: Space) -> bool {
        self.0 & Self::bit(space) != 0
    }

    fn contains_all(self, spaces: &[Space]) -> bool {
        spaces.iter().all(|&space| self.contains(space))
    }

    /// The space itself, else its twin, whichever is supported.
    #[must_use]
    pub fn choose(self, space: Space) -> Option<Space> {
        [Some(space), space.twin()]
            .into_iter()
            .flatten()
            .find(|&candidate| self.contains(candidate))
    }

    /// A capability with these spaces serves for access: CR, extended ICMD and semaphores, or
    /// all three twins; in recovery the recovery space is enough.
    #[must_use]
    pub fn is_usable(self) -> bool {
        self.contains_all(&[Space::Cr, Space::IcmdExt, Space::Semaphores])
            || self.contains_all(&[Space::PciCr, Space::PciIcmd, Space::PciSemaphores])
            || self.contains(Space::Recovery)
    }
}

impl FromIterator<Space> for SpaceSet {
    fn from_iter<I: IntoIterator<Item = Space>>(spaces: I) -> Self {
        let mut set = Self::default();
        for space in spaces {
            set.insert(space);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_differ_in_one_bit_and_point_at_each_other() {
        for space in Space::ALL {
            if let Some(twin) = space.twin() {
                assert_eq!(twin.number() ^ space.number(), 0x100);
                assert_eq!(twin.twin(), Some(space));
            }
        }
    }

    #[test]
    fn either_trio_of_spaces_makes_a_usable_capability() {
        let plain = SpaceSet::from_iter([Space::Cr, Space::IcmdExt, Space::Semaphores]);
        assert!(plain.is_usable());
        assert_eq!(plain.choose(Space::PciCr), Some(Space::Cr));
        let pci = SpaceSet::from_iter([Space::PciCr, Space::PciIcmd, Space::PciSemaphores]);
        assert!(pci.is_usable());
        assert_eq!(pci.choose(Space::Icmd), Some(Space::PciIcmd));
        assert_eq!(pci.choose(Space::IcmdExt), None);
        let mixed = SpaceSet::from_iter([Space::Cr, Space::PciIcmd, Space::Semaphores]);
        assert!(!mixed.is_usable());
    }
}
