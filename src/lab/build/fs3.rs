//! FS3 images: header, BOOT2, ITOC; device data entries in the same ITOC (images-fs3).

use super::canvas::{Canvas, word_of};
use super::device_area::{DeviceArea, Place};
use super::fs2::{MARKER_A, boot2};
use super::sections::{self, DevInfoCopy, kind};
use super::toc::{self, CrcPlace, Entry, Table};
use super::{BuildError, Composition, ImageSpec};
use crate::model::ImageFormat;

const VERSION_WORD: usize = 0x24;
const BOOT2: usize = 0x38;
const ITOC: usize = 0x1000;
const SECTIONS: usize = ITOC + 2 * toc::PLACE;
/// Slot sizes a burn accepts (images 1.3).
const SLOT_LOG2: std::ops::RangeInclusive<u8> = 16..=24;

pub(super) fn compose(spec: &ImageSpec, place: Place) -> Result<Composition, BuildError> {
    if !SLOT_LOG2.contains(&spec.slot_log2) {
        return Err(BuildError::SlotSize {
            format: ImageFormat::Fs3,
            log2: spec.slot_log2,
            least: *SLOT_LOG2.start(),
            most: *SLOT_LOG2.end(),
        });
    }
    let mut image = Canvas::new(SECTIONS, 0xff);
    image.put(0, &[0; BOOT2]);
    image.put(0, &MARKER_A);
    // Format 3, binary version 1.1.
    image.word(
        VERSION_WORD,
        (3 << 24) | (u32::from(spec.slot_log2) << 16) | 0x0101,
    );
    image.put(BOOT2, &boot2(0xc00));
    let mut entries = Vec::new();
    for section in sections::firmware(spec)? {
        image.align(toc::SECTION_ALIGNMENT);
        entries.push(toc::fs3_image_entry(&Entry {
            kind: section.kind,
            data: &section.data,
            address: word_of(image.len(), "section")?,
            crc: CrcPlace::Entry,
        })?);
        image.put(image.len(), &section.data);
    }
    let area = place.area(ImageFormat::Fs3, image.len() as u64);
    let mut device = device_sections(spec, &area)?;
    for section in &device {
        entries.push(toc::fs3_device_entry(&Entry {
            kind: section.kind,
            data: &section.data,
            address: absolute(section.address)?,
            crc: section.crc,
        })?);
    }
    image.put(ITOC, &toc::table(Table::Itoc, 0, &entries));
    device.sort_by_key(|section| section.address);
    Ok(Composition {
        image: image.into_bytes(),
        device: device
            .into_iter()
            .map(|section| (section.address, section.data))
            .collect(),
        size: area.end,
    })
}

/// One section of device data.
pub(super) struct DeviceSection {
    pub kind: u8,
    /// Absolute.
    pub address: u64,
    pub data: Vec<u8>,
    pub crc: CrcPlace,
}

/// An absolute address as table entries store it.
pub(super) fn absolute(address: u64) -> Result<u32, BuildError> {
    u32::try_from(address).map_err(|_| BuildError::DoesNotFit {
        what: "device data",
        end: address,
        limit: u64::from(u32::MAX),
    })
}

/// The three non-volatile areas, erased: a new board has no settings and no log.
pub(super) fn erased_sections(area: &DeviceArea) -> Vec<DeviceSection> {
    [
        (kind::FW_NV_LOG, area.nv_log),
        (kind::NV_DATA_0, area.nv_data_0),
        (kind::NV_DATA_2, area.nv_data_2),
    ]
    .into_iter()
    .map(|(kind, address)| DeviceSection {
        kind,
        address,
        data: vec![0xff; area.nv_size as usize],
        crc: CrcPlace::None,
    })
    .collect()
}

/// VPD as a section of whole dwords.
pub(super) fn vpd_section(spec: &ImageSpec, area: &DeviceArea) -> DeviceSection {
    let mut data = spec.device.vpd.clone();
    data.resize(data.len().next_multiple_of(4), 0xff);
    DeviceSection {
        kind: kind::VPD_R0,
        address: area.vpd,
        data,
        crc: CrcPlace::Entry,
    }
}

fn device_sections(spec: &ImageSpec, area: &DeviceArea) -> Result<Vec<DeviceSection>, BuildError> {
    let mut sections = erased_sections(area);
    sections.push(DeviceSection {
        kind: kind::DEV_INFO,
        address: area.dev_info[0],
        data: sections::dev_info(spec, &spec.device, DevInfoCopy::Current)?,
        crc: CrcPlace::Entry,
    });
    sections.push(DeviceSection {
        kind: kind::MFG_INFO,
        address: area.mfg_info,
        data: sections::mfg_info(spec, &spec.device)?,
        crc: CrcPlace::Entry,
    });
    if !spec.device.vpd.is_empty() {
        sections.push(vpd_section(spec, area));
    }
    Ok(sections)
}
