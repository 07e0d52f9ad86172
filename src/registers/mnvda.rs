//! MNVDA: non-volatile configuration, one TLV at a time (device-access 4.11).
//!
//! Of the TLVs cxfw reads the base MAC and GUID (2), how many there are (3).

use super::layout::{data, head, layout, padded};
use super::{DecodeError, Register};

layout! {
    /// The fixed part.
    Header: 12 bytes {
        length: u16 = 0x0 [8:0],
        writer_host_id: u8 = 0x0 [11:9],
        version: u8 = 0x0 [15:12],
        writer_id: u8 = 0x0 [20:16],
        read_current: bool = 0x0 [22],
        default: bool = 0x0 [23],
        rd_en: bool = 0x0 [24],
        over_en: bool = 0x0 [25],
        priority: u8 = 0x0 [29:28],
        tlv_type: u32 = 0x4 [31:0],
    }
}

/// MNVDA.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mnvda {
    /// Host that wrote it.
    pub writer_host_id: u8,
    /// Version of the TLV.
    pub version: u8,
    /// Who wrote it.
    pub writer_id: u8,
    /// The value in force, rather than the one for the next start.
    pub read_current: bool,
    /// The factory value.
    pub default: bool,
    /// It may be read.
    pub rd_en: bool,
    /// It may be overwritten.
    pub over_en: bool,
    /// Priority.
    pub priority: u8,
    /// Type, [`Mnvda::BASE_ADDRESSES`] and the like.
    pub tlv_type: u32,
    /// The data, natural order; at most [`Mnvda::MAX_DATA`] bytes.
    pub data: Vec<u8>,
}

layout! {
    /// TLV 2: base MAC and base GUID; zero = not set.
    pub BaseAddresses: 16 bytes {
        /// Base MAC.
        mac: u64 = 0x0 [8 bytes],
        /// Base GUID.
        guid: u64 = 0x8 [8 bytes],
    }
}

layout! {
    /// TLV 3: what TLV 2 may say.
    pub BaseAddressCapabilities: 8 bytes {
        /// The GUID can be set.
        guid_en: bool = 0x0 [30],
        /// The MAC can be set.
        mac_en: bool = 0x0 [31],
        /// MACs from the base on.
        num_macs: u16 = 0x4 [15:0],
        /// GUIDs from the base on.
        num_guids: u16 = 0x4 [31:16],
    }
}

impl Mnvda {
    /// Most bytes of data.
    pub const MAX_DATA: usize = 256;
    /// Type of [`BaseAddresses`].
    pub const BASE_ADDRESSES: u32 = 2;
    /// Type of [`BaseAddressCapabilities`].
    pub const BASE_ADDRESS_CAPABILITIES: u32 = 3;

    /// A request for a TLV of `size` bytes, the value in force.
    #[must_use]
    pub fn request_current(tlv_type: u32, size: usize) -> Self {
        Self {
            read_current: true,
            tlv_type,
            data: vec![0; size],
            ..Self::default()
        }
    }

    /// TLV 2; `None` for another type or too little data.
    #[must_use]
    pub fn base_addresses(&self) -> Option<BaseAddresses> {
        let data = self.data_of(Self::BASE_ADDRESSES, BaseAddresses::BYTES)?;
        Some(BaseAddresses::get(data))
    }

    /// TLV 3; `None` for another type or too little data.
    #[must_use]
    pub fn base_address_capabilities(&self) -> Option<BaseAddressCapabilities> {
        let data = self.data_of(
            Self::BASE_ADDRESS_CAPABILITIES,
            BaseAddressCapabilities::BYTES,
        )?;
        Some(BaseAddressCapabilities::get(data))
    }

    fn data_of(&self, tlv_type: u32, size: usize) -> Option<&[u8]> {
        if self.tlv_type == tlv_type {
            self.data.get(..size)
        } else {
            None
        }
    }
}

impl From<&BaseAddresses> for Mnvda {
    fn from(addresses: &BaseAddresses) -> Self {
        let mut tlv = Self::request_current(Self::BASE_ADDRESSES, BaseAddresses::BYTES);
        addresses.put(&mut tlv.data);
        tlv
    }
}

impl From<&BaseAddressCapabilities> for Mnvda {
    fn from(capabilities: &BaseAddressCapabilities) -> Self {
        let mut tlv = Self::request_current(
            Self::BASE_ADDRESS_CAPABILITIES,
            BaseAddressCapabilities::BYTES,
        );
        capabilities.put(&mut tlv.data);
        tlv
    }
}

impl Register for Mnvda {
    const ID: u16 = 0x9024;
    const NAME: &'static str = "MNVDA";
    const SIZE: usize = Header::BYTES;

    fn encode(&self) -> Vec<u8> {
        let mut image = vec![0; Header::BYTES];
        let data = self.data.get(..Self::MAX_DATA).unwrap_or(&self.data);
        Header {
            length: u16::try_from(data.len()).unwrap_or(0),
            writer_host_id: self.writer_host_id,
            version: self.version,
            writer_id: self.writer_id,
            read_current: self.read_current,
            default: self.default,
            rd_en: self.rd_en,
            over_en: self.over_en,
            priority: self.priority,
            tlv_type: self.tlv_type,
        }
        .put(&mut image);
        image.extend(padded(data));
        image
    }

    fn decode(image: &[u8]) -> Result<Self, DecodeError> {
        let header = Header::get(head(Self::NAME, image, Self::SIZE)?);
        let len = usize::from(header.length).min(Self::MAX_DATA);
        let data = data(Self::NAME, image, Self::SIZE, 0x0, len)?;
        Ok(Self {
            writer_host_id: header.writer_host_id,
            version: header.version,
            writer_id: header.writer_id,
            read_current: header.read_current,
            default: header.default,
            rd_en: header.rd_en,
            over_en: header.over_en,
            priority: header.priority,
            tlv_type: header.tlv_type,
            data: data.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_addresses_are_mac_then_guid() {
        let addresses = BaseAddresses {
            mac: 0x0c42_a100_0000,
            guid: 0x0c42_a103_0000_0001,
        };
        let tlv = Mnvda::from(&addresses);
        let image = [
            0x00, 0x40, 0x00, 0x10, 0, 0, 0, 2, 0, 0, 0, 0, // header: 16 bytes, current
            0x00, 0x00, 0x0c, 0x42, 0xa1, 0x00, 0x00, 0x00, // MAC
            0x0c, 0x42, 0xa1, 0x03, 0x00, 0x00, 0x00, 0x01, // GUID
        ];
        assert_eq!(tlv.encode(), image);
        let read = Mnvda::decode(&image).unwrap();
        assert_eq!(read, tlv);
        assert_eq!(read.base_addresses(), Some(addresses));
        assert_eq!(read.base_address_capabilities(), None);
    }

    #[test]
    fn counts_are_in_the_second_dword() {
        let capabilities = BaseAddressCapabilities {
            guid_en: true,
            mac_en: true,
            num_macs: 8,
            num_guids: 4,
        };
        let tlv = Mnvda::from(&capabilities);
        assert_eq!(tlv.data, [0xc0, 0, 0, 0, 0, 4, 0, 8]);
        assert_eq!(tlv.base_address_capabilities(), Some(capabilities));
    }

    #[test]
    fn a_length_beyond_the_image_is_refused() {
        let image = [0, 0, 0, 0x10, 0, 0, 0, 2, 0, 0, 0, 0, 1, 2, 3, 4];
        assert_eq!(
            Mnvda::decode(&image).unwrap_err().to_string(),
            "MNVDA at 0x0: length 16 exceeds 4"
        );
    }
}
