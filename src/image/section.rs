//! Names of image sections (images-fs3 4, images-fs2 4).

use std::borrow::Cow;

/// Type bytes of FS3, FS4 and FS5 sections that readers look into.
pub mod kind {
    /// Versions, PSID and everything `query` shows.
    pub const IMAGE_INFO: u8 = 0x10;
    /// Expansion ROM.
    pub const ROM_CODE: u8 = 0x18;
    /// RSA-2048 signature over the image.
    pub const IMAGE_SIGNATURE_256: u8 = 0xa0;
    /// Keys for it.
    pub const PUBLIC_KEYS_2048: u8 = 0xa1;
    /// RSA-4096 signature over the image.
    pub const IMAGE_SIGNATURE_512: u8 = 0xa3;
    /// Keys for it.
    pub const PUBLIC_KEYS_4096: u8 = 0xa4;
    /// What the factory wrote: original PSID and addresses.
    pub const MFG_INFO: u8 = 0xe0;
    /// What the device uses: addresses and VSD.
    pub const DEV_INFO: u8 = 0xe1;
    /// Ends a table of contents.
    pub const END: u8 = 0xff;
}

/// Types of FS2 sections that readers look into.
pub mod fs2_kind {
    /// Size given in bytes, where all others count dwords.
    pub const EMT_SERVICE: u32 = 4;
    /// Expansion ROM.
    pub const ROM: u32 = 5;
    /// GUIDs and MACs.
    pub const GUID: u32 = 6;
    /// Tags with version, PSID, ….
    pub const IMAGE_INFO: u32 = 10;
    /// The highest type; a higher value right after BOOT2 is a second boot stage.
    pub const LAST: u32 = 12;
}

/// Name of an FS3, FS4 or FS5 section type, as the vendor's tools print it.
#[must_use]
pub fn name(kind: u8) -> Cow<'static, str> {
    NAMES
        .binary_search_by_key(&kind, |&(known, _)| known)
        .ok()
        .and_then(|index| NAMES.get(index))
        .map_or_else(
            || Cow::Owned(format!("UNKNOWN:0x{kind:x}")),
            |&(_, name)| Cow::Borrowed(name),
        )
}

/// Name of an FS2 section type.
#[must_use]
pub fn fs2_name(kind: u32) -> Cow<'static, str> {
    usize::try_from(kind)
        .ok()
        .and_then(|kind| kind.checked_sub(1))
        .and_then(|index| FS2_NAMES.get(index))
        .map_or_else(
            || Cow::Owned(format!("UNKNOWN ({})", kind.cast_signed())),
            |&name| Cow::Borrowed(name),
        )
}

const FS2_NAMES: [&str; 12] = [
    "DDR",
    "Configuration",
    "Jump addresses",
    "EMT Service",
    "ROM",
    "GUID",
    "BOARD ID",
    "User Data",
    "FW Configuration",
    "Image Info",
    "DDRZ",
    "Hash File",
];

/// Sorted by type.
#[rustfmt::skip]
const NAMES: &[(u8, &str)] = &[
    (0x01, "BOOT_CODE"), (0x02, "PCI_CODE"), (0x03, "MAIN_CODE"), (0x04, "PCIE_LINK_CODE"),
    (0x05, "IRON_PREP_CODE"), (0x06, "POST_IRON_BOOT_CODE"), (0x07, "UPGRADE_CODE"),
    (0x08, "HW_BOOT_CFG"), (0x09, "HW_MAIN_CFG"), (0x0a, "PHY_UC_CODE"), (0x0b, "PHY_UC_CONSTS"),
    (0x0c, "PCIE_PHY_UC_CODE"), (0x0d, "CCIR_INFRA_CODE"), (0x0e, "CCIR_ALGO_CODE"),
    (0x0f, "BOOT3_CODE"), (0x10, "IMAGE_INFO"), (0x11, "FW_BOOT_CFG"), (0x12, "FW_MAIN_CFG"),
    (0x14, "APU_KERNEL"), (0x15, "ACE_CODE"), (0x18, "ROM_CODE"), (0x20, "RESET_INFO"),
    (0x21, "PROG_FW_META"), (0x22, "PROG_FW_BIN"), (0x2a, "PRE_LINK_CODE"),
    (0x2b, "PRE_LINK_DATA"), (0x2c, "POST_LINK_CODE"), (0x2d, "POST_LINK_DATA"),
    (0x30, "DBG_FW_INI"), (0x32, "DBG_FW_PARAMS"), (0x33, "FW_ADB"), (0x34, "GB_FW_CODE"),
    (0x35, "TILE_FW_CODE"), (0x36, "FW_TILE_INI"), (0x37, "HW_TILE_INI"),
    (0x40, "SLOT_DEPENDENT_INI"), (0xa0, "IMAGE_SIGNATURE_256"), (0xa1, "PUBLIC_KEYS_2048"),
    (0xa2, "FORBIDDEN_VERSIONS"), (0xa3, "IMAGE_SIGNATURE_512"), (0xa4, "PUBLIC_KEYS_4096"),
    (0xa5, "HMAC_DIGEST"), (0xa6, "RSA_PUBLIC_KEY"), (0xa7, "RSA_4096_SIGNATURES"),
    (0xa9, "ENCRYPTION_KEY_TRANSITION"), (0xaa, "PXIR_INI"), (0xab, "PXIR_INI1"),
    (0xad, "NVDA_ROT_CERTIFICATES"), (0xb0, "EXCLKSYNC_INFO"), (0xb1, "MAIN_PAGES_HASHES"),
    (0xb2, "MAIN_PAGES_LOCKED_HASHES"), (0xb4, "STRN_MAIN"), (0xb5, "STRN_IRON"),
    (0xb6, "STRN_TILE"), (0xcc, "CPO_CALIBRATION_DATA"), (0xd3, "MAIN_DATA"),
    (0xd4, "FW_DEBUG_DUMP_2"), (0xd5, "SECURITY_LOG"), (0xe0, "MFG_INFO"), (0xe1, "DEV_INFO"),
    (0xe2, "NV_DATA"), (0xe3, "VPD_R0"), (0xe4, "NV_DATA"), (0xe5, "FW_NV_LOG"),
    (0xe6, "NV_DATA"), (0xe7, "DEV_INFO1"), (0xe8, "DEV_INFO2"), (0xe9, "CRDUMP_MASK_DATA"),
    (0xea, "FW_INTERNAL_USAGE"), (0xeb, "PROGRAMMABLE_HW_FW"), (0xec, "PROGRAMMABLE_HW_FW"),
    (0xed, "DIGITAL_CERT_PTR"), (0xee, "DIGITAL_CERT_RW"), (0xef, "LC_INI1_TABLE"),
    (0xf0, "LC_INI2_TABLE"), (0xf1, "LC_INI_NV_DATA"), (0xf2, "CERT_CHAIN_0"),
    (0xf3, "DIGITAL_CACERT_RW"), (0xf4, "CERTIFICATE_CHAINS_1"), (0xf5, "CERTIFICATE_CHAINS_2"),
    (0xf6, "ROOT_CERTIFICATES_1"), (0xf7, "ROOT_CERTIFICATES_2"), (0xf9, "TOOLS_AREA"),
    (0xfa, "HASHES_TABLE"), (0xfb, "HW_POINTERS"), (0xfc, "FW_DEBUG_DUMP"),
    (0xfd, "ITOC_HEADER"), (0xfe, "DTOC_HEADER"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_type_is_found_by_the_search() {
        for &(kind, known) in NAMES {
            assert_eq!(name(kind), known);
        }
        assert_eq!(name(0x77), "UNKNOWN:0x77");
    }

    #[test]
    fn fs2_types_count_from_one() {
        assert_eq!(fs2_name(1), "DDR");
        assert_eq!(fs2_name(12), "Hash File");
        assert_eq!(fs2_name(0), "UNKNOWN (0)");
        assert_eq!(fs2_name(u32::MAX), "UNKNOWN (-1)");
    }
}
