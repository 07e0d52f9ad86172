//! Chips: what hardware there is and the facts that differ from one to the next.
//!
//! One table, [`MODELS`]. Ids, names, recovery ids and formats: device-access 1.2 and 1.3;
//! firmware majors, slot sizes and boot-address registers: images 7 and 1.3; flash gateway
//! layouts: burn 8.1.

use std::fmt;

/// Generation of the firmware image a chip boots from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageFormat {
    /// ConnectX-3 and older.
    Fs2,
    /// Connect-IB, ConnectX-4, ConnectX-4 Lx.
    Fs3,
    /// ConnectX-5 to ConnectX-7, BlueField-1 to -3.
    Fs4,
    /// ConnectX-8 and later.
    Fs5,
}

impl fmt::Display for ImageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fs2 => "FS2",
            Self::Fs3 => "FS3",
            Self::Fs4 => "FS4",
            Self::Fs5 => "FS5",
        })
    }
}

/// What a chip is for. Switches are recognised, never offered an update unless asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChipKind {
    /// Network adapter.
    Adapter,
    /// Adapter with its own processor (BlueField).
    Dpu,
    /// Switch.
    Switch,
}

/// Layout of the flash gateway in CR space (burn 8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GatewayLayout {
    /// ConnectX-3: old layout, locked through the semaphore at 0xf03fc, flash enable bit 13.
    ConnectX3,
    /// Connect-IB to ConnectX-6 Lx, BlueField-1 and -2: old layout, lock in the command register.
    Old,
    /// ConnectX-7, BlueField-3.
    Sixth,
    /// ConnectX-8, -9.
    Seventh,
}

/// One chip.
#[derive(Debug, PartialEq, Eq)]
pub struct Model {
    /// Hardware id: CR space 0xf0014 `[15:0]`.
    pub hw_id: u16,
    /// Name as mlxup prints it (`ConnectX4LX`).
    pub name: &'static str,
    /// Name as people write it (`ConnectX-4 Lx`).
    pub long_name: &'static str,
    /// What it is for.
    pub kind: ChipKind,
    /// PCI device ids of its physical functions; the first one is the id images are made for.
    pub pci_ids: &'static [u16],
    /// PCI device ids when the boot ROM found no usable image (the second, where there is one,
    /// is the returned-to-vendor form).
    pub recovery_ids: &'static [u16],
    /// Image format it boots.
    pub format: ImageFormat,
    /// First number of its firmware versions, a convention of all released images; 0 = unknown.
    pub fw_major: u16,
    /// Flash gateway.
    pub gateway: GatewayLayout,
    /// CR-space register that takes the address of the image to boot, after a direct burn.
    pub boot_address: u32,
    /// Parts of this chip can be addressed with 4-byte flash commands (burn 8.4).
    pub four_byte_address: bool,
}

impl Model {
    /// 5th-generation adapters (ConnectX-4 and later) have one base MAC and GUID; older ones have
    /// one a port (mft-compat 2.2).
    #[must_use]
    pub const fn has_base_addresses(&self) -> bool {
        !matches!(self.hw_id, 0x190 | 0x1f5 | 0x1f7 | 0x1ff)
    }

    /// Registers travel through ICMD and the firmware updates itself (MCC). Never so on
    /// ConnectX-3 and older (device-access 4.12).
    #[must_use]
    pub fn has_icmd(&self) -> bool {
        self.format != ImageFormat::Fs2
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one argument a column of the table"
)]
const fn adapter(
    hw_id: u16,
    names: (&'static str, &'static str),
    pci_ids: &'static [u16],
    recovery_ids: &'static [u16],
    format: ImageFormat,
    fw_major: u16,
    gateway: GatewayLayout,
    boot_address: u32,
) -> Model {
    Model {
        hw_id,
        name: names.0,
        long_name: names.1,
        kind: ChipKind::Adapter,
        pci_ids,
        recovery_ids,
        format,
        fw_major,
        gateway,
        boot_address,
        four_byte_address: boot_address != 0xf0000 && boot_address != 0xf00c0,
    }
}

const fn of_kind(model: Model, kind: ChipKind) -> Model {
    Model { kind, ..model }
}

use ImageFormat::{Fs2, Fs3, Fs4, Fs5};

/// Every chip cxfw knows.
pub const MODELS: &[Model] = &[
    adapter(
        0x190,
        ("ConnectX2", "ConnectX-2"),
        &[
            0x673c, 0x6340, 0x634a, 0x6354, 0x6732, 0x6368, 0x6750, 0x6372, 0x675a, 0x6764, 0x6746,
            0x676e, 0x6778,
        ],
        &[0x191],
        Fs2,
        2,
        GatewayLayout::ConnectX3,
        0xf0000,
    ),
    adapter(
        0x1f5,
        ("ConnectX3", "ConnectX-3"),
        &[0x1003],
        &[0x1f6],
        Fs2,
        2,
        GatewayLayout::ConnectX3,
        0xf0000,
    ),
    adapter(
        0x1f7,
        ("ConnectX3Pro", "ConnectX-3 Pro"),
        &[0x1007],
        &[0x1f8],
        Fs2,
        2,
        GatewayLayout::ConnectX3,
        0xf0000,
    ),
    adapter(
        0x1ff,
        ("ConnectIB", "Connect-IB"),
        &[0x1011],
        &[0x1ff],
        Fs3,
        10,
        GatewayLayout::Old,
        0xf0000,
    ),
    adapter(
        0x209,
        ("ConnectX4", "ConnectX-4"),
        &[0x1013],
        &[0x209],
        Fs3,
        12,
        GatewayLayout::Old,
        0xf0000,
    ),
    adapter(
        0x20b,
        ("ConnectX4LX", "ConnectX-4 Lx"),
        &[0x1015],
        &[0x20b],
        Fs3,
        14,
        GatewayLayout::Old,
        0xf0000,
    ),
    adapter(
        0x20d,
        ("ConnectX5", "ConnectX-5"),
        &[0x1017, 0x1019],
        &[0x20d],
        Fs4,
        16,
        GatewayLayout::Old,
        0xf00c0,
    ),
    adapter(
        0x20f,
        ("ConnectX6", "ConnectX-6"),
        &[0x101b],
        &[0x20f],
        Fs4,
        20,
        GatewayLayout::Old,
        0xf0080,
    ),
    adapter(
        0x212,
        ("ConnectX6DX", "ConnectX-6 Dx"),
        &[0x101d],
        &[0x212],
        Fs4,
        22,
        GatewayLayout::Old,
        0xf0080,
    ),
    adapter(
        0x216,
        ("ConnectX6LX", "ConnectX-6 Lx"),
        &[0x101f],
        &[0x216],
        Fs4,
        26,
        GatewayLayout::Old,
        0xf0080,
    ),
    adapter(
        0x218,
        ("ConnectX7", "ConnectX-7"),
        &[0x1021],
        &[0x218, 0x219],
        Fs4,
        28,
        GatewayLayout::Sixth,
        0xf2000,
    ),
    adapter(
        0x21e,
        ("ConnectX8", "ConnectX-8"),
        &[0x1023],
        &[0x21e, 0x21f],
        Fs5,
        40,
        GatewayLayout::Seventh,
        0xf8008,
    ),
    adapter(
        0x224,
        ("ConnectX9", "ConnectX-9"),
        &[0x1025],
        &[0x224, 0x225],
        Fs5,
        82,
        GatewayLayout::Seventh,
        0xf8008,
    ),
    of_kind(
        adapter(
            0x211,
            ("BlueField", "BlueField"),
            &[0xa2d2],
            &[0x211],
            Fs4,
            18,
            GatewayLayout::Old,
            0xf00c0,
        ),
        ChipKind::Dpu,
    ),
    of_kind(
        adapter(
            0x214,
            ("BlueField2", "BlueField-2"),
            &[0xa2d6],
            &[0x214],
            Fs4,
            24,
            GatewayLayout::Old,
            0xf0080,
        ),
        ChipKind::Dpu,
    ),
    of_kind(
        adapter(
            0x21c,
            ("BlueField3", "BlueField-3"),
            &[0xa2dc],
            &[0x21c, 0x21d],
            Fs4,
            32,
            GatewayLayout::Sixth,
            0xf2000,
        ),
        ChipKind::Dpu,
    ),
    of_kind(
        adapter(
            0x220,
            ("BlueField4", "BlueField-4"),
            &[0xa2dd, 0xa2de, 0xa2df],
            &[0x220],
            Fs5,
            0,
            GatewayLayout::Seventh,
            0xf8008,
        ),
        ChipKind::Dpu,
    ),
    of_kind(
        adapter(
            0x247,
            ("SwitchIB", "Switch-IB"),
            &[0xcb20],
            &[0x247, 0x246],
            Fs3,
            11,
            GatewayLayout::Old,
            0xf0000,
        ),
        ChipKind::Switch,
    ),
    of_kind(
        adapter(
            0x249,
            ("Spectrum", "Spectrum"),
            &[0xcb84],
            &[0x249],
            Fs3,
            13,
            GatewayLayout::Old,
            0xf0000,
        ),
        ChipKind::Switch,
    ),
    of_kind(
        adapter(
            0x24b,
            ("SwitchIB2", "Switch-IB 2"),
            &[0xcf08],
            &[0x24b],
            Fs3,
            15,
            GatewayLayout::Old,
            0xf0000,
        ),
        ChipKind::Switch,
    ),
    of_kind(
        adapter(
            0x24d,
            ("Quantum", "Quantum"),
            &[0xd2f0],
            &[0x24d],
            Fs4,
            27,
            GatewayLayout::Old,
            0xf0080,
        ),
        ChipKind::Switch,
    ),
    of_kind(
        adapter(
            0x24e,
            ("Spectrum2", "Spectrum-2"),
            &[0xcf6c],
            &[0x24e],
            Fs4,
            29,
            GatewayLayout::Old,
            0xf0080,
        ),
        ChipKind::Switch,
    ),
    of_kind(
        adapter(
            0x250,
            ("Spectrum3", "Spectrum-3"),
            &[0xcf70],
            &[0x250],
            Fs4,
            30,
            GatewayLayout::Old,
            0xf0080,
        ),
        ChipKind::Switch,
    ),
    of_kind(
        adapter(
            0x254,
            ("Spectrum4", "Spectrum-4"),
            &[0xcf80],
            &[0x254, 0x255],
            Fs4,
            34,
            GatewayLayout::Sixth,
            0xf1800,
        ),
        ChipKind::Switch,
    ),
    of_kind(
        adapter(
            0x257,
            ("Quantum2", "Quantum-2"),
            &[0xd2f2],
            &[0x257, 0x258],
            Fs4,
            31,
            GatewayLayout::Sixth,
            0xf1000,
        ),
        ChipKind::Switch,
    ),
];

/// The chip with this hardware id.
#[must_use]
pub fn by_hw_id(hw_id: u16) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.hw_id == hw_id)
}

/// The chip whose physical function, working normally, has this PCI device id.
#[must_use]
pub fn by_pci_id(device: u16) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.pci_ids.contains(&device))
}

/// The chip that shows this PCI device id in flash recovery.
#[must_use]
pub fn by_recovery_id(device: u16) -> Option<&'static Model> {
    MODELS
        .iter()
        .find(|model| model.recovery_ids.contains(&device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_id_belongs_to_two_chips() {
        let mut seen = HashSet::new();
        for model in MODELS {
            assert!(seen.insert(("hw", model.hw_id)), "{}", model.name);
            for &id in model.pci_ids {
                assert!(seen.insert(("pci", id)), "{}", model.name);
            }
            for &id in model.recovery_ids {
                assert!(seen.insert(("recovery", id)), "{}", model.name);
            }
        }
    }

    #[test]
    fn recovery_id_is_the_hardware_id_from_connectx_4_on_and_one_more_before() {
        for model in MODELS {
            let expected = if model.format == ImageFormat::Fs2 {
                model.hw_id + 1
            } else {
                model.hw_id
            };
            assert_eq!(model.recovery_ids[0], expected, "{}", model.name);
        }
    }

    #[test]
    fn four_byte_flash_commands_start_with_connectx_6() {
        assert!(!by_pci_id(0x1017).unwrap().four_byte_address);
        assert!(by_pci_id(0x101b).unwrap().four_byte_address);
    }
}
