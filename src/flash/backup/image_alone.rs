//! The firmware image alone, from firmware that keeps the flash to itself but hands its image out.

use sha2::{Digest, Sha256};

use crate::access::{Device, read_register};
use crate::card;
use crate::flash::cancel::Cancel;
use crate::flash::component::{Fault, Readable};
use crate::flash::direct::Owner;
use crate::image::{self, CrcPlace, ImageInfo};
use crate::progress::{Event, Phase, Sink};
use crate::registers::Mgir;

use super::file::Unfinished;
use super::{Backup, BackupError, BackupOptions, Contents, Destination, Scope, hex};

/// Saves the image that runs; `None` where the firmware does not hand it out.
///
/// It is read twice when the whole is asked for, or when something in it has no checksum.
pub(super) fn save(
    (device, options, destination): (&Device, &BackupOptions<'_>, Destination<'_>),
    (cancel, sink): (&Cancel, &mut Sink<'_>),
) -> Result<Option<Backup>, BackupError> {
    let Some(readable) = Readable::of(device)? else {
        return Ok(None);
    };
    destination.check_free()?;
    let mut unfinished = Unfinished::create(destination.folder(), readable.size().into())?;
    sink(Event::Note {
        text: format!("{}: {ALONE}", device.name()),
    });
    let how = (&readable, options);
    let file = fetch(how, Phase::Read, (cancel, &mut *sink))?;
    if options.scope == Scope::Whole || !every_section_is_checked(&file) {
        let again = fetch(how, Phase::Verify, (cancel, sink))?;
        if let Some(offset) = again.iter().zip(&file).position(|(a, b)| a != b) {
            return Err(not_its_image(format!(
                "it reads differently the second time, first at {offset:#x}"
            )));
        }
    }
    unfinished.write(&file)?;
    let written = unfinished.read_back(&file)?;
    let owner = check(device, &written)?;
    let contents = Contents::Image;
    let path = unfinished.finish(destination, (&owner, contents))?;
    Ok(Some(Backup {
        path,
        contents,
        size: written.len() as u64,
        sha256: hex(&Sha256::digest(&written)),
        owner,
        sound: true,
    }))
}

/// What the user is told before it is read.
const ALONE: &str = "the firmware lets no tool at its flash, but hands its image out: the backup is \
     that firmware image alone, without the device data, which stays on the card";

fn not_its_image(reason: impl ToString) -> BackupError {
    BackupError::NotItsImage {
        reason: reason.to_string(),
    }
}

/// One reading, as an image file.
fn fetch(
    (readable, options): (&Readable<'_>, &BackupOptions<'_>),
    phase: Phase,
    (cancel, sink): (&Cancel, &mut Sink<'_>),
) -> Result<Vec<u8>, BackupError> {
    let handed = readable.read(options.lock, phase, (cancel, sink))?;
    image::file_of_component(handed).map_err(not_its_image)
}

/// Whether checksums stand for a second reading.
fn every_section_is_checked(file: &[u8]) -> bool {
    image::layout(&file, 0).is_ok_and(|layout| {
        let mut sections = layout.image_sections();
        !layout.encrypted && sections.all(|section| section.crc != CrcPlace::None)
    })
}

/// Checks the image as a whole, and that it is the one that runs. Whose it is.
fn check(device: &Device, file: &[u8]) -> Result<Owner, BackupError> {
    let verification = image::verify(file);
    if let Some(failure) = verification.failure {
        return Err(not_its_image(failure));
    }
    let info = verification
        .info
        .ok_or_else(|| not_its_image("it carries no image information"))?;
    is_the_one_that_runs(device, info)
}

fn is_the_one_that_runs(device: &Device, info: ImageInfo) -> Result<Owner, BackupError> {
    let mut owner = Owner {
        psid: info.psid,
        version: info.version,
        ..Owner::default()
    };
    let Some(registers) = device.registers() else {
        return Ok(owner);
    };
    let mgir = read_register(registers, &Mgir::default()).map_err(Fault::from)?;
    for (what, runs, found) in [
        (
            "PSID",
            mgir.psid().map(|psid| psid.to_string()),
            owner.psid.as_ref().map(ToString::to_string),
        ),
        (
            "version",
            mgir.fw_version().map(|version| version.to_string()),
            owner.version.map(|version| version.to_string()),
        ),
    ] {
        if runs.is_some() && runs != found {
            let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
            return Err(not_its_image(format!(
                "its {what} is {}, the firmware that runs says {}",
                or_none(found),
                or_none(runs)
            )));
        }
    }
    (owner.mac, owner.guid) = card::base_addresses(registers).map_err(Fault::from)?;
    Ok(owner)
}
