//! MFG_INFO and DEV_INFO: what the factory wrote to a card and what the card uses now
//! (images-fs3 6.1 to 6.3).

use super::ImageError;
use super::image_info::{u8_of, u16_of};
use super::info::{Uid, Uids};
use crate::bytes::{be32, be64, bits, text};
use crate::identity::Psid;

/// Bytes of MFG_INFO.
const MFG_SIZE: usize = 0x140;

/// Bytes of DEV_INFO.
const DEV_SIZE: usize = 0x200;

/// First 16 bytes of a valid DEV_INFO copy (FS4, FS5).
const DEV_SIGNATURE: [u32; 4] = [0x6d44_6576, 0x496e_666f, 0x2342_cafa, 0xbaca_fe00];

/// Switches whose MFG_INFO is in the new layout whatever version it claims: Spectrum-4, -5, -6,
/// Quantum-3, NVLink6 switch.
const ALWAYS_NEW: [u16; 5] = [0x254, 0x270, 0x274, 0x25b, 0x278];

/// What the factory wrote.
#[derive(Debug, Clone, Default)]
pub(super) struct MfgInfo {
    pub(super) psid: Option<Psid>,
    pub(super) uids: Option<Uids>,
    pub(super) prs_name: String,
}

/// What the device uses.
#[derive(Debug, Clone)]
pub(super) struct DevInfo {
    pub(super) uids: Uids,
    pub(super) vsd: String,
}

impl MfgInfo {
    /// Decodes the section of an image for the chip `hw_id`.
    pub(super) fn parse(bytes: &[u8], hw_id: u16) -> Result<Self, ImageError> {
        let Some(bytes) = bytes.get(..MFG_SIZE) else {
            return Err(too_short("MFG_INFO", bytes.len(), MFG_SIZE));
        };
        let version = be32(bytes, 0x1c).unwrap_or(0);
        let major = bits(version, 31, 24);
        let always_new = ALWAYS_NEW.contains(&hw_id);
        let uids = &bytes[0x20..0x60];
        let uids = match major {
            _ if always_new => base_uids(uids),
            0 => port_uids(uids),
            1 => base_uids(uids),
            _ => {
                return Err(ImageError::SectionVersion {
                    section: "MFG_INFO",
                    major,
                });
            }
        };
        let prs_name = if bits(version, 23, 16) == 1 {
            text(&bytes[0x60..0xc0])
        } else {
            String::new()
        };
        Ok(Self {
            psid: Psid::from_field(&bytes[..16]),
            uids: Some(uids),
            prs_name,
        })
    }
}

impl DevInfo {
    /// Whether the bytes begin with the signature of a valid copy (FS4, FS5). Of the two copies
    /// one has it; the other was invalidated when this one was written.
    pub(super) fn is_signed(bytes: &[u8]) -> bool {
        DEV_SIGNATURE
            .into_iter()
            .enumerate()
            .all(|(index, word)| be32(bytes, index * 4) == Some(word))
    }

    /// Decodes the section.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ImageError> {
        let Some(bytes) = bytes.get(..DEV_SIZE) else {
            return Err(too_short("DEV_INFO", bytes.len(), DEV_SIZE));
        };
        let major = bits(be32(bytes, 0x10).unwrap_or(0), 16, 8);
        let uids = &bytes[0x20..0x60];
        let uids = match major {
            1 => port_uids(uids),
            2 => base_uids(uids),
            _ => {
                return Err(ImageError::SectionVersion {
                    section: "DEV_INFO",
                    major,
                });
            }
        };
        Ok(Self {
            uids,
            vsd: text(&bytes[0x70..0x140]),
        })
    }
}

fn too_short(section: &'static str, found: usize, expected: usize) -> ImageError {
    ImageError::Section {
        section: section.into(),
        address: 0,
        reason: format!("{found:#x} bytes, {expected:#x} expected"),
    }
}

/// One UID entry of 16 bytes.
fn uid(block: &[u8], index: usize) -> Uid {
    let entry = block.get(index * 16..).unwrap_or_default();
    let head = be32(entry, 0).unwrap_or(0);
    Uid {
        value: be64(entry, 8).unwrap_or(0),
        count: u16_of((bits(head, 23, 16) << 8) | bits(head, 7, 0)),
        step: u8_of(bits(head, 15, 8)),
    }
}

fn port_uids(block: &[u8]) -> Uids {
    Uids::TwoPorts {
        guids: [uid(block, 0), uid(block, 1)],
        macs: [uid(block, 2), uid(block, 3)],
    }
}

fn base_uids(block: &[u8]) -> Uids {
    Uids::Base {
        guid: uid(block, 0),
        mac: uid(block, 1),
    }
}
