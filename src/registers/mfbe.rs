//! MFBE: erases flash through the firmware (device-access 4.9).

use super::layout::register;

register! {
    /// MFBE. Without a bulk flag one sub-sector (4 KiB) is erased.
    Mfbe = 0x9012, "MFBE", 12 bytes {
        /// Flash (bank).
        flash_select: u8 = 0x0 [5:4],
        /// Erase 64 KiB.
        bulk_64kb_erase: bool = 0x0 [29],
        /// Erase 32 KiB.
        bulk_32kb_erase: bool = 0x0 [30],
        /// 32-bit address.
        four_byte_address: bool = 0x0 [31],
        /// First byte of the block.
        address: u32 = 0x8 [31:0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn fields_lie_where_the_table_says() {
        let mfbe = Mfbe {
            flash_select: 1,
            bulk_64kb_erase: true,
            address: 0x0001_0000,
            ..Mfbe::default()
        };
        let image = [0x20, 0, 0, 0x10, 0, 0, 0, 0, 0, 1, 0, 0];
        assert_eq!(mfbe.encode(), image);
        assert_eq!(Mfbe::decode(&image).unwrap(), mfbe);
    }
}
