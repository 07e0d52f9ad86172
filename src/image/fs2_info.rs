//! What an FS2 image says of itself: the tags of its Image Info section and its GUIDs
//! (images-fs2 5).

use super::ImageError;
use super::image_info::{clock, u8_of, u16_of};
use super::info::{HwId, ImageInfo, Security, Uids};
use super::layout::Layout;
use super::rom;
use crate::bytes::{be32, be64, bits, text};
use crate::identity::Psid;
use crate::version::{Date, FwVersion};

/// GUID entries that count.
const MAX_GUIDS: usize = 32;

/// Hardware ids an image may list.
const MAX_HW_IDS: usize = 200;

/// Tag that ends the list.
const END: u8 = 0xff;

/// Three numbers of a version tag.
type Version = (u16, u16, u16);

/// The tags, decoded.
#[derive(Debug, Default)]
pub(super) struct InfoTags {
    version: Option<Version>,
    date: Option<Date>,
    time: Option<(u8, u8, u8)>,
    device_id: Option<u16>,
    psid: Option<Psid>,
    vsd: String,
    product_version: String,
    vsd_vendor_id: Option<u16>,
    hw_ids: Vec<HwId>,
    mic_version: Option<Version>,
    min_fit: Option<(u16, u16, u16, u16)>,
    hw_access_key: Option<bool>,
    config_sectors: Option<u32>,
    config_pad: Option<u32>,
    prs_name: String,
}

impl InfoTags {
    /// Walks the tags of the section's data. The end tag must be there, and at the end.
    pub(super) fn parse(section: &[u8]) -> Result<Self, ImageError> {
        let mut tags = Self::default();
        let mut at = 0;
        while let Some(head) = be32(section, at) {
            let [tag, ..] = head.to_be_bytes();
            let length = usize::try_from(bits(head, 23, 0)).unwrap_or(usize::MAX);
            let begin = at + 4;
            let Some(data) = begin
                .checked_add(length)
                .and_then(|end| section.get(begin..end))
            else {
                return Err(ImageError::Info(format!(
                    "tag {tag} at {at:#x} has {length} bytes, which exceeds the section"
                )));
            };
            at = begin + length;
            if tag == END {
                return if at == section.len() {
                    Ok(tags)
                } else {
                    Err(ImageError::Info(format!(
                        "the end tag is at {:#x}, but the section has {:#x} bytes",
                        at - 4,
                        section.len()
                    )))
                };
            }
            tags.take(tag, data);
        }
        Err(ImageError::Info("no end tag".to_owned()))
    }

    /// One tag. What is too short to hold its field is as if it were not there.
    fn take(&mut self, tag: u8, data: &[u8]) {
        let dword = |index: usize| be32(data, index * 4);
        let version = || {
            let (first, second) = (dword(0)?, dword(1)?);
            Some((
                u16_of(bits(first, 31, 16)),
                u16_of(bits(second, 31, 16)),
                u16_of(second),
            ))
        };
        let field = |limit: usize| text(data.get(..limit).unwrap_or(data));
        match tag {
            1 => self.version = version(),
            2 => self.take_build_time(dword(0), dword(1)),
            3 => self.device_id = dword(0).map(u16_of),
            4 => self.psid = Psid::from_field(data.get(..16).unwrap_or(data)),
            5 => self.vsd = field(208),
            7 => self.product_version = field(16),
            8 => self.vsd_vendor_id = dword(0).map(u16_of),
            10 => {
                let ids = data.as_chunks::<4>().0.iter().take(MAX_HW_IDS);
                self.hw_ids = ids
                    .map(|id| HwId::from_dword(u32::from_be_bytes(*id)))
                    .collect();
            }
            11 => self.mic_version = version(),
            12 => {
                self.min_fit = dword(0).zip(dword(1)).map(|(first, second)| {
                    let halves = |dword| (u16_of(bits(dword, 31, 16)), u16_of(dword));
                    let ((a, b), (c, d)) = (halves(first), halves(second));
                    (a, b, c, d)
                });
            }
            13 => self.hw_access_key = be64(data, 0).map(|key| key != 0),
            19 => (self.config_sectors, self.config_pad) = (dword(0), dword(1)),
            20 => self.prs_name = field(99),
            _ => {}
        }
    }

    fn take_build_time(&mut self, time: Option<u32>, date: Option<u32>) {
        let (Some(time), Some(date)) = (time, date) else {
            return;
        };
        let byte = |dword, high| u8_of(bits(dword, high, high - 7));
        self.time = clock(byte(time, 23), byte(time, 15), byte(time, 7));
        self.date = Date::from_bcd(u16_of(bits(date, 31, 16)), byte(date, 15), byte(date, 7));
    }

    /// Whether the image names its generator, and so carries a full-image CRC.
    pub(super) const fn has_mic_version(&self) -> bool {
        self.mic_version.is_some()
    }

    /// Everything put together.
    pub(super) fn into_info(
        self,
        layout: &Layout,
        guids: Vec<u64>,
        rom: Option<&[u8]>,
        blank_guids: bool,
    ) -> ImageInfo {
        let roms = rom.map(rom::parse).unwrap_or_default();
        ImageInfo {
            format: layout.format,
            start: layout.start,
            slot_log2: layout.slot_log2,
            size: layout.size,
            version: self
                .version
                .map(|(major, minor, subminor)| FwVersion::new(major, minor, subminor))
                .filter(|version| !version.is_zero()),
            branch: None,
            date: self.date,
            time: self.time,
            psid: self.psid,
            original_psid: None,
            vsd: self.vsd,
            device_vsd: None,
            vsd_vendor_id: self.vsd_vendor_id,
            product_version: self.product_version,
            part_number: String::new(),
            description: String::new(),
            prs_name: self.prs_name,
            original_prs_name: String::new(),
            mic_version: self.mic_version.filter(|&version| version != (0, 0, 0)),
            min_fit: self.min_fit.filter(|&version| version != (0, 0, 0, 0)),
            issu_version: 0,
            config_sectors: self.config_sectors,
            config_pad: self.config_pad,
            device_id: self.device_id,
            hw_access_key: self.hw_access_key,
            hw_ids: self.hw_ids,
            roms: roms.records,
            rom_remark: roms.remark,
            uids: Some(Uids::Fs2 { entries: guids }),
            original_uids: None,
            blank_guids,
            reduced: false,
            security: Security::default(),
            warnings: Vec::new(),
        }
    }
}

/// The 64-bit entries of the GUID section's data.
pub(super) fn guid_entries(data: &[u8]) -> Vec<u64> {
    data.as_chunks::<8>()
        .0
        .iter()
        .take(MAX_GUIDS)
        .map(|entry| u64::from_be_bytes(*entry))
        .collect()
}
