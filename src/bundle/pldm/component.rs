//! Component image information: what a package's payload holds (bundles 3.6).

use super::fields::{self, Fields};

/// Identifier of firmware for an adapter or a switch.
pub const FW: u16 = 0x0001;
/// Identifier of firmware for a network adapter; tools take it and [`FW`] for each other.
pub const NIC_FW: u16 = 0x3001;

/// One component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Classification (0x000A firmware, 0x000D software bundle, …).
    pub classification: u16,
    /// Identifier, see [`Component::name`].
    pub identifier: u16,
    /// Comparison stamp; `None` when unused.
    pub comparison_stamp: Option<u32>,
    /// Options as stored.
    pub options: u16,
    /// Activation methods: bit 0 automatic, 1 self-contained, 2 medium-specific reset,
    /// 3 system reboot, 4 DC cycle, 5 AC cycle.
    pub activation: u16,
    /// First byte, from the start of the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Version text.
    pub version: String,
}

impl Component {
    /// Reads one; `opaque` when the package revision has opaque data after it. `None` when it
    /// does not fit.
    pub fn parse(fields: &mut Fields<'_>, opaque: bool) -> Option<Self> {
        let classification = fields.u16()?;
        let identifier = fields.u16()?;
        let comparison_stamp = Some(fields.u32()?).filter(|&stamp| stamp != u32::MAX);
        let options = fields.u16()?;
        let activation = fields.u16()?;
        let offset = u64::from(fields.u32()?);
        let size = u64::from(fields.u32()?);
        let string_type = fields.u8()?;
        let string_length = usize::from(fields.u8()?);
        let version = fields::string(string_type, fields.take(string_length)?);
        if opaque {
            let length = fields.length32()?;
            fields.take(length)?;
        }
        Some(Self {
            classification,
            identifier,
            comparison_stamp,
            options,
            activation,
            offset,
            size,
            version,
        })
    }

    /// The name tools know for the identifier.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        Some(match self.identifier {
            FW => "FW",
            NIC_FW => "NIC_FW",
            0x3010 => "BF3BMC_PLDM",
            0x3018 => "BF3BMC_CEC_PLDM",
            0x3020 => "ARM_Capsule",
            0x3030 => "BFB",
            _ => return None,
        })
    }

    /// The name, or the identifier in hexadecimal where it has none.
    #[must_use]
    pub fn label(&self) -> String {
        self.name()
            .map_or_else(|| format!("{:#06x}", self.identifier), str::to_owned)
    }

    /// Whether this is firmware for the adapter itself.
    #[must_use]
    pub const fn is_firmware(&self) -> bool {
        matches!(self.identifier, FW | NIC_FW)
    }

    /// Whether it answers a request for `identifier`.
    #[must_use]
    pub const fn answers(&self, identifier: u16) -> bool {
        self.identifier == identifier || (self.is_firmware() && matches!(identifier, FW | NIC_FW))
    }
}
