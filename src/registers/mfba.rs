//! MFBA: flash contents through the firmware, a block at a time (device-access 4.9, burn 8.7).
//!
//! Flash bytes travel reversed inside each dword, as in MCDA (witness: files and locks, MFBA);
//! [`Mfba::data`] is in flash order.

use super::layout::{data, head, layout, reversed};
use super::{DecodeError, Register};

layout! {
    /// The fixed part.
    Header: 12 bytes {
        flash_select: u8 = 0x0 [5:4],
        four_byte_address: bool = 0x0 [31],
        size: u16 = 0x4 [8:0],
        address: u32 = 0x8 [31:0],
    }
}

/// MFBA. A read is asked with as many bytes of `data` as are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mfba {
    /// Flash (bank), 0 to 3.
    pub flash_select: u8,
    /// 32-bit addresses (`add_cap_32b`).
    pub four_byte_address: bool,
    /// First byte in the flash.
    pub address: u32,
    /// The bytes, in flash order; at most [`Mfba::MAX_DATA`].
    pub data: Vec<u8>,
}

impl Mfba {
    /// Most bytes the register has room for. Firmware takes 128, on ConnectX-3 256 (burn 8.7).
    pub const MAX_DATA: usize = 256;
}

impl Register for Mfba {
    const ID: u16 = 0x9011;
    const NAME: &'static str = "MFBA";
    const SIZE: usize = Header::BYTES;

    fn encode(&self) -> Vec<u8> {
        let mut image = vec![0; Header::BYTES];
        let data = self.data.get(..Self::MAX_DATA).unwrap_or(&self.data);
        Header {
            flash_select: self.flash_select,
            four_byte_address: self.four_byte_address,
            size: u16::try_from(data.len()).unwrap_or(0),
            address: self.address,
        }
        .put(&mut image);
        image.extend(reversed(data));
        image
    }

    fn decode(image: &[u8]) -> Result<Self, DecodeError> {
        let header = Header::get(head(Self::NAME, image, Self::SIZE)?);
        let len = usize::from(header.size);
        let travelled = data(Self::NAME, image, Self::SIZE, 0x4, len.next_multiple_of(4))?;
        let mut data = reversed(travelled);
        data.truncate(len.min(Self::MAX_DATA));
        Ok(Self {
            flash_select: header.flash_select,
            four_byte_address: header.four_byte_address,
            address: header.address,
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flash_bytes_travel_reversed_in_each_dword() {
        let mfba = Mfba {
            flash_select: 1,
            four_byte_address: true,
            address: 0x0100_0000,
            data: vec![0x4d, 0x54, 0x46, 0x57],
        };
        let image = [
            0x80, 0, 0, 0x10, 0, 0, 0, 4, 0x01, 0, 0, 0, 0x57, 0x46, 0x54, 0x4d,
        ];
        assert_eq!(mfba.encode(), image);
        assert_eq!(Mfba::decode(&image).unwrap(), mfba);
    }

    #[test]
    fn a_size_beyond_the_image_is_refused() {
        let image = [0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 1, 2, 3, 4];
        assert_eq!(
            Mfba::decode(&image).unwrap_err().to_string(),
            "MFBA at 0x4: length 8 exceeds 4"
        );
    }
}
