//! A card read from its flash: chips whose firmware does not speak for itself (FS2), and chips in
//! recovery, of which whatever is still readable is shown.

use crate::bytes::ByteSource;
use crate::identity::{Guid, Mac};
use crate::image::{self, ImageError, ImageInfo, Uid, Uids};
use crate::model::ImageFormat;

use super::CardReport;

/// Reads the image on `flash` and fills in what it says. What VPD said already stays.
///
/// # Errors
/// [`ImageError`] when the flash cannot be read or holds no valid image; of a card in recovery the
/// report still tells who it is, as far as the flash does.
pub(super) fn read(
    flash: &dyn ByteSource,
    format: ImageFormat,
    report: &mut CardReport,
) -> Result<(), ImageError> {
    match image::query_flash(flash, format) {
        Ok(info) => {
            report.firmware.stored = info.version;
            report.firmware.date = info.date;
            report.roms.clone_from(&info.roms);
            fill(info, report);
            Ok(())
        }
        Err(error) => {
            if let Some(info) = left(flash, format, report) {
                fill(info, report);
            }
            Err(error)
        }
    }
}

/// What an image that does not boot any more says of a card in recovery.
fn left(flash: &dyn ByteSource, format: ImageFormat, report: &CardReport) -> Option<ImageInfo> {
    let hw_id = report.hw_id.filter(|_| report.recovery)?;
    let info = image::remains(flash, format).ok()?;
    info.supports(hw_id).then_some(info)
}

/// The board and its addresses.
fn fill(info: ImageInfo, report: &mut CardReport) {
    report.format = Some(info.format);
    report.original_psid = info.original_psid.filter(|_| info.psid.is_some());
    report.psid = info.psid;
    report.security = info.security.attributes;
    report.part_number = text(info.part_number).or(report.part_number.take());
    report.description = text(info.description).or(report.description.take());
    if let Some(uids) = &info.uids {
        addresses(uids, report);
    }
    report.warnings.extend(info.warnings);
    if info.blank_guids {
        report
            .warnings
            .push("GUIDs and MACs on flash were never set".to_owned());
    }
}

fn text(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// FS2 entries: node, port 1, port 2, system image GUID, then port 1 and port 2 MAC (images 5.2).
fn addresses(uids: &Uids, report: &mut CardReport) {
    match uids {
        Uids::Fs2 { entries } => {
            let entry = |index: usize| entries.get(index).copied().unwrap_or(0);
            report.port_guids = [Guid::new(entry(1)), Guid::new(entry(2))];
            report.port_macs = [Mac::new(entry(4)), Mac::new(entry(5))];
        }
        Uids::TwoPorts { guids, macs } => {
            report.port_guids = guids.each_ref().map(guid);
            report.port_macs = macs.each_ref().map(mac);
        }
        Uids::Base {
            guid: base_guid,
            mac: base_mac,
        } => {
            report.base_guid = guid(base_guid);
            report.base_mac = mac(base_mac);
        }
    }
}

fn guid(uid: &Uid) -> Option<Guid> {
    Guid::new(uid.value)
}

fn mac(uid: &Uid) -> Option<Mac> {
    Mac::new(uid.value)
}
