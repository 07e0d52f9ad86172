//! Why no backup was made. No file is left.

use std::path::PathBuf;

use crate::flash::component;
use crate::flash::direct::BurnError;
use crate::flash::{BurnFault, broken_off};

/// Why no backup was made. No file is left.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The flash could not be reached or read.
    #[error(transparent)]
    Flash(#[from] BurnError),
    /// The firmware could not be asked for its image.
    #[error("the firmware was asked for its image: {0}")]
    Firmware(#[from] component::Fault),
    /// What the firmware handed out is not its image.
    #[error("what the firmware handed out is not the image it runs: {reason}")]
    NotItsImage {
        /// Why not.
        reason: String,
    },
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
    /// The file would not fit on its disk.
    #[error("{}: the backup needs {needed} bytes, {free} are free", folder.display())]
    NoRoom {
        /// Where it was to go.
        folder: PathBuf,
        /// Bytes of the backup.
        needed: u64,
        /// Bytes this user may still write there.
        free: u64,
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
            Self::Firmware(fault) => fault.reason(),
            Self::NotItsImage { .. } => "not_its_image",
            Self::File { .. } => "backup_file",
            Self::NoRoom { .. } => "backup_no_room",
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
            Self::Firmware(fault) if fault.is_gone() => broken_off::GONE,
            Self::Firmware(fault) => return fault.advice(),
            Self::NotItsImage { .. } => {
                "run it again; if it stays so, keep the image file of the version the card runs: the \
                 way back is `cxfw update --image FILE --allow-downgrade`"
            }
            Self::File { .. } | Self::NoRoom { .. } => {
                "name a folder you may write to, with room for the whole flash"
            }
            Self::Exists(_) => "name another file",
            Self::Unsteady { .. } => {
                "run it again; if it stays so, the flash part may be failing"
            }
            Self::Damaged { .. } => "name a folder on another disk",
        }
        .to_owned()
    }

    /// The file is what went wrong, not the card.
    #[must_use]
    pub const fn is_of_file(&self) -> bool {
        matches!(
            self,
            Self::File { .. } | Self::NoRoom { .. } | Self::Exists(_) | Self::Damaged { .. }
        )
    }

    /// The card lets no tool read its flash, which is how it was made and not a fault.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Firmware(fault) => return fault.is_refusal_by_firmware(),
            Self::NotItsImage { .. } => return true,
            _ => {}
        }
        matches!(
            self.reason(),
            "secure_firmware"
                | "not_direct"
                | "flash_closed"
                | "firmware_refuses"
                | "unknown_flash_part"
        )
    }

    /// Another update has the card, which stands in the way of a burn as well.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Firmware(component::Fault::Busy { .. }))
    }

    /// The user stopped it.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        match self {
            Self::Flash(error) => error.is_interrupted(),
            Self::Firmware(fault) => fault.is_interrupted(),
            _ => false,
        }
    }

    /// The card lets no tool at its flash, so nothing went wrong.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Flash(error) if error.is_refusal())
    }
}
