//! The device data sections and, from FS4 on, the DTOC that names them (images-fs3 8,
//! images-fs4 6).

use super::device_area::DeviceArea;
use super::sections::{self, DevInfoCopy, kind};
use super::toc::{self, CrcPlace, Entry, Table};
use super::{BuildError, ImageSpec};

/// One section of device data.
#[derive(Debug)]
pub(super) struct DeviceSection {
    /// Section type.
    pub kind: u8,
    /// Absolute address.
    pub address: u64,
    /// Contents.
    pub data: Vec<u8>,
    /// Where its CRC is.
    pub crc: CrcPlace,
}

impl DeviceSection {
    /// The entry for a table of contents.
    pub(super) fn entry(&self) -> Result<Entry<'_>, BuildError> {
        let address = u32::try_from(self.address).map_err(|_| BuildError::DoesNotFit {
            what: "device data",
            end: self.address,
            limit: u64::from(u32::MAX),
        })?;
        Ok(Entry {
            kind: self.kind,
            data: &self.data,
            address,
            crc: self.crc,
        })
    }
}

/// Sections with absolute addresses as bytes to lay down, ascending.
pub(super) fn into_runs(sections: Vec<DeviceSection>) -> Vec<(u64, Vec<u8>)> {
    let mut runs: Vec<_> = sections
        .into_iter()
        .map(|section| (section.address, section.data))
        .collect();
    runs.sort_by_key(|(address, _)| *address);
    runs
}

/// The sections of an FS3 device: one DEV_INFO, its CRC in the table; no VPD entry without VPD.
pub(super) fn fs3_sections(
    spec: &ImageSpec,
    area: &DeviceArea,
) -> Result<Vec<DeviceSection>, BuildError> {
    let mut sections = erased(area);
    sections.push(DeviceSection {
        kind: kind::DEV_INFO,
        address: area.dev_info[0],
        data: sections::dev_info(spec, DevInfoCopy::Current)?,
        crc: CrcPlace::Entry,
    });
    sections.push(manufacturer(spec, area)?);
    if !spec.device.vpd.is_empty() {
        sections.push(vpd(spec, area));
    }
    Ok(sections)
}

/// The sections of an FS4 or FS5 device and their DTOC, ready to lay down.
pub(super) fn with_dtoc(
    spec: &ImageSpec,
    area: &DeviceArea,
    layout_version: u8,
) -> Result<Vec<(u64, Vec<u8>)>, BuildError> {
    let mut sections = erased(area);
    for (address, copy) in area
        .dev_info
        .into_iter()
        .zip([DevInfoCopy::Current, DevInfoCopy::Unused])
    {
        sections.push(DeviceSection {
            kind: kind::DEV_INFO,
            address,
            data: sections::dev_info(spec, copy)?,
            crc: CrcPlace::Section,
        });
    }
    sections.push(manufacturer(spec, area)?);
    sections.push(vpd(spec, area));
    let entries = sections
        .iter()
        .map(|section| toc::fs4_entry(&section.entry()?))
        .collect::<Result<Vec<_>, _>>()?;
    let mut runs = into_runs(sections);
    // The table lies behind everything it names.
    runs.push((area.dtoc, toc::table(Table::Dtoc, layout_version, &entries)));
    Ok(runs)
}

/// The three non-volatile areas, erased: a new board has no settings and no log.
fn erased(area: &DeviceArea) -> Vec<DeviceSection> {
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

fn manufacturer(spec: &ImageSpec, area: &DeviceArea) -> Result<DeviceSection, BuildError> {
    Ok(DeviceSection {
        kind: kind::MFG_INFO,
        address: area.mfg_info,
        data: sections::mfg_info(spec)?,
        crc: CrcPlace::Entry,
    })
}

/// VPD as a section of whole dwords.
fn vpd(spec: &ImageSpec, area: &DeviceArea) -> DeviceSection {
    let mut data = spec.device.vpd.clone();
    data.resize(data.len().next_multiple_of(4), 0xff);
    DeviceSection {
        kind: kind::VPD_R0,
        address: area.vpd,
        data,
        crc: CrcPlace::Entry,
    }
}
