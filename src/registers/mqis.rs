//! MQIS: texts of the board, eight bytes at a time (device-access 4.11).

use super::layout::{Octets, codes, register};

codes! {
    /// Which text.
    InfoType {
        /// Model name: the part number.
        ModelName = 1, "model name";
        /// Model description.
        ModelDescription = 2, "model description";
        /// Vendor-specific data of the image.
        ImageVsd = 3, "image VSD";
        /// Vendor-specific data of the device.
        DeviceVsd = 4, "device VSD";
        /// ROM information.
        RomInfo = 5, "ROM info";
    }
}

register! {
    /// MQIS. `info_type`, `read_length` and `read_offset` are set when reading; a text is read by
    /// raising `read_offset` up to `info_length`.
    Mqis = 0x9064, "MQIS", 24 bytes {
        /// Which text.
        info_type: InfoType = 0x00 [7:0],
        /// Bytes the whole text has.
        info_length: u16 = 0x04 [15:0],
        /// Bytes wanted, and in the answer bytes given; see [`Mqis::piece`].
        read_length: u16 = 0x08 [15:0],
        /// First byte wanted.
        read_offset: u16 = 0x08 [31:16],
        /// The bytes.
        info_string: Octets<8> = 0x10 [8 bytes],
    }
}

impl Mqis {
    /// Most bytes one reading gives.
    pub const PIECE: u16 = 8;

    /// A request for the piece of a text at `read_offset`.
    #[must_use]
    pub fn request(info_type: InfoType, read_offset: u16) -> Self {
        Self {
            info_type,
            read_length: Self::PIECE,
            read_offset,
            ..Self::default()
        }
    }

    /// The bytes given: `read_length` is bounded by the room there is.
    #[must_use]
    pub fn piece(&self) -> &[u8] {
        self.info_string
            .0
            .get(..usize::from(self.read_length))
            .unwrap_or(&self.info_string.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn the_second_piece_of_a_part_number() {
        let image = [
            0, 0, 0, 1, 0, 0, 0, 16, 0, 8, 0, 8, 0, 0, 0, 0, b'-', b'A', b'C', b'A', b'_', b'A',
            b'x', 0,
        ];
        let answer = Mqis {
            info_length: 16,
            info_string: Octets(*b"-ACA_Ax\0"),
            ..Mqis::request(InfoType::ModelName, 8)
        };
        assert_eq!(answer.encode(), image);
        assert_eq!(Mqis::decode(&image).unwrap(), answer);
        assert_eq!(answer.piece(), b"-ACA_Ax\0");
    }

    #[test]
    fn a_read_length_beyond_the_room_is_bounded() {
        let answer = Mqis {
            read_length: 300,
            ..Mqis::default()
        };
        assert_eq!(answer.piece().len(), 8);
    }
}
