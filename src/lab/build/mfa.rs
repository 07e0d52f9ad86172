//! Packs images into an MFA v1 bundle, as the vendor's tools do (bundles 1).
//!
//! ```text
//! header            "MFAR", version 0.1                       16 bytes
//! MAP   (xz)        a board a PSID: metadata, then one 40-byte entry a part
//! TOC   (xz)        24 bytes a part: place and size in DATA, type, version
//! DATA  (xz)        the image bytes
//! CRC-32            over all before it
//! ```
//!
//! Every board has its firmware with all the bytes, and an empty part for each ROM, which is only
//! there to be listed; each in a group of its own.

use std::io::Write;

use liblzma::stream::{Check, Stream};
use liblzma::write::XzEncoder;

use super::canvas::Canvas;
use super::rom::{Rom, RomKind};
use crate::identity::Psid;
use crate::version::FwVersion;

/// Version 0.1 of the format.
const VERSION: u32 = 1;
const MAP_HEADER: usize = 36;
const IMAGE_ENTRY: usize = 40;
const TOC_ENTRY: usize = 24;
/// Section flag: the payload is an XZ stream.
const COMPRESSED: u8 = 1;
/// Image type of firmware (bundles 1.6).
const FIRMWARE: u32 = 1;
/// Fastest preset: the payload is made for it, and a lab is made often.
const PRESET: u32 = 0;

/// A bundle that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A length does not fit its field.
    #[error("{psid}: {what} of {len} does not fit its field (at most {limit})")]
    TooLarge {
        /// Board.
        psid: Psid,
        /// What is too large.
        what: &'static str,
        /// Its length or number.
        len: usize,
        /// The most there can be.
        limit: usize,
    },
    /// The compressor failed.
    #[error("cannot compress the {section} section: {reason}")]
    Compression {
        /// Which section.
        section: &'static str,
        /// What it says.
        reason: std::io::Error,
    },
}

/// One board's image.
#[derive(Debug, Clone)]
pub struct PackedImage {
    /// Board.
    pub psid: Psid,
    /// Part number (metadata `PN`).
    pub part_number: String,
    /// Description (metadata `DESCRIPTION`).
    pub description: String,
    /// Firmware version.
    pub firmware: FwVersion,
    /// ROM versions, listed beside the firmware's.
    pub roms: Vec<Rom>,
    /// The image file.
    pub image: Vec<u8>,
}

/// Collects images and packs them.
#[derive(Debug, Default)]
pub struct Packer {
    map: Vec<u8>,
    toc: Vec<u8>,
    data: Vec<u8>,
}

impl Packer {
    /// An empty bundle.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one board's image.
    ///
    /// # Errors
    /// [`PackError::TooLarge`].
    pub fn add(&mut self, packed: &PackedImage) -> Result<(), PackError> {
        let too_large = |what, len, limit| PackError::TooLarge {
            psid: packed.psid.clone(),
            what,
            len,
            limit,
        };
        let size = u32::try_from(packed.image.len())
            .map_err(|_| too_large("image", packed.image.len(), u32::MAX as usize))?;
        let first_part = self.toc.len() / TOC_ENTRY;
        let firmware = packed.firmware;
        self.add_part(
            0x0001,
            size,
            [firmware.major, firmware.minor, firmware.subminor],
        );
        for rom in &packed.roms {
            self.add_part(part_type(rom.kind), 0, rom.version);
        }
        let parts = 1 + packed.roms.len();
        self.data.extend_from_slice(&packed.image);

        let metadata = metadata(&[
            ("PN", &packed.part_number),
            ("DESCRIPTION", &packed.description),
        ]);
        let metadata_size = u16::try_from(metadata.len())
            .map_err(|_| too_large("metadata", metadata.len(), usize::from(u16::MAX)))?;
        let count = u8::try_from(parts)
            .map_err(|_| too_large("number of parts", parts, usize::from(u8::MAX)))?;
        let mut head = Canvas::new(MAP_HEADER, 0);
        head.put(0, packed.psid.as_str().as_bytes());
        head.put(32, &[count, 0]);
        head.put(34, &metadata_size.to_be_bytes());
        self.map.extend_from_slice(head.bytes());
        self.map.extend_from_slice(&metadata);
        for (group, part) in (1..=count).zip(first_part..) {
            let mut entry = Canvas::new(IMAGE_ENTRY, 0);
            entry.word(0, (part * TOC_ENTRY) as u32);
            entry.word(4, (FIRMWARE << 16) | u32::from(group));
            self.map.extend_from_slice(entry.bytes());
        }
        Ok(())
    }

    /// A TOC entry for a part that starts at the present end of DATA.
    fn add_part(&mut self, kind: u16, size: u32, version: [u16; 3]) {
        let offset = (self.data.len() as u64).to_be_bytes();
        let mut entry = Canvas::new(TOC_ENTRY, 0);
        entry.put(0, &offset[4..]);
        entry.word(4, size);
        entry.put(8, &kind.to_be_bytes());
        entry.put(10, &[0, 3]);
        for (index, number) in version.iter().enumerate() {
            entry.put(12 + 2 * index, &number.to_be_bytes());
        }
        entry.put(20, &offset[2..4]);
        self.toc.extend_from_slice(entry.bytes());
    }

    /// The bundle file.
    ///
    /// # Errors
    /// [`PackError::Compression`].
    pub fn pack(&self) -> Result<Vec<u8>, PackError> {
        let mut file = b"MFAR".to_vec();
        file.extend_from_slice(&VERSION.to_be_bytes());
        file.extend_from_slice(&[0; 8]);
        for (kind, name, payload) in [
            (1, "MAP", &self.map),
            (2, "TOC", &self.toc),
            (3, "DATA", &self.data),
        ] {
            let stored = compress(name, payload)?;
            file.extend_from_slice(&[kind, 0, 0, COMPRESSED]);
            // Below 4 GiB: packing is for labs, and compresses.
            file.extend_from_slice(&(stored.len() as u32).to_be_bytes());
            file.extend_from_slice(&stored);
        }
        let crc = crc32(&file);
        file.extend_from_slice(&crc.to_be_bytes());
        Ok(file)
    }
}

/// Sub-image type (bundles 1.7). Listings have no name for NVMe's.
const fn part_type(kind: RomKind) -> u16 {
    match kind {
        RomKind::Clp => 0x101,
        RomKind::Pxe => 0x110,
        RomKind::Uefi => 0x111,
        RomKind::Nvme => 0x113,
        RomKind::Fcode => 0x121,
    }
}

/// Key/value metadata with its header, padded to whole dwords (bundles 1.5).
fn metadata(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = vec![1, 0];
    bytes.extend_from_slice(&(pairs.len() as u16).to_be_bytes());
    for (key, value) in pairs {
        for text in [key, value] {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
    }
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// One XZ stream with CRC32 check, zero padded to whole dwords (bundles 0.5).
fn compress(section: &'static str, payload: &[u8]) -> Result<Vec<u8>, PackError> {
    let failed = |reason| PackError::Compression { section, reason };
    let stream =
        Stream::new_easy_encoder(PRESET, Check::Crc32).map_err(|error| failed(error.into()))?;
    let mut encoder = XzEncoder::new_stream(Vec::new(), stream);
    encoder.write_all(payload).map_err(failed)?;
    let mut bytes = encoder.finish().map_err(failed)?;
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    Ok(bytes)
}

/// CRC-32/ISO-HDLC (bundles 0.3), a nibble at a time: a packed bundle is small.
fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    const TABLE: [u32; 16] = {
        let mut table = [0; 16];
        let mut index = 0;
        while index < 16 {
            let mut crc = index as u32;
            let mut bit = 0;
            while bit < 4 {
                crc = if crc & 1 == 0 {
                    crc >> 1
                } else {
                    (crc >> 1) ^ POLYNOMIAL
                };
                bit += 1;
            }
            table[index] = crc;
            index += 1;
        }
        table
    };
    let nibble = |crc: u32| (crc >> 4) ^ TABLE[(crc & 0xf) as usize];
    !bytes
        .iter()
        .fold(u32::MAX, |crc, &byte| nibble(nibble(crc ^ u32::from(byte))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
