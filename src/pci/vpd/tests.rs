//! What boards say, what broken boards say, and that nothing they say is a panic.

use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::pci::ConfigSpace;

/// A large resource.
fn resource(tag: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(u16::try_from(data.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(data);
    bytes
}

/// Keywords, one behind the other.
fn keywords(list: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in list {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(u8::try_from(value.len()).unwrap());
        bytes.extend_from_slice(value);
    }
    bytes
}

/// A board with both areas and a right checksum.
fn board() -> Vec<u8> {
    let read_only = keywords(&[
        ("PN", b"MCX4121A-ACAT"),
        ("EC", b"A5"),
        ("SN", b"MT1234X05678"),
        ("V0", b"PCIeGen3 x8\0\0"),
        ("RV", &[0, 0]),
    ]);
    let mut bytes = resource(0x82, b"ConnectX-4 Lx EN NIC; 25GbE");
    bytes.extend(resource(0x90, &read_only));
    let sum = bytes.iter().fold(0u8, |sum, &byte| sum.wrapping_add(byte));
    let place = bytes.len() - 2;
    bytes[place] = sum.wrapping_neg();
    let read_write = keywords(&[("YA", b"asset 7"), ("RW", &[0; 16])]);
    bytes.extend(resource(0x91, &read_write));
    bytes.push(0x78);
    bytes
}

fn refusal(bytes: &[u8]) -> String {
    Vpd::parse(bytes).unwrap_err().to_string()
}

#[test]
fn a_whole_board_is_read() {
    let vpd = Vpd::parse(&board()).unwrap();
    assert_eq!(vpd.identifier, "ConnectX-4 Lx EN NIC; 25GbE");
    assert_eq!(vpd.part_number().as_deref(), Some("MCX4121A-ACAT"));
    assert_eq!(vpd.engineering_change().as_deref(), Some("A5"));
    assert_eq!(vpd.serial().as_deref(), Some("MT1234X05678"));
    assert_eq!(vpd.keyword("V0").as_deref(), Some("PCIeGen3 x8"));
    assert_eq!(vpd.keyword("YA").as_deref(), Some("asset 7"));
    assert_eq!(vpd.keyword("V9"), None);
    assert_eq!(vpd.checksum, Checksum::Valid);
    let areas: Vec<Area> = vpd.keywords.iter().map(|keyword| keyword.area).collect();
    assert_eq!(areas[..5], [Area::ReadOnly; 5]);
    assert_eq!(areas[5..], [Area::ReadWrite; 2]);
}

#[test]
fn a_changed_byte_is_seen_in_the_checksum() {
    let mut bytes = board();
    bytes[5] = bytes[5].wrapping_add(3);
    let vpd = Vpd::parse(&bytes).unwrap();
    assert_eq!(vpd.checksum, Checksum::Wrong { sum: 3 });
}

#[test]
fn a_board_without_rv_has_no_checksum_and_a_blank_keyword_no_value() {
    let mut bytes = resource(0x82, b"x");
    bytes.extend(resource(0x90, &keywords(&[("PN", b"   "), ("SN", b"")])));
    let vpd = Vpd::parse(&bytes).unwrap();
    assert_eq!(vpd.checksum, Checksum::Absent);
    assert_eq!(vpd.part_number(), None);
    assert_eq!(vpd.serial(), None);
}

#[test]
fn control_characters_of_a_board_do_not_reach_a_terminal() {
    let mut bytes = resource(0x82, b"a\x1b[2Jb");
    bytes.extend(resource(0x90, &keywords(&[("PN", b"`rm`;\x07$()")])));
    let vpd = Vpd::parse(&bytes).unwrap();
    assert_eq!(vpd.identifier, "a?[2Jb");
    assert_eq!(vpd.part_number().as_deref(), Some("`rm`;?$()"));
}

#[test]
fn format_mistakes_name_the_offset_and_what_was_expected() {
    let identifier = resource(0x82, b"x");
    let read_only = resource(0x90, &keywords(&[("PN", b"P")]));
    let with = |parts: &[&[u8]]| parts.concat();
    assert_eq!(
        refusal(&read_only),
        "VPD at 0x7: an identifier string expected, the end found"
    );
    assert_eq!(
        refusal(&with(&[&identifier, &[0x78]])),
        "VPD at 0x4: a read-only area expected, the end found"
    );
    assert_eq!(
        refusal(&with(&[&identifier, &[0x84, 0, 0]])),
        "VPD at 0x4: a VPD resource tag expected, byte 0x84 found"
    );
    assert_eq!(
        refusal(&with(&[&identifier, &read_only, &read_only])),
        "VPD at 0xb: each resource once expected, a second one found"
    );
    assert_eq!(
        refusal(&with(&[&identifier, &[0x90, 9, 0, b'P', b'N']])),
        "VPD at 0x7: the data of the resource expected, the end at 0x9 found"
    );
    assert_eq!(
        refusal(&with(&[&identifier, &resource(0x90, b"PN\x05abc")])),
        "VPD at 0xa: the value of the keyword expected, the end at 0xd found"
    );
    assert_eq!(
        refusal(&with(&[&identifier, &resource(0x90, b"PN\x01ax")])),
        "VPD at 0xb: a keyword of three bytes expected, the end at 0xc found"
    );
    assert_eq!(
        refusal(&with(&[&identifier, &resource(0x90, &[0, 0, 0])])),
        "VPD at 0x7: a keyword of two printable characters expected, 00 00 found"
    );
    assert_eq!(
        refusal(&[0x82, 1]),
        "VPD at 0x1: a 16-bit length expected, the end at 0x2 found"
    );
}

/// A function whose VPD answers after so many looks at the flag; every other access fails.
struct Board {
    data: Vec<u8>,
    looks: u32,
    state: Mutex<(u32, u32)>,
}

const CAPABILITY: u16 = 0x48;

impl Board {
    fn new(data: Vec<u8>, looks: u32) -> Self {
        Self {
            data,
            looks,
            state: Mutex::default(),
        }
    }

    fn unexpected(&self, operation: &'static str, offset: u16) -> ConfigError {
        ConfigError::Transfer {
            device: self.device(),
            operation,
            offset,
            reason: "not part of the protocol".to_owned(),
        }
    }
}

impl ConfigSpace for Board {
    fn read(&self, offset: u16) -> Result<u32, ConfigError> {
        let mut state = self.state.lock().unwrap();
        let (address, looked) = *state;
        match offset {
            0x04 => Ok(0x0010_0406),
            0x34 => Ok(0x60),
            0x60 => Ok(u32::from(CAPABILITY) << 8 | 0x10),
            CAPABILITY => {
                state.1 += 1;
                let flag = u32::from(looked >= self.looks) << 31;
                Ok(flag | address << 16 | 0x03)
            }
            0x4c => {
                let at = usize::try_from(address).unwrap();
                let mut four = [0xff; 4];
                for (byte, there) in four.iter_mut().zip(self.data.iter().skip(at)) {
                    *byte = *there;
                }
                Ok(u32::from_le_bytes(four))
            }
            _ => Err(self.unexpected("read", offset)),
        }
    }

    fn write(&self, offset: u16, value: u32) -> Result<(), ConfigError> {
        if offset != CAPABILITY || value >> 31 != 0 || !(value >> 16).is_multiple_of(4) {
            return Err(self.unexpected("write", offset));
        }
        *self.state.lock().unwrap() = (value >> 16, 0);
        Ok(())
    }

    fn device(&self) -> String {
        "0000:03:00.0".to_owned()
    }
}

#[test]
fn the_capability_gives_what_the_file_would() {
    let vpd = through_capability(&Board::new(board(), 2)).unwrap();
    assert_eq!(vpd, Vpd::parse(&board()).unwrap());
}

#[test]
fn a_capability_that_never_answers_is_given_up() {
    let error = through_capability(&Board::new(board(), u32::MAX)).unwrap_err();
    assert!(matches!(error, VpdError::TimedOut { offset: 0, .. }));
}

proptest! {
    #[test]
    fn any_bytes_are_vpd_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        match Vpd::parse(&bytes) {
            Ok(vpd) => prop_assert!(bytes.len() > vpd.identifier.len()),
            Err(VpdError::Format { offset, .. }) => prop_assert!(offset <= bytes.len()),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn a_board_with_changed_bytes_is_vpd_or_an_error_inside_it(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        length in any::<prop::sample::Index>(),
    ) {
        let mut bytes = board();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        bytes.truncate(length.index(bytes.len() + 1));
        match Vpd::parse(&bytes) {
            Ok(vpd) => prop_assert!(vpd.keywords.iter().all(|keyword| keyword.name.len() == 2)),
            Err(VpdError::Format { offset, .. }) => prop_assert!(offset <= bytes.len()),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn reading_by_resources_stops_at_the_end_tag(tail in proptest::collection::vec(any::<u8>(), 0..64)) {
        let board = board();
        let file = [board.clone(), tail].concat();
        let read = parse::collect(|offset, buffer| {
            let rest = file.get(offset..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        });
        prop_assert_eq!(read.unwrap(), board);
    }
}
