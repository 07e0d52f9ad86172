//! The sections a query reads of an FS3, FS4 or FS5 image, and the [`ImageInfo`] made of them.

use std::borrow::Cow;

use super::ImageError;
use super::address::Space;
use super::device_info::{DevInfo, MfgInfo};
use super::image_info::{ImageInfoSection, u8_of};
use super::info::ImageInfo;
use super::layout::{CrcPlace, Layout, Section};
use super::rom;
use super::section::kind;
use super::security::{self, Evidence, SignatureSections, UUID_SIZE};
use super::toc::low_half;
use super::verify::{CheckResult, Depth, Walk};
use crate::bytes::{be32, bits};
use crate::model::{self, ChipKind, ImageFormat};

/// Offset of the key-pair UUID in a signature section.
const SIGNATURE_KEY_UUID: usize = 0x10;

/// Firmware majors of switches whose branch tag stands in place of the numbers (images 5.1).
const BRANCHED_MAJORS: [u16; 14] = [11, 13, 15, 19, 21, 27, 29, 30, 31, 34, 35, 36, 37, 41];

/// Data bytes of a cache line; its check dword follows.
const CACHE_LINE: usize = 64;

/// What was read.
pub(super) struct Contents<'a> {
    dev_info_scheme: DevInfoScheme,
    image_info: Option<Cow<'a, [u8]>>,
    mfg_info: Option<Cow<'a, [u8]>>,
    dev_info: Option<Cow<'a, [u8]>>,
    rom: Option<Cow<'a, [u8]>>,
    signatures: SignatureSections,
    development: bool,
}

/// How many DEV_INFO sections an image has (images-fs3 6.3, images-fs4 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DevInfoScheme {
    /// FS3: one, at one of two places.
    One,
    /// FS4, FS5: two copies, of which one carries a signature.
    TwoCopies,
}

impl<'a> Contents<'a> {
    pub(super) fn new(dev_info_scheme: DevInfoScheme) -> Self {
        Self {
            dev_info_scheme,
            image_info: None,
            mfg_info: None,
            dev_info: None,
            rom: None,
            signatures: SignatureSections::default(),
            development: false,
        }
    }

    /// Whether a query reads sections of this type.
    const fn wants(section: u8, depth: Depth) -> bool {
        match depth {
            Depth::Version => section == kind::IMAGE_INFO,
            Depth::Info | Depth::Everything => matches!(
                section,
                kind::IMAGE_INFO
                    | kind::ROM_CODE
                    | kind::IMAGE_SIGNATURE_256
                    | kind::IMAGE_SIGNATURE_512
                    | kind::MFG_INFO
                    | kind::DEV_INFO
            ),
        }
    }

    /// What belongs to the device is not taken from among the image's sections, nor the reverse.
    const fn is_in_its_table(kind: u8, section: &Section) -> bool {
        section.device_data == matches!(kind, kind::MFG_INFO | kind::DEV_INFO)
    }

    /// Takes note of a section; reads and checks it when the walk asks for that.
    pub(super) fn visit(
        &mut self,
        walk: &mut Walk<'a>,
        space: Space<'a>,
        section: &Section,
    ) -> Result<(), ImageError> {
        let kind = u8_of(section.kind);
        self.signatures.keys |= matches!(kind, kind::PUBLIC_KEYS_2048 | kind::PUBLIC_KEYS_4096);
        self.signatures.signature |=
            matches!(kind, kind::IMAGE_SIGNATURE_256 | kind::IMAGE_SIGNATURE_512);
        let wanted = Self::wants(kind, walk.depth) && Self::is_in_its_table(kind, section);
        let everything = walk.depth == Depth::Everything;
        if wanted || everything || !section.device_data {
            in_range(walk, space, section)?;
        }
        if !wanted && (!everything || section.crc == CrcPlace::None) {
            if everything {
                walk.record(
                    section.name.clone(),
                    section.physical_extent(),
                    CheckResult::Ignored,
                );
            }
            return Ok(());
        }
        let bytes = if section.absolute {
            walk.source.read(section.physical, section.size)
        } else {
            space.read(section.address, section.size)
        }
        .map_err(|source| ImageError::read(section.name.clone(), source))?;
        if kind == kind::DEV_INFO && self.dev_info_scheme == DevInfoScheme::TwoCopies {
            self.take_dev_info_copy(walk, section, bytes);
            return Ok(());
        }
        if check(walk, section, &bytes)? && wanted {
            self.take(kind, section, bytes)?;
        }
        Ok(())
    }

    /// FS4 and FS5 keep two copies of DEV_INFO, of which one carries the signature; the other one
    /// was invalidated when this one was written. A power cut in between leaves two, and no
    /// number tells which is newer: the first good one counts (images-fs4 6.3).
    fn take_dev_info_copy(&mut self, walk: &mut Walk<'a>, section: &Section, bytes: Cow<'a, [u8]>) {
        if !DevInfo::is_signed(&bytes) {
            return;
        }
        match check(walk, section, &bytes) {
            Ok(false) => {}
            Err(fault) => walk.warnings.push(format!("device data: {fault}")),
            Ok(true) if self.dev_info.is_some() => walk.warnings.push(format!(
                "two valid DEV_INFO copies; the first is used, not the one at {:#x}",
                section.physical
            )),
            Ok(true) => self.dev_info = Some(bytes),
        }
    }

    /// Takes a section whose bytes were read and found right. Two info sections of one type would
    /// leave open which of them counts.
    fn take(
        &mut self,
        kind: u8,
        section: &Section,
        bytes: Cow<'a, [u8]>,
    ) -> Result<(), ImageError> {
        let place = match kind {
            kind::IMAGE_INFO => &mut self.image_info,
            kind::MFG_INFO => &mut self.mfg_info,
            kind::DEV_INFO => &mut self.dev_info,
            kind::ROM_CODE => {
                self.rom = Some(bytes);
                return Ok(());
            }
            _ => {
                let uuid = bytes.get(SIGNATURE_KEY_UUID..SIGNATURE_KEY_UUID + UUID_SIZE);
                self.development |= uuid.is_some_and(security::is_development_key);
                return Ok(());
            }
        };
        if place.replace(bytes).is_some() {
            return Err(ImageError::Section {
                section: section.name.clone(),
                address: section.address,
                reason: "there is a second one".to_owned(),
            });
        }
        Ok(())
    }

    /// IMAGE_INFO, decoded; `None` when the table has none.
    pub(super) fn image(&self) -> Result<Option<ImageInfoSection>, ImageError> {
        self.image_info
            .as_deref()
            .map(ImageInfoSection::parse)
            .transpose()
    }

    /// What must be among the device data of an image that has any.
    pub(super) const fn missing_device_data(&self, dev_info_too: bool) -> Option<ImageError> {
        if self.mfg_info.is_none() {
            return Some(ImageError::Missing("MFG_INFO"));
        }
        if dev_info_too && self.dev_info.is_none() {
            return Some(ImageError::Missing("DEV_INFO"));
        }
        None
    }

    /// FS5 keeps its ROM in a form nobody described: it is not shown.
    pub(super) fn forget_rom(&mut self) {
        self.rom = None;
    }

    /// Evidence for an image whose sections could be seen.
    pub(super) fn evidence(&self, image: &ImageInfoSection, version: Option<u32>) -> Evidence {
        Evidence {
            flags: image.flags(),
            sections: Some(self.signatures),
            development: self.development,
            encrypted: false,
            version,
        }
    }

    /// Everything put together. Fails when the image is for no chip we know or a section has a
    /// layout nobody knows.
    pub(super) fn into_info(
        self,
        image: ImageInfoSection,
        layout: &Layout,
        evidence: Evidence,
    ) -> Result<ImageInfo, ImageError> {
        let first = image.hw_ids.first().map_or(0, |hw| hw.id);
        let chip = model::by_hw_id(first).ok_or(ImageError::UnknownChip(first))?;
        let mfg = self.mfg_info.as_deref();
        let mfg = mfg.map(|bytes| MfgInfo::parse(bytes, first)).transpose()?;
        let mfg = mfg.unwrap_or_default();
        let device = self.dev_info.as_deref().map(DevInfo::parse).transpose()?;
        let (uids, device_vsd) = device.map(|device| (device.uids, device.vsd)).unzip();
        let roms = self.rom.map(|rom| rom::parse(&rom)).unwrap_or_default();
        let branch = branch(&image, chip.kind);
        Ok(ImageInfo {
            format: layout.format,
            start: layout.start,
            slot_log2: layout.slot_log2,
            size: layout.size,
            version: Some(image.version).filter(|version| !version.is_zero()),
            branch,
            date: image.date,
            time: image.time,
            psid: image.psid.clone(),
            original_psid: mfg.psid,
            vsd: image.vsd.clone(),
            device_vsd,
            vsd_vendor_id: Some(image.vsd_vendor_id),
            product_version: image.product_version.clone(),
            part_number: image.part_number().to_owned(),
            description: image.description().to_owned(),
            prs_name: image.prs_name().to_owned(),
            original_prs_name: mfg.prs_name,
            mic_version: Some(image.mic_version).filter(|&version| version != (0, 0, 0)),
            min_fit: None,
            issu_version: image.issu_version,
            config_sectors: None,
            config_pad: None,
            device_id: image
                .pci_device_id()
                .filter(|_| layout.format != ImageFormat::Fs3)
                .or_else(|| chip.pci_ids.first().copied()),
            hw_access_key: None,
            hw_ids: image.hw_ids,
            roms: roms.records,
            rom_remark: roms.remark,
            uids,
            original_uids: mfg.uids,
            blank_guids: false,
            reduced: layout.reduced,
            security: evidence.decide(),
            warnings: Vec::new(),
        })
    }
}

/// A section outside the image is no section.
fn in_range(walk: &Walk<'_>, space: Space<'_>, section: &Section) -> Result<(), ImageError> {
    let inside = if section.absolute {
        section.physical_extent().end() <= walk.source.size()
    } else {
        space.contains(section.address, section.size)
    };
    if inside {
        return Ok(());
    }
    Err(ImageError::Section {
        section: section.name.clone(),
        address: section.address,
        reason: format!(
            "its {:#x} bytes reach past the end at {:#x}",
            section.size,
            walk.source.size()
        ),
    })
}

/// Checks a section's CRC, wherever it is, and records the result. `false`: wrong.
fn check(walk: &mut Walk<'_>, section: &Section, bytes: &[u8]) -> Result<bool, ImageError> {
    let extent = section.physical_extent();
    let (covered, stored) = match section.crc {
        CrcPlace::Entry { stored } if !(section.cache_lines && is_tagged(bytes)) => (bytes, stored),
        CrcPlace::Entry { .. } | CrcPlace::None => {
            walk.record(section.name.clone(), extent, CheckResult::Ignored);
            return Ok(true);
        }
        CrcPlace::LastDword => {
            let Some((covered, last)) = bytes.split_last_chunk::<4>() else {
                return Err(ImageError::Section {
                    section: section.name.clone(),
                    address: section.address,
                    reason: "too short for the CRC in its last dword".to_owned(),
                });
            };
            (covered, low_half(u32::from_be_bytes(*last)))
        }
    };
    walk.check(section.name.clone(), extent, covered, stored)
}

/// Whether the lines of a cache-line section end in authentication tags (the section is encrypted)
/// instead of 16-bit CRCs (images-fs4 5).
fn is_tagged(bytes: &[u8]) -> bool {
    be32(bytes, CACHE_LINE).is_some_and(|dword| bits(dword, 31, 16) != 0)
}

/// The branch tag that stands in place of a switch image's version (images 5.1).
fn branch(image: &ImageInfoSection, kind: ChipKind) -> Option<String> {
    let tag = image.vsd.as_bytes();
    if kind != ChipKind::Switch || !(5..=28).contains(&tag.len()) {
        return None;
    }
    let ends_in = |separator: u8, digits: usize| {
        let (head, tail) = tag.split_at(tag.len() - digits);
        head.last() == Some(&separator) && tail.iter().all(u8::is_ascii_digit)
    };
    if !ends_in(b'_', 4) && !ends_in(b'-', 3) {
        return None;
    }
    let replaces = image.version.is_zero() || BRANCHED_MAJORS.contains(&image.version.major);
    replaces.then(|| image.vsd.clone())
}
