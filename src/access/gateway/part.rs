//! Flash parts by their JEDEC id (burn 8.5).

use crate::model::Model;

/// A flash part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Family name; `None` for a part of no known family, which can be read but not written.
    pub name: Option<&'static str>,
    /// JEDEC id, 24 bits: vendor, type, capacity.
    pub jedec: u32,
    /// Bytes.
    pub size: u64,
    /// Smallest erase unit, bytes.
    pub erase_size: u32,
}

/// One row of the table.
struct Family {
    name: &'static str,
    vendor: u8,
    kind: u8,
    /// log2 of the sizes, bytes.
    sizes: &'static [u8],
    erase_size: u32,
}

// JEDEC vendors.
pub(in crate::access) const MICRON: u8 = 0x20;
pub(in crate::access) const SST: u8 = 0xbf;
pub(in crate::access) const WINBOND: u8 = 0xef;
pub(in crate::access) const ATMEL: u8 = 0x1f;
pub(in crate::access) const CYPRESS: u8 = 0x01;
pub(in crate::access) const MACRONIX: u8 = 0xc2;
pub(in crate::access) const ISSI: u8 = 0x9d;
pub(in crate::access) const GIGADEVICE: u8 = 0xc8;

const SECTOR: u32 = 0x1_0000;
const SUBSECTOR: u32 = 0x1000;

/// 8 to 128 Mbit.
const LEGACY: &[u8] = &[20, 21, 22, 23, 24];
const MBIT_32: u8 = 22;
const MBIT_128: u8 = 24;
const MBIT_256: u8 = 25;
const MBIT_512: u8 = 26;

const fn family(
    name: &'static str,
    (vendor, kind): (u8, u8),
    sizes: &'static [u8],
    erase_size: u32,
) -> Family {
    Family {
        name,
        vendor,
        kind,
        sizes,
        erase_size,
    }
}

const FAMILIES: &[Family] = &[
    family("M25PXxx", (MICRON, 0x71), LEGACY, SUBSECTOR),
    family("M25Pxx", (MICRON, 0x20), LEGACY, SECTOR),
    family("N25Q0XX", (MICRON, 0xba), LEGACY, SUBSECTOR),
    family("MT25QLxxx", (MICRON, 0xba), &[MBIT_512], SUBSECTOR),
    family("MT25QUxxx", (MICRON, 0xbb), &[MBIT_512], SUBSECTOR),
    family("SST25VFxx", (SST, 0x25), LEGACY, SECTOR),
    family("W25QxxBV", (WINBOND, 0x40), LEGACY, SUBSECTOR),
    family("W25Xxx", (WINBOND, 0x30), LEGACY, SUBSECTOR),
    family("W25Qxxx", (WINBOND, 0x70), &[MBIT_128, MBIT_256], SUBSECTOR),
    family("W25Qxxx", (WINBOND, 0x40), &[MBIT_256, MBIT_512], SUBSECTOR),
    family("W25Qxxx", (WINBOND, 0x60), &[MBIT_512, MBIT_32], SUBSECTOR),
    family("W25Qxxx", (WINBOND, 0x80), &[MBIT_512, MBIT_32], SUBSECTOR),
    family("AT25DFxxx", (ATMEL, 0x02), LEGACY, SUBSECTOR),
    family("S25FLXXXP", (CYPRESS, 0x02), LEGACY, SECTOR),
    family("S25FL11xx", (CYPRESS, 0x40), LEGACY, SUBSECTOR),
    family("S25FLxxx", (CYPRESS, 0x60), &[MBIT_128], SUBSECTOR),
    family("MX25L16xxx", (MACRONIX, 0x20), LEGACY, SUBSECTOR),
    family("MX25Lxxx", (MACRONIX, 0x20), &[MBIT_256], SUBSECTOR),
    family(
        "MX25Uxxx",
        (MACRONIX, 0x25),
        &[MBIT_32, MBIT_256, MBIT_512],
        SUBSECTOR,
    ),
    family("MX25", (MACRONIX, 0x28), &[MBIT_32], SUBSECTOR),
    family("IS25LPxxx", (ISSI, 0x60), LEGACY, SUBSECTOR),
    family("IS25LPxxx", (ISSI, 0x60), &[MBIT_256], SUBSECTOR),
    family("IS25LPxxx", (ISSI, 0x70), &[MBIT_32, MBIT_512], SUBSECTOR),
    family(
        "GD25LBxxx",
        (GIGADEVICE, 0x40),
        &[MBIT_128, MBIT_256],
        SUBSECTOR,
    ),
    family("GD25LBxxxMF", (GIGADEVICE, 0x60), &[MBIT_512], SUBSECTOR),
];

impl Part {
    /// JEDEC vendor.
    #[must_use]
    pub const fn vendor(&self) -> u8 {
        let [_, vendor, ..] = self.jedec.to_be_bytes();
        vendor
    }

    /// The part with this JEDEC id (24 bits: vendor, type, capacity) on a board of `model`;
    /// `None` when the capacity code says nothing.
    #[must_use]
    pub fn from_jedec(jedec: u32, model: &Model) -> Option<Self> {
        let [_, vendor, kind, code] = jedec.to_be_bytes();
        let log2 = size_log2(vendor, code)?;
        let family = FAMILIES.iter().find(|family| {
            family.vendor == vendor && family.kind == kind && family.sizes.contains(&log2)
        });
        let mut part = Self {
            name: family.map(|family| family.name),
            jedec,
            size: 1 << log2,
            erase_size: family.map_or(SECTOR, |family| family.erase_size),
        };
        // ConnectX-4 Lx and -5 use these parts as 16 MiB ones
        if vendor == GIGADEVICE && matches!(model.hw_id, 0x20b | 0x20d) {
            part.size = 1 << MBIT_128;
            part.erase_size = SUBSECTOR;
        }
        Some(part)
    }
}

/// log2 of the size in bytes that a capacity code means.
fn size_log2(vendor: u8, code: u8) -> Option<u8> {
    /// Most vendors' code of 512 Mbit.
    const OTHER_512: u8 = 0x20;
    /// What Macronix adds for 1.8 V parts.
    const LOW_VOLTAGE: u8 = 0x20;
    match (vendor, code) {
        (SST, 0x8d) => Some(19),
        (SST, 0x8e) => Some(20),
        (SST, 0x41) => Some(21),
        (SST, 0x4a) => Some(22),
        (_, 0x14..=0x1a) => Some(code),
        (MACRONIX, 0x34..=0x3a) => Some(code - LOW_VOLTAGE),
        (_, OTHER_512) => Some(MBIT_512),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::by_hw_id;

    fn part(jedec: u32) -> Option<Part> {
        Part::from_jedec(jedec, by_hw_id(0x212).unwrap())
    }

    #[test]
    fn parts_are_named_and_sized_by_their_id() {
        let n25q = part(0x20_ba18).unwrap();
        assert_eq!(
            (n25q.name, n25q.size, n25q.erase_size),
            (Some("N25Q0XX"), 16 << 20, 0x1000)
        );
        let mt25 = part(0x20_bb20).unwrap();
        assert_eq!((mt25.name, mt25.size), (Some("MT25QUxxx"), 64 << 20));
        let m25p = part(0x20_2014).unwrap();
        assert_eq!((m25p.size, m25p.erase_size), (1 << 20, 0x1_0000));
        assert_eq!(part(0xbf_254a).unwrap().size, 4 << 20);
    }

    #[test]
    fn low_voltage_macronix_parts_are_their_size() {
        let mx = part(0xc2_2539).unwrap();
        assert_eq!((mx.name, mx.size), (Some("MX25Uxxx"), 32 << 20));
    }

    #[test]
    fn a_gigadevice_part_is_used_as_16_mib_where_the_chip_does() {
        let on = |hw_id| Part::from_jedec(0xc8_4019, by_hw_id(hw_id).unwrap()).unwrap();
        assert_eq!(on(0x20b).size, 16 << 20);
        assert_eq!(on(0x212).size, 32 << 20);
    }

    #[test]
    fn a_part_of_no_known_family_has_a_size_but_no_name() {
        let unknown = part(0x55_6618).unwrap();
        assert_eq!((unknown.name, unknown.size), (None, 16 << 20));
        assert_eq!(part(0x55_6600), None);
    }
}
