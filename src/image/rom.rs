//! Expansion ROM records: which PXE, UEFI and other ROMs an image carries (images 4).
//!
//! A ROM section is scanned for `mlxsign:`; each hit is followed by a small little-endian record.

use super::image_info::{u8_of, u16_of};
use super::info::RomInfo;
use crate::bytes::{bits, le32};

/// What marks a record.
const SIGNATURE: &[u8] = b"mlxsign:";

/// Records kept; a further one is only reported.
const MAX_RECORDS: usize = 5;

/// PCI vendor id all ROMs are for.
const VENDOR: u16 = 0x15b3;

/// Product id of the record whose version is a text.
pub const TEXT_CLP: u16 = 0xf;

/// First product id with port, protocol and CPU fields.
const FIRST_WITH_FIELDS: u16 = 0x10;

/// Product id of the CLP record without port and protocol.
const PLAIN_CLP: u16 = 0x12;

/// Product ids whose presence says that the byte checksum does not hold: UEFI, FCODE.
const WITHOUT_CHECKSUM: [u16; 2] = [0x11, 0x21];

/// What a ROM section holds.
#[derive(Debug, Default)]
pub(super) struct Roms {
    pub(super) records: Vec<RomInfo>,
    /// A warning, or with no records the reason why there are none.
    pub(super) remark: Option<String>,
}

/// Reads the records of a ROM section.
pub(super) fn parse(rom: &[u8]) -> Roms {
    let mut scan = Scan::default();
    let mut rest = rom;
    while let Some(record) = after_signature(rest) {
        if scan.records.len() == MAX_RECORDS {
            return scan.finish(Some(format!(
                "Number of exp ROMs exceeds the maximum allowed number ({MAX_RECORDS})"
            )));
        }
        match scan.record(record, rom) {
            Ok(used) => rest = record.get(used..).unwrap_or_default(),
            Err(reason) => return Roms::failed(reason),
        }
    }
    if scan.records.is_empty() {
        return Roms::failed("Cannot get ROM version. Signature not found.".to_owned());
    }
    if scan.without_checksum {
        return scan.finish(None);
    }
    match checksum(rom) {
        Ok(0) => scan.finish(None),
        Ok(sum) => scan.finish(Some(format!(
            "Bad ROM Checksum (0x{sum:02x}), ROM info may not be displayed correctly."
        ))),
        Err(reason) => Roms::failed(reason),
    }
}

/// What follows the first signature in `bytes`.
fn after_signature(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes;
    loop {
        let at = rest
            .iter()
            .position(|byte| SIGNATURE.first() == Some(byte))?;
        rest = rest.get(at..)?;
        if let Some(after) = rest.strip_prefix(SIGNATURE) {
            return Some(after);
        }
        rest = rest.get(1..)?;
    }
}

impl Roms {
    fn failed(reason: String) -> Self {
        Self {
            records: Vec::new(),
            remark: Some(reason),
        }
    }
}

#[derive(Default)]
struct Scan {
    records: Vec<RomInfo>,
    warning: Option<String>,
    without_checksum: bool,
    common_device: Option<u16>,
}

impl Scan {
    /// Reads the record after a signature; returns how many bytes it took.
    fn record(&mut self, record: &[u8], rom: &[u8]) -> Result<usize, String> {
        let dword = |offset| {
            le32(record, offset).ok_or_else(|| "ROM record reaches past the section".to_owned())
        };
        let (first, second, third) = (dword(0)?, dword(4)?, dword(8)?);
        let product_id = u16_of(bits(first, 31, 16));
        self.without_checksum |= WITHOUT_CHECKSUM.contains(&product_id);
        if product_id == TEXT_CLP {
            self.text_clp(record, first, rom)?;
            return Ok(12);
        }
        let fields = product_id >= FIRST_WITH_FIELDS;
        let sided = fields && product_id != PLAIN_CLP;
        let field = |high, low| u8_of(bits(third, high, low));
        let device_id = Some(u16_of(bits(third, 31, 16))).filter(|&id| fields && id != 0);
        self.note_device(device_id);
        self.records.push(RomInfo {
            product_id,
            kind: kind(product_id),
            version: vec![bits(first, 7, 0), bits(second, 23, 16), bits(second, 15, 0)],
            cpu: Some(field(11, 8)).filter(|&cpu| fields && cpu != 0),
            port: Some(field(15, 12)).filter(|&port| sided && port != 0),
            protocol: Some(field(7, 0)).filter(|&protocol| sided && protocol != 0xff),
            device_id,
        });
        Ok(12)
    }

    /// The record with a version text, of old CLP ROMs.
    fn text_clp(&mut self, record: &[u8], first: u32, rom: &[u8]) -> Result<(), String> {
        let invalid = || "CLP record with an invalid length".to_owned();
        let lengths = le32(record, 12).ok_or_else(invalid)?;
        let text_len = usize::from(u8_of(bits(lengths, 15, 8)));
        let dwords = usize::from(u8_of(bits(lengths, 7, 0)));
        if dwords < text_len.div_ceil(4) + 4 {
            return Err(invalid());
        }
        let text = record.get(16..16 + text_len).ok_or_else(invalid)?;
        let digits: String = text
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .map(|&byte| char::from(byte))
            .collect();
        let version = digits.parse().unwrap_or_else(|_| bits(first, 7, 0));
        let device_id = self.pci_header(rom)?;
        self.note_device(device_id);
        self.records.push(RomInfo {
            product_id: TEXT_CLP,
            kind: kind(TEXT_CLP),
            version: vec![version],
            cpu: None,
            port: None,
            protocol: None,
            device_id,
        });
        Ok(())
    }

    /// Device id from the PCI data structure of the option ROM.
    fn pci_header(&mut self, rom: &[u8]) -> Result<Option<u16>, String> {
        let missing = || "ROM without a PCI data structure".to_owned();
        let header = usize::from(u16_of(le32(rom, 0x18).ok_or_else(missing)?));
        let ids = le32(rom, header + 4).ok_or_else(missing)?;
        let vendor = u16_of(ids);
        if vendor != VENDOR {
            self.warning = Some(format!(
                "The Exp-ROM PCI vendor ID: 0x{vendor:x} does not match the expected value: 0x{VENDOR:x}."
            ));
        }
        Ok(Some(u16_of(bits(ids, 31, 16))).filter(|&id| id != 0))
    }

    /// All ROMs of an image are for one device.
    fn note_device(&mut self, device: Option<u16>) {
        match (self.common_device, device) {
            (None, Some(_)) => self.common_device = device,
            (Some(common), Some(other)) if common != other => {
                self.warning = Some("The device IDs of the ROMs mismatched.".to_owned());
            }
            _ => {}
        }
    }

    fn finish(self, remark: Option<String>) -> Roms {
        Roms {
            records: self.records,
            remark: remark.or(self.warning),
        }
    }
}

/// Byte sum of the first option ROM, over the length it states.
fn checksum(rom: &[u8]) -> Result<u8, String> {
    let units = rom.get(2).copied().unwrap_or(0);
    let length = usize::from(units) * 512;
    match rom.get(..length) {
        Some(image) if length != 0 => Ok(image.iter().fold(0, |sum, &byte| sum.wrapping_add(byte))),
        _ => Err(format!(
            "ROM length {length:#x} does not fit its section of {:#x} bytes",
            rom.len()
        )),
    }
}

/// Name of a product id, as mlxup prints it.
#[must_use]
pub fn product_name(product_id: u16) -> Option<&'static str> {
    Some(match product_id {
        0x1 => "CLP1",
        0x2 => "CLP2",
        0x3 => "CLP3",
        0x4 => "CLP4",
        0xf | 0x12 => "CLP",
        0x10 => "PXE",
        0x11 => "UEFI",
        0x13 => "NVMe",
        0x14 => "UEFI Virtio net",
        0x15 => "UEFI Virtio blk",
        0x16 => "PXE Virtio net",
        0x21 => "FCODE",
        _ => return None,
    })
}

/// Name of a product id; an unknown one is named by its number.
fn kind(product_id: u16) -> String {
    product_name(product_id).map_or_else(|| format!("0x{product_id:x}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ROM of 512 bytes with these records, its byte checksum right.
    fn rom(records: &[[u32; 3]]) -> Vec<u8> {
        let mut rom = vec![0x55, 0xaa, 1, 0xeb];
        rom.resize(0x40, 0);
        for record in records {
            rom.extend_from_slice(SIGNATURE);
            rom.extend(record.iter().flat_map(|dword| dword.to_le_bytes()));
        }
        rom.resize(512, 0);
        let sum = checksum(&rom).unwrap();
        rom[511] = 0u8.wrapping_sub(sum);
        rom
    }

    const PXE: [u32; 3] = [0x10_0003, 0x06_01f6, 0x1015_01ff];

    #[test]
    fn a_record_names_kind_version_and_device() {
        let roms = parse(&rom(&[PXE]));
        assert_eq!(roms.remark, None);
        let [pxe] = roms.records.as_slice() else {
            panic!("{roms:?}")
        };
        assert_eq!(pxe.kind, "PXE");
        assert_eq!(pxe.version, [3, 6, 502]);
        assert_eq!(pxe.version_text(), "3.6.0502");
        assert_eq!(pxe.device_id, Some(0x1015));
        assert_eq!((pxe.cpu, pxe.port, pxe.protocol), (Some(1), None, None));
    }

    #[test]
    fn roms_for_two_devices_are_remarked() {
        let uefi = [0x11_000e, 0x19_0011, 0x1017_03ff];
        let remark = parse(&rom(&[PXE, uefi])).remark.unwrap();
        assert_eq!(remark, "The device IDs of the ROMs mismatched.");
    }

    #[test]
    fn a_sixth_record_is_not_kept() {
        let roms = parse(&rom(&[PXE; 6]));
        assert_eq!(roms.records.len(), MAX_RECORDS);
        assert!(roms.remark.unwrap().contains("maximum allowed number (5)"));
    }

    #[test]
    fn a_byte_sum_that_is_not_zero_is_remarked() {
        let mut bad = rom(&[PXE]);
        bad[500] = 1;
        let remark = parse(&bad).remark.unwrap();
        assert!(remark.starts_with("Bad ROM Checksum (0x01)"), "{remark}");
    }

    #[test]
    fn what_reaches_past_the_section_is_an_error_not_a_read() {
        assert!(parse(b"").remark.unwrap().contains("Signature not found"));
        assert!(parse(b"mlxsign").remark.unwrap().contains("not found"));
        let cut = parse(b"mlxsign:\x03\0\x10\0");
        assert!(cut.records.is_empty());
        assert!(cut.remark.unwrap().contains("past the section"));
        let mut no_length = rom(&[PXE]);
        no_length[2] = 0;
        assert!(parse(&no_length).remark.unwrap().contains("does not fit"));
        let mut long = rom(&[PXE]);
        long[2] = 200;
        assert!(parse(&long).remark.unwrap().contains("does not fit"));
    }

    #[test]
    fn a_text_version_longer_than_its_record_is_refused() {
        let mut old = vec![0; 0x40];
        old.extend_from_slice(SIGNATURE);
        old.extend_from_slice(&[7, 0, 0xf, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 200, 0, 0]);
        assert!(parse(&old).remark.unwrap().contains("invalid length"));
    }
}
