//! MSGI: serial number, part number, revision and product name (device-access 4.11).

use super::layout::{Octets, register};

register! {
    /// MSGI. All texts are ASCII, NUL padded.
    Msgi = 0x9021, "MSGI", 0x80 bytes {
        /// Serial number.
        serial_number: Octets<24> = 0x00 [24 bytes],
        /// Part number.
        part_number: Octets<20> = 0x20 [20 bytes],
        /// Revision.
        revision: Octets<4> = 0x38 [4 bytes],
        /// Product name.
        product_name: Octets<64> = 0x40 [64 bytes],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn texts_lie_in_natural_order() {
        let mut image = [0; 0x80];
        image[..12].copy_from_slice(b"MT1916X00001");
        image[0x20..0x2e].copy_from_slice(b"MCX4121A-ACA_A");
        image[0x38..0x3a].copy_from_slice(b"AG");
        image[0x40..0x4d].copy_from_slice(b"ConnectX-4 Lx");
        let msgi = Msgi::decode(&image).unwrap();
        assert_eq!(msgi.serial_number.text(), "MT1916X00001");
        assert_eq!(msgi.part_number.text(), "MCX4121A-ACA_A");
        assert_eq!(msgi.revision.text(), "AG");
        assert_eq!(msgi.product_name.text(), "ConnectX-4 Lx");
        assert_eq!(msgi.encode(), image);
    }
}
