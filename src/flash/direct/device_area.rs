//! The device data of a card in recovery that has lost it: made anew from what its owner says
//! (images-fs4 6.2, images-fs3 6 and 8). What of it is still good stays as it is: the factory's
//! addresses above all, which no label tells apart from those in use. All else in the area is left
//! erased; firmware fills it.

use crate::access::EraseUnit;
use crate::bytes::{ByteSource, ReadError, bits};
use crate::identity::Psid;
use crate::image::crc::image_crc;
use crate::image::{CrcPlace, Extent, Layout, Section};
use crate::model::{ImageFormat, Model};
use crate::pci::MELLANOX;

use super::identity::RecoveryIdentity;
use super::leftover;
use super::refusal::Refusal;
use super::toc::{self, CrcMode, FS3_DEVICE_DATA, RECORD, Record};

/// Section types (images-fs3 4).
const DEV_INFO: u8 = 0xe1;
const MFG_INFO: u8 = 0xe0;
const VPD_R0: u8 = 0xe3;
const NV_DATA_2: u8 = 0xe4;
const FW_NV_LOG: u8 = 0xe5;
const NV_DATA_0: u8 = 0xe6;

/// Flash up to this size has the layout of ConnectX-5 (images-fs4 6.2).
const SMALL_FLASH: u64 = 0x100_0000;

pub(super) const DEV_INFO_SIGNATURE: &[u8; 16] = b"mDevInfo\x23\x42\xca\xfa\xba\xca\xfe\x00";

/// Bytes of each area that firmware fills.
const FIRMWARE_AREA: usize = 0x1_0000;

/// Device data to write: everything from its start to the end of the flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeviceArea {
    /// First byte.
    pub(super) start: u64,
    /// What is programmed, each with its address, in this order.
    pub(super) runs: Vec<(u64, Vec<u8>)>,
    /// The entries that name it in an FS3 image; FS4 has its own table among the runs.
    pub(super) entries: Vec<Record>,
}

/// Distances from the end of the flash.
#[derive(Debug)]
pub(super) struct Places {
    nv_log: u64,
    nv_data_0: u64,
    nv_data_2: u64,
    dev_info: u64,
    pub(super) mfg_info: u64,
}

const FS3: Places = Places {
    nv_log: 0x4_0000,
    nv_data_0: 0x3_0000,
    nv_data_2: 0x2_0000,
    dev_info: 0x2000,
    mfg_info: 0x1000,
};

const FS4_SMALL: Places = Places {
    nv_log: 0x7_0000,
    nv_data_0: 0x5_0000,
    nv_data_2: 0x4_0000,
    dev_info: 0x3_0000,
    mfg_info: 0x8000,
};

const FS4_LARGE: Places = Places {
    nv_log: 0x10_0000,
    nv_data_0: 0xe_0000,
    nv_data_2: 0xc_0000,
    dev_info: 0xa_0000,
    mfg_info: 0x8000,
};

/// Distance of the blank DEV_INFO from the valid one, and of VPD from MFG_INFO (FS4).
const OTHER_DEV_INFO: u64 = 0x1_0000;
/// Distance of the second place of DEV_INFO from the first, which is the higher one (FS3).
const OTHER_PLACE: u64 = 0x1000;
pub(super) const VPD_AFTER_MFG: u64 = 0x140;
/// The device table is in the last 4 KiB.
const DTOC: u64 = 0x1000;

impl Places {
    /// The reference layout for a flash of `flash_size` bytes.
    pub(super) const fn of(format: ImageFormat, flash_size: u64) -> Self {
        match format {
            ImageFormat::Fs3 => FS3,
            _ if flash_size <= SMALL_FLASH => FS4_SMALL,
            _ => FS4_LARGE,
        }
    }

    /// The two places DEV_INFO may be at.
    pub(super) const fn dev_info_copies(&self, format: ImageFormat) -> [u64; 2] {
        match format {
            ImageFormat::Fs3 => [self.dev_info, self.dev_info + OTHER_PLACE],
            _ => [self.dev_info, self.dev_info - OTHER_DEV_INFO],
        }
    }
}

/// Sections that are still good, of a card whose other device data is not.
#[derive(Debug, Default)]
pub(super) struct Standing {
    dev_info: Option<Vec<u8>>,
    mfg_info: Option<Vec<u8>>,
    vpd: Option<Vec<u8>>,
}

impl Standing {
    /// Those of the sections in `layout` whose checksums are right.
    pub(super) fn read(flash: &dyn ByteSource, layout: &Layout) -> Self {
        let good = |kind: u8| {
            let named = layout.sections.iter();
            let named = named.filter(move |s| s.device_data && s.kind == u32::from(kind));
            named.filter_map(|section| checked(flash, section))
        };
        let sized = |kind, size: u64| good(kind).find(|bytes| bytes.len() as u64 == size);
        let signed = |bytes: &Vec<u8>| bytes.starts_with(DEV_INFO_SIGNATURE);
        Self {
            dev_info: sized(DEV_INFO, leftover::DEV_INFO_SIZE).filter(signed),
            mfg_info: sized(MFG_INFO, leftover::MFG_INFO_SIZE),
            vpd: good(VPD_R0).find(|bytes| bytes.len() as u64 <= leftover::VPD_LIMIT),
        }
    }

    /// The 64 bytes of addresses that say who the card is, if they are none others than those given,
    /// or in use.
    fn uids(&self, model: &Model, told: &RecoveryIdentity) -> Option<&[u8]> {
        let is_told =
            |bytes: &&Vec<u8>| leftover::addresses(bytes, model) == Some((told.guid, told.mac));
        let of_factory = self.mfg_info.as_ref().filter(is_told);
        let bytes = self.dev_info.as_ref().or(of_factory)?;
        bytes.get(leftover::UIDS)
    }

    /// What the owner should know of addresses that were given.
    pub(super) fn notes(&self, model: &Model, told: &RecoveryIdentity) -> Vec<String> {
        let factory = self.mfg_info.as_ref();
        let factory = factory.and_then(|bytes| leftover::addresses(bytes, model));
        match factory.filter(|&factory| factory != (told.guid, told.mac)) {
            Some((guid, mac)) => vec![format!(
                "the addresses given are not the factory's (GUID {guid}, MAC {mac}), which the \
                 flash still holds and keeps"
            )],
            None => Vec::new(),
        }
    }
}

/// A section whose checksum is right.
fn checked(flash: &dyn ByteSource, section: &Section) -> Option<Vec<u8>> {
    let bytes = flash.read(section.physical, section.size).ok()?;
    let good = match section.crc {
        CrcPlace::Entry { stored } => stored == image_crc(&bytes),
        CrcPlace::LastDword => {
            let (covered, last) = bytes.split_last_chunk::<4>()?;
            bits(u32::from_be_bytes(*last), 15, 0) == u32::from(image_crc(covered))
        }
        CrcPlace::None => false,
    };
    good.then(|| bytes.into_owned())
}

/// Makes the device data of a card with a flash of `flash_size` bytes. `standing` is what could
/// still be read of it.
pub(super) fn rebuild(
    model: &Model,
    identity: &RecoveryIdentity,
    psid: &Psid,
    (flash_size, standing): (u64, &Standing),
) -> Result<DeviceArea, Refusal> {
    identity.check()?;
    let places = Places::of(model.format, flash_size);
    let start = flash_size
        .checked_sub(places.nv_log)
        .ok_or(Refusal::TooLarge {
            size: places.nv_log,
            room: flash_size,
        })?;
    let contents = Contents::of(model, identity, psid, standing);
    let builder = Builder::new(model.format, flash_size);
    Ok(builder.fill((&places, places.dev_info), start, &contents))
}

/// The table of device data that stands on the flash in a reference layout, DEV_INFO at `dev_info`
/// from the end: for FS4 the device table, for FS3 entries. No section is written.
pub(super) fn table_of(
    format: ImageFormat,
    flash_size: u64,
    (places, dev_info): (&Places, u64),
    contents: &Contents,
) -> Option<DeviceArea> {
    flash_size.checked_sub(places.nv_log)?;
    let builder = Builder::new(format, flash_size);
    let table = flash_size - DTOC;
    let mut area = builder.fill((places, dev_info), table, contents);
    area.runs
        .retain(|(at, _)| *at >= table && format != ImageFormat::Fs3);
    Some(area)
}

/// Where the reference layout has device data on a flash of `flash_size` bytes: all from here to its
/// end.
pub(super) fn reference(format: ImageFormat, flash_size: u64) -> Extent {
    let size = Places::of(format, flash_size).nv_log.min(flash_size);
    Extent::new(flash_size - size, size)
}

/// The device table in a backup of the whole flash, for sections that stand on the flash as they are
/// in the backup; nothing to write where the image itself has the table (FS3). `None`: they do not.
pub(super) fn saved_table(
    flash: &dyn ByteSource,
    dump: &[u8],
    layout: &Layout,
) -> Result<Option<DeviceArea>, ReadError> {
    let sections = layout.sections.iter().filter(|section| section.device_data);
    for section in sections.filter(|section| section.crc != CrcPlace::None) {
        let saved = dump.read(section.physical, section.size)?;
        if *flash.read(section.physical, section.size)? != *saved {
            return Ok(None);
        }
    }
    let mut area = DeviceArea {
        start: layout.dtoc.unwrap_or(flash.size()),
        runs: Vec::new(),
        entries: Vec::new(),
    };
    if let Some(at) = layout.dtoc {
        area.runs.extend(table_runs(at, &dump.read(at, DTOC)?));
    }
    Ok(Some(area))
}

/// The device data in a backup of the whole flash: all from its lowest section to the end. `None`
/// when the image in it names none.
pub(super) fn saved(dump: &[u8], layout: &Layout) -> Option<DeviceArea> {
    let sections = layout.sections.iter().filter(|section| section.absolute);
    let lowest = sections
        .map(|section| section.physical)
        .chain(layout.dtoc)
        .min()?;
    let start = lowest - lowest % EraseUnit::SubSector.size();
    let bytes = dump.get(usize::try_from(start).ok()?..)?;
    let table = layout.dtoc.and_then(|at| at.checked_sub(start));
    let (sections, table) =
        match table.and_then(|at| bytes.split_at_checked(usize::try_from(at).ok()?)) {
            Some((sections, table)) => (sections, table_runs(start + sections.len() as u64, table)),
            None => (bytes, Vec::new()),
        };
    Some(DeviceArea {
        start,
        runs: std::iter::once((start, sections.to_vec()))
            .chain(table)
            .collect(),
        entries: Vec::new(),
    })
}

/// How a device table is programmed: the header last, so that one that was cut off is none.
fn table_runs(at: u64, table: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let (header, entries) = table.split_at(RECORD.min(table.len()));
    vec![
        (at + RECORD as u64, entries.to_vec()),
        (at, header.to_vec()),
    ]
}

/// What the sections hold.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) dev_info: Vec<u8>,
    pub(super) mfg_info: Vec<u8>,
    pub(super) vpd: Vec<u8>,
}

impl Contents {
    fn of(model: &Model, identity: &RecoveryIdentity, psid: &Psid, standing: &Standing) -> Self {
        let own = standing.uids(model, identity).map(<[u8]>::to_vec);
        let uids = own.unwrap_or_else(|| uids(model, identity));
        let base = u32::from(model.has_base_addresses());
        let mut mfg_info = vec![0; 0x140];
        put(&mut mfg_info, 0x00, &padded(psid.as_str(), 16));
        // the card uses the addresses of DEV_INFO
        put(&mut mfg_info, 0x1c, &(base << 24 | 1).to_be_bytes());
        put(&mut mfg_info, 0x20, &uids);
        let mut dev_info = vec![0; 0x200];
        put(&mut dev_info, 0x00, DEV_INFO_SIGNATURE);
        put(&mut dev_info, 0x10, &((1 + base) << 8).to_be_bytes());
        put(&mut dev_info, 0x20, &uids);
        put(&mut dev_info, 0x6c, &u32::from(MELLANOX).to_be_bytes());
        if model.format != ImageFormat::Fs3 {
            let crc = image_crc(&dev_info[..0x1fc]);
            put(&mut dev_info, 0x1fc, &u32::from(crc).to_be_bytes());
        }
        Self {
            dev_info: standing.dev_info.clone().unwrap_or(dev_info),
            mfg_info: standing.mfg_info.clone().unwrap_or(mfg_info),
            vpd: standing.vpd.clone().unwrap_or_default(),
        }
    }
}

/// The 64 bytes of addresses in MFG_INFO and DEV_INFO: two ports of Connect-IB, base values of
/// later chips (images-fs3 6.1).
fn uids(model: &Model, identity: &RecoveryIdentity) -> Vec<u8> {
    let entry = |value: u64| {
        let mut bytes = [0; 16];
        bytes[2] = 1;
        bytes[3] = identity.count;
        bytes[8..].copy_from_slice(&value.to_be_bytes());
        bytes
    };
    let (guid, mac) = (identity.guid.value(), identity.mac.value());
    let second = u64::from(identity.count);
    let entries = if model.has_base_addresses() {
        [entry(guid), entry(mac), [0; 16], [0; 16]]
    } else {
        [
            entry(guid),
            entry(guid.wrapping_add(second)),
            entry(mac),
            entry(mac + second),
        ]
    };
    entries.concat()
}

struct Builder {
    flash_size: u64,
    fs3: bool,
    runs: Vec<(u64, Vec<u8>)>,
    entries: Vec<Record>,
}

impl Builder {
    const fn new(format: ImageFormat, flash_size: u64) -> Self {
        Self {
            flash_size,
            fs3: matches!(format, ImageFormat::Fs3),
            runs: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// All sections, the good DEV_INFO at `dev_info` from the end.
    fn fill(
        mut self,
        (places, dev_info): (&Places, u64),
        start: u64,
        contents: &Contents,
    ) -> DeviceArea {
        let blank = [0xff; FIRMWARE_AREA];
        self.add(FW_NV_LOG, places.nv_log, &blank, CrcMode::None);
        self.add(NV_DATA_0, places.nv_data_0, &blank, CrcMode::None);
        self.add(NV_DATA_2, places.nv_data_2, &blank, CrcMode::None);
        let crc = if self.fs3 {
            CrcMode::Entry
        } else {
            CrcMode::Section
        };
        self.add(DEV_INFO, dev_info, &contents.dev_info, crc);
        if !self.fs3 {
            let unused = vec![0xff; contents.dev_info.len()];
            let [first, second] = places.dev_info_copies(ImageFormat::Fs4);
            let place = if dev_info == first { second } else { first };
            self.add(DEV_INFO, place, &unused, CrcMode::Section);
        }
        self.add(
            MFG_INFO,
            places.mfg_info,
            &contents.mfg_info,
            CrcMode::Entry,
        );
        if !self.fs3 || !contents.vpd.is_empty() {
            let place = places.mfg_info - VPD_AFTER_MFG;
            self.add(VPD_R0, place, &contents.vpd, CrcMode::Entry);
        }
        // what says who the card is comes last: cut off before, it is all made once more
        self.runs.reverse();
        if !self.fs3 {
            let table = toc::dtoc(&self.entries);
            self.runs.extend(table_runs(self.flash_size - DTOC, &table));
            self.entries.clear();
        }
        DeviceArea {
            start,
            runs: self.runs,
            entries: self.entries,
        }
    }

    /// A section at a distance from the end of the flash. Erased ones need no programming.
    fn add(&mut self, kind: u8, from_end: u64, data: &[u8], crc: CrcMode) {
        let address = self.flash_size - from_end;
        let flags = if self.fs3 { FS3_DEVICE_DATA } else { 0 };
        // a flash of less than 4 GiB
        let place = u32::try_from(address).unwrap_or(0);
        self.entries
            .push(Record::device(kind, place, data, crc, flags));
        if data.iter().any(|&byte| byte != 0xff) {
            self.runs.push((address, data.to_vec()));
        }
    }
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + field.len()) {
        place.copy_from_slice(field);
    }
}

fn padded(text: &str, len: usize) -> Vec<u8> {
    let bytes = text.bytes().chain(std::iter::repeat(0));
    bytes.take(len).collect()
}
