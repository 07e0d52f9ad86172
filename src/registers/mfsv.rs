//! MFSV: security version, the rollback counter in fuses (device-access 4.11).

use super::layout::register;

register! {
    /// MFSV.
    Mfsv = 0x9115, "MFSV", 0x30 bytes {
        /// Fuses may be programmed.
        efuses_prog_en: bool = 0x0 [0],
        /// How image and fuses compare.
        fw_sec_ver_stat: u8 = 0x0 [2:1],
        /// How fuses are programmed.
        efuses_prog_method: bool = 0x0 [3],
        /// Programming was revoked.
        revoke_efuse_prog: bool = 0x0 [4],
        /// Programming waits.
        pending_efuse_prog: bool = 0x0 [5],
        /// Dummy programming is possible.
        dummy_ratchet_prog_en: bool = 0x0 [6],
        /// Programming failed.
        fuse_failure: u8 = 0x0 [9:8],
        /// Index.
        index: u8 = 0x0 [19:16],
        /// Security version of the image.
        img_sec_ver: u32 = 0x4 [31:0],
        /// Security version in the fuses.
        efuses_sec_ver: u32 = 0x8 [31:0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn fields_lie_where_the_table_says() {
        let mut image = [0; 0x30];
        image[..12].copy_from_slice(&[0, 0x01, 0x02, 0x25, 0, 0, 0, 4, 0, 0, 0, 3]);
        let mfsv = Mfsv::decode(&image).unwrap();
        assert!(mfsv.efuses_prog_en && mfsv.pending_efuse_prog && !mfsv.efuses_prog_method);
        assert_eq!(
            (mfsv.fw_sec_ver_stat, mfsv.fuse_failure, mfsv.index),
            (2, 2, 1)
        );
        assert_eq!((mfsv.img_sec_ver, mfsv.efuses_sec_ver), (4, 3));
        assert_eq!(mfsv.encode(), image);
    }
}
