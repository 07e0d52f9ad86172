//! A copy of a card's whole flash in a file, and the way back.
//!
//! The file is the flash, byte by byte, and nothing else: which card and firmware it is of is told
//! by its contents. It is written under a temporary name, read back, compared with a second reading
//! of the flash, and only then gets its own name, which never replaces another file. What runs on
//! the card may change its settings and logs meanwhile; images and what has a checksum may not.
//!
//! Firmware that lets no tool at its flash may hand its image out (`image_alone`): then the file is
//! that image, without the device data, which stays on the card.
//!
//! Before a burn only what is in use is copied ([`Scope::InUse`]), and read once: the checksums of
//! the image stand for the second reading. Putting a backup back is a direct burn ([`restore`]).

mod check;
mod copied;
mod error;
mod file;
mod image_alone;
mod name;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::access::Device;
use crate::bytes::ByteSource;
use crate::flash::cancel::Cancel;
use crate::flash::direct::{self, CardFacts, Fault, Owner, Through};
use crate::flash::lock::CardLock;
use crate::image::Extent;
use crate::progress::Sink;

pub use crate::flash::direct::{OtherCard, RestorePlan, plan_restore, restore};
pub use error::BackupError;

use check::{Fixed, compare};
use copied::Copied;
use file::Unfinished;

/// Bytes read from the flash between two looks at whether to stop.
const PIECE: u64 = 0x1_0000;

/// How a backup is made. Needs the card's lock, so that nobody burns meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct BackupOptions<'a> {
    /// The card's lock, held by the caller.
    pub lock: &'a CardLock,
    /// The way to the flash.
    pub through: Through,
    /// How much is copied.
    pub scope: Scope,
}

/// How much of the flash is copied. The file is as large as the flash in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Scope {
    /// Everything, read twice.
    #[default]
    Whole,
    /// What going back takes: the images that can boot, their tables and device data. The rest of the
    /// file is as erased. It is read once when every checksum is right, and only what has none
    /// twice; where no image is good, or one cannot be looked into, everything is.
    InUse,
}

/// Where a backup goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination<'a> {
    /// Into a folder, named by PSID, version, MAC and date.
    Folder(&'a Path),
    /// To this file, which must not be there.
    File(&'a Path),
}

/// A backup that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The file.
    pub path: PathBuf,
    /// What is in it.
    pub contents: Contents,
    /// Bytes of it.
    pub size: u64,
    /// SHA-256 of it, hexadecimal.
    pub sha256: String,
    /// What it is of.
    pub owner: Owner,
    /// The image in it checks out as a whole, with its device data.
    pub sound: bool,
}

/// What a backup holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Contents {
    /// The flash, byte by byte.
    Flash,
    /// The firmware image alone, as image files are.
    Image,
}

/// Copies the card's flash into a file, or the firmware image alone where the firmware lets no tool
/// at the flash but hands that out.
///
/// Events: the phases read and verify, both in bytes of the flash.
///
/// # Errors
/// [`BackupError`]; no file is left.
pub fn save(
    device: &Device,
    options: &BackupOptions<'_>,
    destination: Destination<'_>,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Backup, BackupError> {
    let how = (device, options, destination);
    match save_whole(how, cancel, sink) {
        Err(closed) if closed.is_closed() => image_alone::save(how, (cancel, sink))?.ok_or(closed),
        saved => saved,
    }
}

fn save_whole(
    (device, options, destination): (&Device, &BackupOptions<'_>, Destination<'_>),
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Backup, BackupError> {
    let saved = direct::reading(device, options.through, |card, flash| {
        let what = (options.scope, destination);
        match save_flash((flash, card), what, (cancel, sink)) {
            Ok(backup) => Ok(Ok(backup)),
            Err(Stopped::Backup(error)) => Ok(Err(error)),
            Err(Stopped::Fault(fault)) => Err(fault),
        }
    });
    saved?
}

/// Where a backup stopped.
enum Stopped {
    Fault(Fault),
    Backup(BackupError),
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<BackupError> for Stopped {
    fn from(error: BackupError) -> Self {
        Self::Backup(error)
    }
}

fn save_flash(
    (flash, card): (&dyn ByteSource, &CardFacts),
    (scope, destination): (Scope, Destination<'_>),
    (cancel, sink): (&Cancel, &mut Sink<'_>),
) -> Result<Backup, Stopped> {
    // whether the file can be there is known before minutes are spent on reading
    destination.check_free()?;
    let mut unfinished = Unfinished::create(destination.folder(), flash.size())?;
    let copied = Copied::new(flash, cancel).map_err(Fault::from)?;
    let used = scope.used(&copied, card);
    // asked first: reading fails when somebody wants to stop
    check_cancel(cancel)?;
    let used = used?;
    let everything = vec![Extent::new(0, copied.size())];
    let parts = used.as_ref().unwrap_or(&everything);
    copied.read_parts(parts, sink)?;
    let bytes = copied.into_bytes();
    let owner = Owner::read(&bytes, card)?;
    unfinished.write(&bytes)?;
    let written = unfinished.read_back(&bytes)?;
    let fixed = Fixed::of(&written, card);
    let again = match used {
        Some(_) if fixed.sound => &fixed.unchecked,
        _ => parts,
    };
    if !again.is_empty() {
        compare((flash, &written), again, &fixed, (cancel, sink))?;
    }
    let contents = Contents::Flash;
    let path = unfinished.finish(destination, (&owner, contents))?;
    Ok(Backup {
        path,
        contents,
        size: written.len() as u64,
        sha256: hex(&Sha256::digest(&written)),
        owner,
        sound: fixed.sound,
    })
}

impl Scope {
    /// What is read, if not everything.
    fn used(self, copied: &Copied<'_>, card: &CardFacts) -> Result<Option<Vec<Extent>>, Fault> {
        match self {
            Self::Whole => Ok(None),
            Self::InUse => direct::in_use(copied, card),
        }
    }
}

impl<'a> Destination<'a> {
    fn folder(self) -> &'a Path {
        match self {
            Self::Folder(folder) => folder,
            Self::File(path) => match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            },
        }
    }

    /// A link counts as a file that is there, wherever it leads.
    fn check_free(self) -> Result<(), BackupError> {
        match self {
            Self::File(path) if path.symlink_metadata().is_ok() => {
                Err(BackupError::Exists(path.to_owned()))
            }
            Self::File(_) | Self::Folder(_) => Ok(()),
        }
    }
}

fn check_cancel(cancel: &Cancel) -> Result<(), Fault> {
    if cancel.requested() {
        Err(Fault::Cancelled)
    } else {
        Ok(())
    }
}

/// The parts, cut into what is read between two looks at whether to stop.
fn pieces(parts: &[Extent]) -> impl Iterator<Item = Extent> {
    parts.iter().flat_map(|part| {
        let starts = (part.address..part.end()).step_by(PIECE as usize);
        starts.map(|at| Extent::new(at, PIECE.min(part.end() - at)))
    })
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
