//! The sections that FS3 and FS4 share: IMAGE_INFO, MFG_INFO, DEV_INFO, signatures and keys
//! (images-fs3 6 and 7), and the list of firmware sections in table order.

use super::canvas::Canvas;
use super::ini;
use super::payload::payload;
use super::rom;
use super::{BuildError, ImageSpec, Security};
use crate::image::crc::image_crc;
use crate::model::ImageFormat;
use crate::pci::MELLANOX;
use crate::version::{Date, FwVersion};

/// Section types (images-fs3 4): those that readers look into, and those only a builder names.
pub(super) mod kind {
    pub use crate::image::section::kind::*;

    pub const PCI_CODE: u8 = 0x02;
    pub const MAIN_CODE: u8 = 0x03;
    pub const HW_BOOT_CFG: u8 = 0x08;
    pub const FW_BOOT_CFG: u8 = 0x11;
    pub const DBG_FW_INI: u8 = 0x30;
    pub const FORBIDDEN_VERSIONS: u8 = 0xa2;
    pub const RSA_PUBLIC_KEY: u8 = 0xa6;
    pub const RSA_4096_SIGNATURES: u8 = 0xa7;
    pub const VPD_R0: u8 = 0xe3;
    pub const NV_DATA_2: u8 = 0xe4;
    pub const FW_NV_LOG: u8 = 0xe5;
    pub const NV_DATA_0: u8 = 0xe6;
}

/// One section of the image.
#[derive(Debug)]
pub(super) struct Section {
    /// Section type.
    pub kind: u8,
    /// Contents.
    pub data: Vec<u8>,
}

/// Key-pair UUID of the made keys. Its last bytes are not zero, so that nothing takes it for a
/// development key (images 5.3).
const KEY_PAIR: [u8; 16] = *b"lab key pair one";
/// The exponent of every RSA key.
const EXPONENT: u32 = 65_537;
/// Key slots in a key section.
const KEY_SLOTS: usize = 8;
/// Authentication words: tokens permitted, RSA-2048 or RSA-4096.
const AUTHENTICATION_2048: u32 = 0x8000_0003;
const AUTHENTICATION_4096: u32 = 0x8000_0004;

/// The sections of the firmware, in table order.
pub(super) fn firmware(spec: &ImageSpec) -> Result<Vec<Section>, BuildError> {
    let code = usize::try_from(spec.code_size).map_err(|_| BuildError::DoesNotFit {
        what: "code",
        end: spec.code_size,
        limit: u64::from(u32::MAX),
    })?;
    let mut sections = vec![
        section(kind::PCI_CODE, payload("pci code", 0x800)),
        section(
            kind::MAIN_CODE,
            payload(
                &format!("main code {}", spec.version),
                code.next_multiple_of(4),
            ),
        ),
        section(kind::HW_BOOT_CFG, payload("boot registers", 0x200)),
        section(kind::FW_BOOT_CFG, payload("boot settings", 0x200)),
        section(kind::IMAGE_INFO, image_info(spec)?),
    ];
    if !spec.roms.is_empty() {
        sections.push(section(
            kind::ROM_CODE,
            rom::section(&spec.roms, spec.pci_device())?,
        ));
    }
    sections.push(section(kind::DBG_FW_INI, ini::section(spec)));
    if spec.security == Security::LegacyOnly {
        return Ok(sections);
    }
    sections.push(section(kind::IMAGE_SIGNATURE_256, image_signature(256)));
    sections.push(section(kind::PUBLIC_KEYS_2048, public_keys(256)));
    sections.push(section(kind::FORBIDDEN_VERSIONS, vec![0; 0x40]));
    if spec.long_keys() {
        sections.push(section(kind::IMAGE_SIGNATURE_512, image_signature(512)));
        sections.push(section(kind::PUBLIC_KEYS_4096, public_keys(512)));
    }
    if spec.has_secure_boot() {
        sections.push(section(kind::RSA_PUBLIC_KEY, rsa_public_key()));
        sections.push(section(
            kind::RSA_4096_SIGNATURES,
            payload("boot signatures", 0x600),
        ));
    }
    Ok(sections)
}

const fn section(kind: u8, data: Vec<u8>) -> Section {
    Section { kind, data }
}

/// IMAGE_INFO (images-fs3 6).
fn image_info(spec: &ImageSpec) -> Result<Vec<u8>, BuildError> {
    const MINOR: u32 = 3;
    let mut info = Canvas::new(0x400, 0);
    let flags = match spec.security {
        Security::LegacyOnly => 0,
        Security::Unsigned => 1 << 8,
        Security::Signed => (1 << 14) | (1 << 8),
        Security::Secure => (1 << 15) | (1 << 14) | (1 << 8),
    };
    let long_keys = if spec.long_keys() { 1 << 6 } else { 0 };
    info.word(0x000, (MINOR << 16) | flags | long_keys);
    put_version(&mut info, 0x004, spec.version);
    info.word(0x00c, bcd_time(spec.time) << 8);
    info.word(0x010, spec.date.to_bcd());
    put_version(&mut info, 0x014, FwVersion::new(2, 0, 0));
    info.word(0x01c, ids(spec.pci_device(), MELLANOX));
    info.word(0x020, ids(spec.subsystem.1, spec.subsystem.0));
    info.text(0x024, 16, "PSID", spec.psid.as_str())?;
    info.word(0x034, u32::from(MELLANOX));
    info.text(0x038, 208, "VSD", &spec.vsd)?;
    info.word(0x108, 0x8000_0000 | u32::from(spec.slot_log2));
    info.word(0x10c, 1 << spec.slot_log2);
    info.word(0x118, spec.hw_word());
    info.text(0x1c0, 16, "product version", &spec.product_version)?;
    info.text(0x1d0, 256, "description", &spec.description)?;
    info.text(0x340, 64, "part number", &spec.part_number)?;
    info.text(0x380, 96, "PRS name", &spec.prs_name)?;
    Ok(info.into_bytes())
}

const fn ids(device: u16, vendor: u16) -> u32 {
    ((device as u32) << 16) | vendor as u32
}

fn put_version(canvas: &mut Canvas, offset: usize, version: FwVersion) {
    canvas.word(offset, u32::from(version.major) << 16);
    canvas.word(
        offset + 4,
        (u32::from(version.minor) << 16) | u32::from(version.subminor),
    );
}

/// Second, minute, hour as three BCD bytes, second highest.
fn bcd_time((hour, minute, second): (u8, u8, u8)) -> u32 {
    // A date of which only the low digits are used: to_bcd is the one BCD encoder.
    let two = |value: u8| {
        Date {
            year: 0,
            month: 0,
            day: value,
        }
        .to_bcd()
    };
    (two(second) << 16) | (two(minute) << 8) | two(hour)
}

/// The UID block of MFG_INFO and DEV_INFO (images-fs3 6.1): two ports for Connect-IB, base
/// values for later chips.
fn uids(spec: &ImageSpec) -> Vec<u8> {
    let (guid, mac, count) = spec.device.addresses.map_or((0, 0, 0), |addresses| {
        (
            addresses.guid.value(),
            addresses.mac.value(),
            addresses.count,
        )
    });
    let step = u64::from(count.min(1));
    let entry = |value: u64| {
        let mut bytes = [0; 16];
        bytes[2] = (step & 0xff) as u8;
        bytes[3] = count;
        bytes[8..].copy_from_slice(&value.to_be_bytes());
        bytes
    };
    let second_port = u64::from(count) * step;
    let entries = if spec.model.has_base_addresses() {
        vec![entry(guid), entry(mac), [0; 16], [0; 16]]
    } else {
        vec![
            entry(guid),
            entry(guid + second_port),
            entry(mac),
            entry(mac + second_port),
        ]
    };
    entries.concat()
}

/// MFG_INFO (images-fs3 6.2), with the factory's PSID and addresses.
pub(super) fn mfg_info(spec: &ImageSpec) -> Result<Vec<u8>, BuildError> {
    const OVERRIDE: u32 = 1;
    let mut info = Canvas::new(0x140, 0);
    let psid = spec.device.original_psid.as_ref().unwrap_or(&spec.psid);
    info.text(0x00, 16, "PSID", psid.as_str())?;
    let major = u32::from(spec.model.has_base_addresses());
    info.word(0x1c, (major << 24) | OVERRIDE);
    info.put(0x20, &uids(spec));
    Ok(info.into_bytes())
}

/// Whether a DEV_INFO copy carries the signature (images-fs4 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DevInfoCopy {
    /// The copy in use.
    Current,
    /// The other place: no signature.
    Unused,
}

/// DEV_INFO (images-fs3 6.3). FS4 keeps a CRC in the last dword.
pub(super) fn dev_info(spec: &ImageSpec, copy: DevInfoCopy) -> Result<Vec<u8>, BuildError> {
    let mut info = Canvas::new(0x200, 0);
    if copy == DevInfoCopy::Current {
        info.put(0x00, b"mDevInfo\x23\x42\xca\xfa\xba\xca\xfe\x00");
    }
    let major = 1 + u32::from(spec.model.has_base_addresses());
    info.word(0x10, major << 8);
    info.put(0x20, &uids(spec));
    info.word(0x6c, u32::from(MELLANOX));
    info.text(0x70, 208, "device VSD", &spec.device.vsd)?;
    if spec.model.format != ImageFormat::Fs3 {
        let crc = image_crc(&info.bytes()[..0x1fc]);
        info.word(0x1fc, u32::from(crc));
    }
    Ok(info.into_bytes())
}

/// IMAGE_SIGNATURE: UUID, key pair, signature of `key` bytes (images-fs3 7).
fn image_signature(key: usize) -> Vec<u8> {
    let mut bytes = Canvas::new(0x20 + key + 0x20, 0);
    bytes.put(0x00, &payload("signature id", 16));
    bytes.put(0x10, &KEY_PAIR);
    bytes.put(0x20, &payload("signature", key));
    bytes.into_bytes()
}

/// PUBLIC_KEYS: eight slots, the first in use (images-fs3 7).
fn public_keys(key: usize) -> Vec<u8> {
    let slot = 0x20 + key;
    let mut bytes = Canvas::new(KEY_SLOTS * slot, 0);
    bytes.word(
        0x00,
        if key == 256 {
            AUTHENTICATION_2048
        } else {
            AUTHENTICATION_4096
        },
    );
    bytes.word(0x0c, EXPONENT);
    bytes.put(0x10, &KEY_PAIR);
    bytes.put(0x20, &payload("modulus", key));
    bytes.into_bytes()
}

/// RSA_PUBLIC_KEY: the same keys in another order (images-fs3 7).
fn rsa_public_key() -> Vec<u8> {
    let mut bytes = Canvas::new(KEY_SLOTS * 0x220, 0);
    bytes.word(0x00, EXPONENT);
    bytes.put(0x04, &KEY_PAIR);
    bytes.put(0x14, &payload("modulus", 512));
    bytes.word(0x214, AUTHENTICATION_4096);
    bytes.into_bytes()
}
