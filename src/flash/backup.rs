//! A copy of a card's whole flash in a file, and the way back.
//!
//! The file is the flash, byte by byte, and nothing else: which card and firmware it is of is told
//! by its contents. It is written under a temporary name, read back and compared with a second
//! reading of the flash, and only then gets its own name, which never replaces another file. What
//! runs on the card may change its settings and logs meanwhile; images and what has a checksum may
//! not. Putting it back is a direct burn ([`restore`]).

mod file;
mod name;

use std::path::{Path, PathBuf};

use crate::access::Device;
use crate::bytes::ByteSource;
use crate::flash::cancel::Cancel;
use crate::flash::direct::{self, BurnError, CardFacts, Fault, Owner, Through};
use crate::flash::lock::CardLock;
use crate::image::{self, CrcPlace, Extent};
use crate::progress::{Event, Phase, Sink};

pub use crate::flash::direct::{OtherCard, restore};

use file::Unfinished;

/// Bytes read from the flash between two looks at whether to stop.
const PIECE: u64 = 0x1_0000;
/// How often a piece is read that differs from what was read first.
const READS: usize = 2;
/// Bytes of the device table.
const TABLE: u64 = 0x1000;

/// How a backup is made. Needs the card's lock, so that nobody burns meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct BackupOptions<'a> {
    /// The card's lock, held by the caller.
    pub lock: &'a CardLock,
    /// The way to the flash.
    pub through: Through,
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
    /// Bytes of it: the whole flash.
    pub size: u64,
    /// What it is of.
    pub owner: Owner,
    /// The image in it checks out as a whole, with its device data.
    pub sound: bool,
}

/// Why no backup was made. No file is left.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The flash could not be reached or read.
    #[error(transparent)]
    Flash(#[from] BurnError),
    /// The file could not be written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of this name is there already.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// The flash reads differently each time.
    #[error("the flash reads differently each time, first at {address:#x}")]
    Unsteady {
        /// Flash address.
        address: u64,
    },
    /// What is in the file is not what was written.
    #[error("{} does not hold what was written to it, first at {offset:#x}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// First wrong byte.
        offset: u64,
    },
}

impl BackupError {
    /// Stable word for programs.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Flash(error) => error.reason(),
            Self::File { .. } => "backup_file",
            Self::Exists(_) => "backup_exists",
            Self::Unsteady { .. } => "flash_unsteady",
            Self::Damaged { .. } => "backup_damaged",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Flash(error) => return error.advice(),
            Self::File { .. } => "name another folder with --backup, with room for the whole flash",
            Self::Exists(_) => "name another file",
            Self::Unsteady { .. } => {
                "run the backup again; if it stays so, the flash part may be failing"
            }
            Self::Damaged { .. } => "name a folder on another disk",
        }
        .to_owned()
    }

    /// The user stopped it.
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Flash(error) if error.is_interrupted())
    }
}

/// Copies the card's flash into a file.
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
    let saved = direct::reading(device, options.through, |card, flash| {
        match save_flash((flash, card), destination, cancel, sink) {
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
    destination: Destination<'_>,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Backup, Stopped> {
    // whether the file can be there is known before minutes are spent on reading
    let folder = destination.folder();
    let mut unfinished = Unfinished::create(folder)?;
    let bytes = read_all(flash, cancel, sink)?;
    let owner = Owner::read(&bytes, card)?;
    let path = match destination {
        Destination::File(path) => path.to_owned(),
        Destination::Folder(folder) => folder.join(name::of(&owner)),
    };
    unfinished.write(&bytes)?;
    let written = unfinished.read_back(&bytes)?;
    let fixed = Fixed::of(&written, card);
    compare((flash, &written), &fixed, cancel, sink)?;
    unfinished.finish(&path)?;
    Ok(Backup {
        path,
        size: written.len() as u64,
        owner,
        sound: fixed.sound,
    })
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
}

fn check_cancel(cancel: &Cancel) -> Result<(), Fault> {
    if cancel.requested() {
        Err(Fault::Cancelled)
    } else {
        Ok(())
    }
}

fn read_all(
    flash: &dyn ByteSource,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Vec<u8>, Fault> {
    let size = flash.size();
    let mut bytes = Vec::new();
    for at in (0..size).step_by(PIECE as usize) {
        check_cancel(cancel)?;
        let piece = flash.read(at, PIECE.min(size - at))?;
        bytes.extend_from_slice(&piece);
        sink(Event::Progress {
            phase: Phase::Read,
            done: bytes.len() as u64,
            total: size,
        });
    }
    sink(Event::PhaseDone { phase: Phase::Read });
    Ok(bytes)
}

/// What of a flash does not change by itself.
struct Fixed {
    extents: Vec<Extent>,
    sound: bool,
}

impl Fixed {
    /// The image that boots, and device data with a checksum. Of a flash without a good image
    /// everything: no firmware runs from it that could change it.
    fn of(bytes: &[u8], card: &CardFacts) -> Self {
        let Ok(layout) = image::flash_layout(&bytes, card.model.format) else {
            return Self {
                extents: vec![Extent::new(0, bytes.len() as u64)],
                sound: false,
            };
        };
        let checked = layout
            .sections
            .iter()
            .filter(|section| section.absolute && section.crc != CrcPlace::None)
            .map(image::Section::physical_extent);
        let table = layout.dtoc.map(|at| Extent::new(at, TABLE));
        Self {
            extents: layout
                .extents(0, layout.size)
                .chain(checked)
                .chain(table)
                .collect(),
            sound: image::verify_flash(&bytes, layout.start).passed(),
        }
    }

    fn contains(&self, address: u64) -> bool {
        let holds = |extent: &Extent| (extent.address..extent.end()).contains(&address);
        self.extents.iter().any(holds)
    }
}

/// Reads the flash once more and compares it with what is in the file.
fn compare(
    (flash, written): (&dyn ByteSource, &[u8]),
    fixed: &Fixed,
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<(), Stopped> {
    let mut done = 0;
    let mut changed = false;
    for (at, piece) in (0..)
        .step_by(PIECE as usize)
        .zip(written.chunks(PIECE as usize))
    {
        check_cancel(cancel)?;
        let mut differs = None;
        for _ in 0..READS {
            let again = flash.read(at, piece.len() as u64).map_err(Fault::from)?;
            let wrong = (at..)
                .zip(again.iter().zip(piece))
                .filter(|(_, (a, b))| a != b);
            let mut wrong = wrong.map(|(address, _)| address).peekable();
            let any = wrong.peek().is_some();
            differs = wrong.find(|&address| fixed.contains(address));
            if differs.is_none() {
                changed |= any;
                break;
            }
        }
        if let Some(address) = differs {
            return Err(BackupError::Unsteady { address }.into());
        }
        done += piece.len() as u64;
        sink(Event::Progress {
            phase: Phase::Verify,
            done,
            total: written.len() as u64,
        });
    }
    if changed {
        sink(Event::Note {
            text: "settings or logs changed while the flash was read; the first reading is kept"
                .to_owned(),
        });
    }
    sink(Event::PhaseDone {
        phase: Phase::Verify,
    });
    Ok(())
}
