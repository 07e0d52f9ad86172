//! MCDA: a piece of a component, to the firmware or from it (device-access 4.5).
//!
//! Component bytes b0 b1 b2 b3 travel as b3 b2 b1 b0. This file turns them: [`Mcda::data`] is in
//! component order on both sides.

use super::layout::{data, head, layout, reversed};
use super::{DecodeError, Register};

layout! {
    /// The fixed part.
    Header: 16 bytes {
        update_handle: u32 = 0x0 [23:0],
        offset: u32 = 0x4 [31:0],
        size: u16 = 0x8 [15:0],
    }
}

/// MCDA. A read is asked with as many bytes of `data` as are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mcda {
    /// Handle from MCC, 24 bits.
    pub update_handle: u32,
    /// First byte in the component.
    pub offset: u32,
    /// The bytes, in component order. At most what MCQI says (`mcda_max_write_size`).
    pub data: Vec<u8>,
}

impl Register for Mcda {
    const ID: u16 = 0x9063;
    const NAME: &'static str = "MCDA";
    const SIZE: usize = Header::BYTES;

    fn encode(&self) -> Vec<u8> {
        let mut image = vec![0; Header::BYTES];
        Header {
            update_handle: self.update_handle,
            offset: self.offset,
            size: u16::try_from(self.data.len()).unwrap_or(u16::MAX),
        }
        .put(&mut image);
        image.extend(reversed(&self.data));
        image
    }

    fn decode(image: &[u8]) -> Result<Self, DecodeError> {
        let header = Header::get(head(Self::NAME, image, Self::SIZE)?);
        let len = usize::from(header.size);
        let travelled = data(Self::NAME, image, Self::SIZE, 0x8, len.next_multiple_of(4))?;
        let mut data = reversed(travelled);
        data.truncate(len);
        Ok(Self {
            update_handle: header.update_handle,
            offset: header.offset,
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn component_bytes_travel_reversed_in_each_dword() {
        let mcda = Mcda {
            update_handle: 0x12_3456,
            offset: 0x80,
            data: b"MTFW\x01\x02".to_vec(),
        };
        let image = [
            0x00, 0x12, 0x34, 0x56, 0, 0, 0, 0x80, 0, 0, 0, 6, 0, 0, 0, 0, // header
            b'W', b'F', b'T', b'M', 0, 0, 0x02, 0x01,
        ];
        assert_eq!(mcda.encode(), image);
        assert_eq!(Mcda::decode(&image).unwrap(), mcda);
    }

    #[test]
    fn a_size_beyond_the_image_is_refused() {
        let mut image = Mcda {
            data: vec![1; 8],
            ..Mcda::default()
        }
        .encode();
        image[0x0b] = 9;
        assert_eq!(
            Mcda::decode(&image).unwrap_err().to_string(),
            "MCDA at 0x8: length 12 exceeds 8"
        );
    }
}
