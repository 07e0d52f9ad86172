//! MFMC: protection, quad mode and dummy cycles of the flash (device-access 4.9).

use super::layout::register;

register! {
    /// MFMC. Set `flash_select` when reading.
    Mfmc = 0x9013, "MFMC", 28 bytes {
        /// Flash (bank).
        flash_select: u8 = 0x00 [5:4],
        /// Protected blocks, log2.
        wrp_block_count: u8 = 0x04 [7:0],
        /// 0 sub-sectors, 1 sectors.
        block_size: u8 = 0x04 [17:16],
        /// Write protection is on.
        wrp_en: bool = 0x04 [31],
        /// Sub-sectors that can be protected.
        sub_sector_protect_size: u8 = 0x08 [5:0],
        /// Sectors that can be protected.
        sector_protect_size: u8 = 0x08 [13:8],
        /// Quad mode is on.
        quad_en: bool = 0x10 [24],
        /// Dummy cycles of a read.
        dummy_cycles: u8 = 0x18 [3:0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn fields_lie_where_the_table_says() {
        let mfmc = Mfmc {
            flash_select: 3,
            wrp_block_count: 5,
            block_size: 1,
            wrp_en: true,
            sub_sector_protect_size: 8,
            sector_protect_size: 0x20,
            quad_en: true,
            dummy_cycles: 8,
        };
        let mut image = [0; 28];
        image[0x03] = 0x30;
        image[0x04..0x08].copy_from_slice(&[0x80, 0x01, 0, 5]);
        image[0x08..0x0c].copy_from_slice(&[0, 0, 0x20, 8]);
        image[0x10] = 1;
        image[0x1b] = 8;
        assert_eq!(mfmc.encode(), image);
        assert_eq!(Mfmc::decode(&image).unwrap(), mfmc);
    }
}
