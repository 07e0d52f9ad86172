//! VERIFY: would what was sent boot on this card, and may it (burn 7.5, witness).

use crate::image::marker;
use crate::image::{self, ImageInfo, SecurityAttribute};
use crate::model::ImageFormat;
use crate::registers::mcc::ErrorCode;
use crate::version::FwVersion;

use super::super::boot::{GoodImage, examine};
use super::super::cells::Cell;
use super::super::view::OneImage;
use super::Firmware;

/// Bytes of a table-of-contents header, and of an entry.
const TOC_RECORD: usize = 0x20;
/// A table of contents starts on a multiple of this.
const TOC_STEP: usize = 0x1000;
/// First bytes of the image table of contents (images-fs3 3).
const ITOC_SIGNATURE: [u8; 16] = *b"ITOC\x04\x08\x15\x16\x23\x42\xca\xfa\xba\xca\xfe\x00";
/// A record that was taken out of the table, or never was in it.
const BLANK: [u8; TOC_RECORD] = [0xff; TOC_RECORD];

impl Firmware<'_> {
    /// The image in the target slot as ACTIVATE makes it: with its marker, and on FS3 with the
    /// card's own device data entries in its table of contents.
    pub(super) fn candidate(&self) -> Vec<u8> {
        let cells = &self.cycle.cells;
        let target = cells.get(Cell::UpdateTarget);
        let mut bytes = self.cycle.flash.read(target, cells.get(Cell::UpdateSize));
        let format = self.cycle.model.format;
        for (to, from) in bytes.iter_mut().zip(marker::of(format)) {
            *to = *from;
        }
        if format == ImageFormat::Fs3 {
            self.add_device_entries(&mut bytes);
        }
        bytes
    }

    /// Copies the running image's device data entries over the blank records of the candidate's
    /// table, in order. The sender took the candidate's own out (burn 7.4).
    fn add_device_entries(&self, candidate: &mut [u8]) {
        let flash = &self.cycle.flash;
        let running = OneImage::new(flash, self.running.start.into());
        let format = self.cycle.model.format;
        let (Ok(old), Some(header)) = (
            image::flash_layout(&running, format),
            candidate
                .chunks(TOC_STEP)
                .position(|chunk| chunk.starts_with(&ITOC_SIGNATURE)),
        ) else {
            return;
        };
        let entries = old
            .sections
            .iter()
            .filter(|section| section.device_data)
            .filter_map(|section| u32::try_from(section.entry).ok())
            .map(|address| flash.read(address, TOC_RECORD as u32));
        let records = candidate
            .get_mut(header * TOC_STEP + TOC_RECORD..)
            .unwrap_or_default();
        let blanks = records
            .chunks_exact_mut(TOC_RECORD)
            .filter(|record| **record == BLANK);
        for (record, entry) in blanks.zip(entries) {
            record.copy_from_slice(&entry);
        }
    }

    /// Checks the candidate in the order bad format, wrong card, not allowed.
    pub(super) fn check_candidate(&self, candidate: &[u8]) -> Result<(), ErrorCode> {
        let start = u64::from(self.cycle.cells.get(Cell::UpdateTarget));
        let view = OneImage::with_candidate(&self.cycle.flash, start, candidate);
        let GoodImage { info, layout } =
            examine(&view, self.cycle.model.format, start).ok_or(ErrorCode::BadFormat)?;
        if layout.slot_log2 != Some(self.running.slot_log2) {
            return Err(ErrorCode::BadFormat);
        }
        if !info.supports(self.cycle.hardware()) {
            return Err(ErrorCode::NotApplicable);
        }
        let psid = info.psid.as_ref().map_or("", |psid| psid.as_str());
        if psid != self.running.psid {
            return Err(ErrorCode::NotApplicable);
        }
        self.check_policy(&info)
    }

    fn check_policy(&self, info: &ImageInfo) -> Result<(), ErrorCode> {
        let spec = &self.cycle.spec;
        let has = |attribute| info.security.attributes.contains(&attribute);
        if spec.secure && !has(SecurityAttribute::SecureFw) {
            return Err(if has(SecurityAttribute::SignedFw) {
                ErrorCode::NotSecuredFirmware
            } else {
                ErrorCode::Unsigned
            });
        }
        if let Some([major, minor, subminor]) = spec.oldest_version
            && info
                .version
                .is_none_or(|version| version < FwVersion::new(major, minor, subminor))
        {
            return Err(ErrorCode::ForbiddenVersion);
        }
        Ok(())
    }
}
