//! MCAM: which access registers and features the firmware has (device-access 4.7).

use super::layout::{Octets, register};

register! {
    /// MCAM. Set both groups when reading.
    Mcam = 0x907f, "MCAM", 0x48 bytes {
        /// Group of register ids, 0x80 a group: 0 = 0x9000 to 0x907f.
        access_reg_group: u8 = 0x00 [7:0],
        /// Group of features, 0.
        feature_group: u8 = 0x00 [23:16],
        /// A bit a register, the lowest in the last byte; see [`Mcam::has_register`].
        mng_access_reg_cap_mask: Octets<16> = 0x08 [16 bytes],
        /// A bit a feature, the lowest in the last byte; see [`Mcam::has_feature`].
        mng_feature_cap_mask: Octets<16> = 0x28 [16 bytes],
    }
}

/// First id of group 0.
const FIRST_ID: u16 = 0x9000;
/// Ids a group.
const GROUP: u16 = 0x80;

impl Mcam {
    /// The group that covers a register id; `None` for ids MCAM does not speak of.
    #[must_use]
    pub fn group_of(id: u16) -> Option<u8> {
        let group = id.checked_sub(FIRST_ID)? / GROUP;
        (group < 4).then(|| group.to_le_bytes()[0])
    }

    /// The firmware has this register. False when `id` belongs to another group.
    #[must_use]
    pub fn has_register(&self, id: u16) -> bool {
        Self::group_of(id) == Some(self.access_reg_group)
            && bit(&self.mng_access_reg_cap_mask, id % GROUP)
    }

    /// Adds a register of this group to the mask; ids of other groups change nothing.
    #[must_use]
    pub fn with_register(mut self, id: u16) -> Self {
        if Self::group_of(id) == Some(self.access_reg_group) {
            set_bit(&mut self.mng_access_reg_cap_mask, id % GROUP);
        }
        self
    }

    /// The firmware has this feature (0 to 127), in the dword order of network adapters.
    #[must_use]
    pub fn has_feature(&self, feature: u16) -> bool {
        bit(&self.mng_feature_cap_mask, feature)
    }

    /// Adds a feature (0 to 127) to the mask; others change nothing.
    #[must_use]
    pub fn with_feature(mut self, feature: u16) -> Self {
        set_bit(&mut self.mng_feature_cap_mask, feature);
        self
    }
}

/// The masks are one 128-bit big-endian number: bits 31:0 in the last dword.
fn bit(mask: &Octets<16>, number: u16) -> bool {
    number < 128 && u128::from_be_bytes(mask.0) >> number & 1 == 1
}

fn set_bit(mask: &mut Octets<16>, number: u16) {
    if number < 128 {
        mask.0 = (u128::from_be_bytes(mask.0) | 1 << number).to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn low_ids_are_in_the_last_dword() {
        let mcam = Mcam::default().with_register(0x9020).with_register(0x907f);
        let image = mcam.encode();
        // 0x9020 is bit 0x20: lowest bit of the second dword from the end, 0x10.
        assert_eq!(image[0x10..0x14], [0, 0, 0, 1]);
        // 0x907f is bit 127: highest bit of the first dword, 0x08.
        assert_eq!(image[0x08..0x0c], [0x80, 0, 0, 0]);
        assert_eq!(image[0x14..0x18], [0; 4]);
        let feature = Mcam::default().with_feature(0).encode();
        assert_eq!(feature[0x34..0x38], [0, 0, 0, 1]);
    }

    #[test]
    fn a_register_of_another_group_is_not_claimed() {
        let mcam = Mcam {
            access_reg_group: 2,
            ..Mcam::default()
        }
        .with_register(0x9162);
        assert!(mcam.has_register(0x9162));
        assert!(!mcam.has_register(0x9062));
        assert_eq!(Mcam::group_of(0x9162), Some(2));
        assert_eq!(Mcam::group_of(0x402d), None);
        assert_eq!(Mcam::group_of(0x9200), None);
        assert!(!mcam.has_feature(300));
    }
}
