//! MFAI: which image boots next, FS3 and FS4 (device-access 4.8). ConnectX-3 uses the id for
//! another register.

use super::layout::register;

register! {
    /// MFAI.
    Mfai = 0x9029, "MFAI", 8 bytes {
        /// Address of the image; 24 bits, so a slot at 0x1000000 cannot be named
        /// (see [`Mfai::at`]).
        address: u32 = 0x0 [23:0],
        /// The choice outlives one boot.
        is_permanent: bool = 0x0 [29],
        /// `address` is meant.
        use_address: bool = 0x0 [30],
        /// `image_id` is meant.
        use_image_id: bool = 0x0 [31],
        /// Image.
        image_id: u8 = 0x4 [7:0],
    }
}

impl Mfai {
    /// The request to boot the image at `address`; `None` when the address does not fit.
    #[must_use]
    pub fn at(address: u32) -> Option<Self> {
        (address < 1 << 24).then(|| Self {
            address,
            use_address: true,
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn an_address_is_marked_as_such() {
        let mfai = Mfai::at(0x80_0000).unwrap();
        assert_eq!(mfai.encode(), [0x40, 0x80, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Mfai::decode(&mfai.encode()).unwrap(), mfai);
    }

    #[test]
    fn a_slot_beyond_24_bits_cannot_be_named() {
        assert_eq!(Mfai::at(0x100_0000), None);
    }
}
