//! What a simulated chip is, before anything runs on it.

use serde::{Deserialize, Serialize};

use super::vpd::VpdSpec;

/// One PCI function of a chip, while firmware runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionSpec {
    /// PCI address (`0000:03:00.0`).
    pub address: String,
    /// PCI device id.
    pub device: u16,
    /// PCI subsystem vendor id.
    pub subsystem_vendor: u16,
    /// PCI subsystem id.
    pub subsystem_device: u16,
    /// Class code, 24 bits (0x020000 is Ethernet).
    pub class: u32,
}

/// PCIe link: generation 1 (2.5 GT/s) to 6, and lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Generation the link runs at.
    pub generation: u8,
    /// Lanes in use.
    pub width: u8,
    /// Best generation of the card.
    pub max_generation: u8,
    /// Lanes of the card.
    pub max_width: u8,
}

impl Default for LinkSpec {
    /// Generation 3, 8 lanes, not limited.
    fn default() -> Self {
        Self {
            generation: 3,
            width: 8,
            max_generation: 3,
            max_width: 8,
        }
    }
}

/// How the boot ROM finds the image to run. Which one a real chip follows is not documented
/// (burn 12), so a lab has both, and a burn must be safe under either.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BootRule {
    /// The lowest start position whose image checks out.
    #[default]
    LowestGood,
    /// The lowest start position with a start pattern: when the image there does not check out,
    /// no other is looked for.
    FirstPattern,
}

/// What secure firmware hands out of its own image (READ, burn 7.8). Other firmware hands it out
/// without its start pattern. What cards do is not documented, so a lab has all three.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBack {
    /// Nothing.
    #[default]
    Refused,
    /// The image, with ones for its start pattern.
    Masked,
    /// The image as it lies on the flash.
    Whole,
}

/// A chip of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChipSpec {
    /// Hardware id (CR space 0xf0014), one of [`crate::model::MODELS`].
    pub hw_id: u16,
    /// Chip revision.
    #[serde(default)]
    pub revision: u8,
    /// Functions, 1 to 8; the first one is what remains in flash recovery.
    pub functions: Vec<FunctionSpec>,
    /// Link, for the PCIe capability.
    #[serde(default)]
    pub link: LinkSpec,
    /// Vital product data.
    #[serde(default)]
    pub vpd: VpdSpec,
    /// Bytes of flash, a multiple of 64 KiB up to 256 MiB.
    pub flash_size: u32,
    /// JEDEC id, 24 bits: vendor, type, capacity (0xef4018 is a 16 MiB Winbond part).
    pub jedec_id: u32,
    /// Firmware must be secure; it then refuses flash access (burn 8.7) and unsigned images.
    #[serde(default)]
    pub secure: bool,
    /// What firmware hands out of its image although it is secure.
    #[serde(default)]
    pub read_back: ReadBack,
    /// How the boot ROM finds the image to run.
    #[serde(default)]
    pub boot_rule: BootRule,
    /// Oldest firmware version the running firmware accepts, `[major, minor, subminor]`.
    #[serde(default)]
    pub oldest_version: Option<[u16; 3]>,
    /// Reads of the ICMD control dword for which a command still shows busy.
    #[serde(default = "default_busy_polls")]
    pub icmd_busy_polls: u32,
    /// Time a config cycle takes, in nanoseconds; 0 = as fast as this machine can.
    #[serde(default)]
    pub cycle_delay_ns: u64,
}

const fn default_busy_polls() -> u32 {
    1
}
