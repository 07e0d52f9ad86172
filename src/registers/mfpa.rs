//! MFPA: the flash the firmware sees (device-access 4.9).

use super::layout::register;

register! {
    /// MFPA. Set `flash_select` when reading.
    Mfpa = 0x9010, "MFPA", 32 bytes {
        /// Flash (bank).
        flash_select: u8 = 0x00 [5:4],
        /// 32-bit addresses.
        four_byte_address: bool = 0x00 [31],
        /// Where the image to boot lies.
        boot_address: u32 = 0x04 [31:0],
        /// Number of flashes.
        flash_num: u8 = 0x10 [3:0],
        /// Sub-sectors can be write protected.
        sub_sector_wrp_en: bool = 0x10 [16],
        /// Sectors can be write protected.
        sector_wrp_en: bool = 0x10 [17],
        /// 64 KiB can be erased at once.
        bulk_64kb_erase_en: bool = 0x10 [29],
        /// 32 KiB can be erased at once.
        bulk_32kb_erase_en: bool = 0x10 [30],
        /// A write is in progress.
        wip: bool = 0x10 [31],
        /// JEDEC id: vendor in the low byte.
        jedec_id: u32 = 0x14 [23:0],
        /// Sector size code.
        sector_size: u16 = 0x18 [9:0],
        /// Alignment of blocks, log2.
        block_alignment: u8 = 0x18 [23:16],
        /// Block size, log2.
        block_size: u8 = 0x18 [31:24],
        /// Capabilities: bit 16 write protection, 17 quad mode, 18 dummy cycles.
        capability_mask: u32 = 0x1c [31:0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn fields_lie_where_the_table_says() {
        let mfpa = Mfpa {
            flash_select: 2,
            flash_num: 1,
            bulk_64kb_erase_en: true,
            jedec_id: 0x18_ba20,
            sector_size: 4,
            capability_mask: 1 << 16,
            ..Mfpa::default()
        };
        let mut image = [0; 32];
        image[0x03] = 0x20;
        image[0x10..0x14].copy_from_slice(&[0x20, 0, 0, 1]);
        image[0x14..0x18].copy_from_slice(&[0, 0x18, 0xba, 0x20]);
        image[0x18..0x1c].copy_from_slice(&[0, 0, 0, 4]);
        image[0x1c..].copy_from_slice(&[0, 1, 0, 0]);
        assert_eq!(mfpa.encode(), image);
        assert_eq!(Mfpa::decode(&image).unwrap(), mfpa);
    }
}
