//! A card read through its running firmware, with as few registers as the report needs: each one
//! costs a hundred config cycles and more.
//!
//! | shown | register |
//! |---|---|
//! | running version, PSID, ROMs, security, factory MAC | MGIR |
//! | whether the firmware takes updates | MCAM |
//! | stored version and its date | MCQS, MCQI of the pending boot image |
//! | base MAC and GUID | MNVDA |
//! | part number, description | MQIS, then VPD |
//!
//! (device-access 4.12)

use crate::access::{RegisterAccess, RegisterError, read_register, read_register_head};
use crate::identity::{Guid, Mac};
use crate::image::{HwId, RomInfo, SecurityAttribute};
use crate::model;
use crate::registers::mgir::Rom;
use crate::registers::mqis::InfoType;
use crate::registers::{Mcam, Mcc, Mcda, Mcqi, Mcqs, Mgir, Mnvda, Mqis, Register};

use super::boot_image::BootImage;
use super::error::advice_for;
use super::report::{CardReport, UpdatePath};

/// Bytes of MGIR up to the versions of the ROMs.
const MGIR_ROMS: usize = 0x78;

/// Bytes of MCAM up to the register mask.
const MCAM_REGISTERS: usize = 0x18;

/// Longest text MQIS is asked for; descriptions have at most 256 characters.
const TEXT_LIMIT: u16 = 256;

/// What is said of a card without any address, and what gives it some.
const NO_DEVICE_DATA: &str = "the card says no GUID and no MAC: its device data is lost, or was never written; \
     `cxfw restore -d DEV BACKUP` brings it back, or `cxfw update -d DEV --method direct --reinstall \
     --guid GUID --mac MAC` writes it anew with the addresses of the board's label";

/// Fills the report from the running firmware. Each part stands alone: one that fails leaves its
/// fields empty and its reason in the report.
pub(super) fn read(registers: &dyn RegisterAccess, report: &mut CardReport) {
    let mgir = match read_register_head(registers, &Mgir::default(), MGIR_ROMS) {
        Ok(mgir) => mgir,
        Err(error) => return report.note(&error),
    };
    from_mgir(&mgir, report);
    if let Err(error) = stored(registers, &mgir, report) {
        report.note(&error);
    }
    match addresses(registers, report) {
        Ok(()) => warn_of_addresses(report),
        Err(error) => report.note(&error),
    }
    for (info_type, field) in [
        (InfoType::ModelName, &mut report.part_number),
        (InfoType::ModelDescription, &mut report.description),
    ] {
        // VPD stands in for a text the firmware does not have.
        if let Ok(Some(text)) = board_text(registers, info_type) {
            *field = Some(text);
        }
    }
}

fn from_mgir(mgir: &Mgir, report: &mut CardReport) {
    report.firmware.running = mgir.fw_version();
    report.psid = mgir.psid();
    report.original_base_mac = mgir.manufacturing_base_mac();
    report.roms = mgir.roms().iter().map(rom).collect();
    report.security = security(mgir);
    if report.hw_id.is_none() {
        report.hw_id = u8::try_from(mgir.device_hw_revision)
            .ok()
            .map(|revision| HwId {
                id: mgir.hw_dev_id,
                revision,
            });
    }
    report.model = report.model.or_else(|| model::by_hw_id(mgir.hw_dev_id));
    report.format = report.model.map(|model| model.format);
}

/// Addresses the card does not say. One that says none at all has lost its device data, or is of a
/// factory that never wrote it.
fn warn_of_addresses(report: &mut CardReport) {
    if report.original_base_mac.is_some() {
        return;
    }
    let says_none = report.base_mac.is_none() && report.base_guid.is_none();
    let text = if says_none {
        advice_for(&report.device, NO_DEVICE_DATA)
    } else {
        "the base MAC was never set at the factory (manufacturing base MAC is empty)".to_owned()
    };
    report.warnings.push(text);
}

fn rom(rom: &Rom) -> RomInfo {
    RomInfo {
        product_id: u16::from(rom.kind.code()),
        kind: rom.kind.to_string(),
        version: vec![
            u32::from(rom.major),
            u32::from(rom.minor),
            u32::from(rom.build),
        ],
        cpu: Some(rom.arch),
        port: None,
        protocol: None,
        device_id: None,
    }
}

/// Words of the security line: what the firmware is, then `debug` and `dev`, which mean nothing
/// on firmware that is neither secured nor signed (images 5.3).
#[must_use]
pub fn security(mgir: &Mgir) -> Vec<SecurityAttribute> {
    let mut words = Vec::new();
    if mgir.secured {
        words.push(SecurityAttribute::SecureFw);
    } else if mgir.signed_fw {
        words.push(SecurityAttribute::SignedFw);
    } else {
        return words;
    }
    if mgir.debug {
        words.push(SecurityAttribute::Debug);
    }
    if mgir.dev {
        words.push(SecurityAttribute::Dev);
    }
    words
}

/// The first register of the update path that MCAM (group 0) does not list; `None` when the
/// firmware takes updates (device-access 4.12).
#[must_use]
pub fn missing_for_update(mcam: &Mcam) -> Option<&'static str> {
    [
        (Mgir::ID, Mgir::NAME),
        (Mcqs::ID, Mcqs::NAME),
        (Mcqi::ID, Mcqi::NAME),
        (Mcc::ID, Mcc::NAME),
        (Mcda::ID, Mcda::NAME),
        (Mqis::ID, Mqis::NAME),
    ]
    .into_iter()
    .find(|&(id, _)| !mcam.has_register(id))
    .map(|(_, name)| name)
}

/// What boots next, where the firmware keeps account of it. Firmware that does not, cannot take
/// updates either and is burned directly.
fn stored(
    registers: &dyn RegisterAccess,
    mgir: &Mgir,
    report: &mut CardReport,
) -> Result<(), RegisterError> {
    report.update_path = Some(UpdatePath::Direct);
    let mcam = match read_register_head(registers, &Mcam::default(), MCAM_REGISTERS) {
        Err(error) if error.is_unsupported() => return Ok(()),
        result => result?,
    };
    if missing_for_update(&mcam).is_some() {
        return Ok(());
    }
    let Some(boot_image) = BootImage::find(registers)? else {
        return Ok(());
    };
    report.update_path = Some(UpdatePath::Component);
    let stored = boot_image.stored(registers, report.firmware.running)?;
    report.firmware.stored = stored.version;
    report.firmware.date = stored.date;
    let runs_what_is_stored = report.firmware.stored == report.firmware.running;
    if report.firmware.date.is_none() && runs_what_is_stored {
        report.firmware.date = mgir.date();
    }
    Ok(())
}

fn addresses(registers: &dyn RegisterAccess, report: &mut CardReport) -> Result<(), RegisterError> {
    (report.base_mac, report.base_guid) = base_addresses(registers)?;
    Ok(())
}

/// Base MAC and base GUID that the card uses, as its running firmware says.
///
/// # Errors
/// [`RegisterError`].
pub fn base_addresses(
    registers: &dyn RegisterAccess,
) -> Result<(Option<Mac>, Option<Guid>), RegisterError> {
    let size = 16;
    let request = Mnvda::request_current(Mnvda::BASE_ADDRESSES, size);
    let base = read_register(registers, &request)?.base_addresses();
    Ok(base.map_or((None, None), |base| {
        (Mac::new(base.mac), Guid::new(base.guid))
    }))
}

/// A text of the board; `None` when the firmware has none.
fn board_text(
    registers: &dyn RegisterAccess,
    info_type: InfoType,
) -> Result<Option<String>, RegisterError> {
    let mut text = Vec::new();
    let mut offset = 0;
    loop {
        let answer = read_register(registers, &Mqis::request(info_type, offset))?;
        let piece = answer.piece();
        text.extend_from_slice(piece);
        offset = offset.saturating_add(Mqis::PIECE);
        let end = answer.info_length.min(TEXT_LIMIT);
        if piece.is_empty() || piece.contains(&0) || offset >= end {
            text.truncate(usize::from(end));
            break;
        }
    }
    let text = crate::bytes::text(&text);
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.to_owned()))
}
