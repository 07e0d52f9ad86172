//! Simulated hosts with simulated cards, below [`crate::pci::ConfigSpace`].
//!
//! A lab is a folder:
//!
//! ```text
//! lab.json              the host that was described
//! sys/                  the sysfs tree its kernel would show
//! firmware/             the bundle of images on offer
//! cards/NAME/           a chip: flash, volatile state, what booted last
//! locks/                lock files of the tools that work on it
//! ```
//!
//! [`host`] describes, [`build`] makes the images, [`chip`] is the cards' hardware and firmware,
//! `status` tells what became of them, `tree` writes the sysfs tree, `mount` serves it live. A lab is made in a folder beside its
//! place and moved there when it is whole, also in the place of an older one.

pub mod build;
pub mod chip;
pub mod host;
#[cfg(feature = "mount")]
pub mod mount;

mod factory;
mod replace;
mod scratch;
mod source;
mod status;
mod tree;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::pci::{ConfigError, ConfigSource};
use crate::sys::{self, Roots};
use build::BuildError;
use build::mfa::PackError;
use chip::{Chip, ChipError};
use host::{CardSpec, HostError, HostSpec};
use scratch::Scratch;
pub use status::CardStatus;
pub use tree::TreeError;

/// Form of `lab.json`.
const SCHEMA: &str = "cxfw.lab/1";
const LAB_FILE: &str = "lab.json";
/// Folder of the lock files.
const LOCKS: &str = "locks";
/// Folder of backups.
const BACKUPS: &str = "backups";

/// A lab could not be made, opened or reset.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// There is a lab in the folder already.
    #[error("{} already holds a lab", .0.display())]
    Exists(PathBuf),
    /// Somebody works on the lab that is to be replaced.
    #[error("the lab in {} is in use: {} is locked by another process", dir.display(), lock.display())]
    InUse {
        /// The lab's folder.
        dir: PathBuf,
        /// The lock file of the card, or `lab.json` during a reset.
        lock: PathBuf,
    },
    /// The folder holds something else, which is never overwritten.
    #[error("{} is not empty and holds no lab (no {LAB_FILE})", .0.display())]
    NotALab(PathBuf),
    /// There is nothing there.
    #[error("there is no lab in {}", .0.display())]
    Missing(PathBuf),
    /// The path names no folder a lab can be made in (`/`).
    #[error("{} cannot be a lab's folder", .0.display())]
    NoFolder(PathBuf),
    /// A file of the lab could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// `lab.json` is not one this program wrote.
    #[error("{}: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// No card has that name.
    #[error("there is no card `{name}` in the lab, only {}", present.join(", "))]
    NoCard {
        /// The name.
        name: String,
        /// Names of the cards.
        present: Vec<String>,
    },
    /// The host description is not possible.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A card's or offer's image cannot be built.
    #[error("{what}: {source}")]
    Image {
        /// Card or board.
        what: String,
        /// Why.
        source: BuildError,
    },
    /// The bundle cannot be packed.
    #[error(transparent)]
    Bundle(#[from] PackError),
    /// A chip failed.
    #[error(transparent)]
    Chip(#[from] ChipError),
    /// A function's configuration space failed.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The sysfs tree could not be written.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// `lab.json`.
#[derive(Debug, Serialize, Deserialize)]
struct LabFile {
    schema: String,
    host: HostSpec,
}

/// A card and its chip.
#[derive(Debug)]
struct LabCard {
    spec: CardSpec,
    chip: Arc<Chip>,
}

/// An open lab. Any number of processes may have it open.
#[derive(Debug)]
pub struct Lab {
    dir: PathBuf,
    host: HostSpec,
    cards: Arc<Vec<LabCard>>,
}

impl Lab {
    /// Makes a lab of `host` in `dir`, which must be empty or not be there.
    ///
    /// # Errors
    /// [`LabError::Exists`], [`LabError::NotALab`]: the folder is in use; others: the host is not
    /// possible, or a file could not be written. Nothing is left behind then.
    pub fn create(dir: &Path, host: &HostSpec) -> Result<Self, LabError> {
        if dir.join(LAB_FILE).exists() {
            return Err(LabError::Exists(dir.to_owned()));
        }
        if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(LabError::NotALab(dir.to_owned()));
        }
        let scratch = Scratch::beside(dir)?;
        factory::fill(&scratch.path, host)?;
        scratch.move_in()?;
        Self::open(dir)
    }

    /// Opens the lab in `dir`.
    ///
    /// # Errors
    /// [`LabError::Missing`], [`LabError::NotALab`]: no lab there; others: its state is broken.
    pub fn open(dir: &Path) -> Result<Self, LabError> {
        let path = dir.join(LAB_FILE);
        let text = fs::read_to_string(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound if dir.exists() => LabError::NotALab(dir.to_owned()),
            io::ErrorKind::NotFound => LabError::Missing(dir.to_owned()),
            _ => LabError::File {
                action: "read",
                path: path.clone(),
                source,
            },
        })?;
        let broken = |reason: String| LabError::Broken {
            path: path.clone(),
            reason,
        };
        let file: LabFile =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        if file.schema != SCHEMA {
            return Err(broken(format!(
                "schema `{}` found, `{SCHEMA}` expected; make a new lab",
                file.schema
            )));
        }
        let host = file
            .host
            .checked()
            .map_err(|error| broken(error.to_string()))?;
        let cards = open_cards(dir, &host)?;
        Ok(Self {
            dir: dir.to_owned(),
            host,
            cards: Arc::new(cards),
        })
    }

    /// Opens the lab in `dir`, or makes one of the default host there; says whether it was made.
    ///
    /// # Errors
    /// As [`Lab::open`] and [`Lab::create`].
    pub fn open_or_create(dir: &Path) -> Result<(Self, bool), LabError> {
        let empty = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
        match Self::open(dir) {
            Err(LabError::Missing(_)) => {}
            Err(LabError::NotALab(_)) if empty => {}
            other => return other.map(|lab| (lab, false)),
        }
        match Self::create(dir, &HostSpec::default_host()?) {
            // Somebody else was faster.
            Err(LabError::Exists(_)) => Self::open(dir).map(|lab| (lab, false)),
            other => other.map(|lab| (lab, true)),
        }
    }

    /// The lab's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The host it simulates.
    #[must_use]
    pub const fn host(&self) -> &HostSpec {
        &self.host
    }

    /// The file-tree roots to work under in place of the machine's.
    #[must_use]
    pub fn roots(&self) -> Roots {
        Roots {
            sysfs: self.dir.join("sys"),
            locks: self.dir.join(LOCKS),
        }
    }

    /// Opens the configuration spaces of the cards' functions.
    #[must_use]
    pub fn config_source(&self) -> Arc<dyn ConfigSource> {
        Arc::new(source::LabSource::new(
            self.roots().sysfs,
            Arc::clone(&self.cards),
        ))
    }

    /// Folder of the lab's bundle.
    #[must_use]
    pub fn bundle_dir(&self) -> PathBuf {
        self.dir.join(factory::FIRMWARE)
    }

    /// Folder of the backups that are made before the lab's cards are burned.
    #[must_use]
    pub fn backup_dir(&self) -> PathBuf {
        self.dir.join(BACKUPS)
    }

    /// The chip of the card `name`, to inspect and to break it.
    #[must_use]
    pub fn chip(&self, name: &str) -> Option<&Arc<Chip>> {
        self.cards
            .iter()
            .find(|card| card.spec.name == name)
            .map(|card| &card.chip)
    }

    /// Reboots the host: every chip starts from its flash, the kernel looks at the buses anew.
    ///
    /// # Errors
    /// [`LabError`]: a chip's state or the tree could not be written.
    pub fn reset(&self) -> Result<(), LabError> {
        let _lock = self.lock()?;
        for card in self.cards.iter() {
            card.chip.boot()?;
        }
        self.forget_notes()?;
        let nodes = tree::nodes(&self.host, &self.cards)?;
        Ok(tree::replace(&self.dir, &self.host, &nodes)?)
    }

    /// What a real host keeps below `/run` until it restarts.
    fn forget_notes(&self) -> Result<(), LabError> {
        let folder = self.dir.join(LOCKS);
        let failed = |source| LabError::File {
            action: "clear",
            path: folder.clone(),
            source,
        };
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path
                .extension()
                .is_some_and(|ending| ending == sys::UNBOOTED)
            {
                std::fs::remove_file(path).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Waits until no other process resets the lab; released when the file is dropped.
    fn lock(&self) -> Result<File, LabError> {
        let path = self.dir.join(LAB_FILE);
        let lock = || {
            let file = File::open(&path)?;
            file.lock()?;
            Ok(file)
        };
        lock().map_err(|source| LabError::File {
            action: "lock",
            path: path.clone(),
            source,
        })
    }
}

fn open_cards(dir: &Path, host: &HostSpec) -> Result<Vec<LabCard>, LabError> {
    host.cards
        .iter()
        .map(|spec| {
            let chip_spec = spec.chip_spec(host.slot_of(spec.address))?;
            let chip = Chip::open(&dir.join(factory::CARDS).join(&spec.name), &chip_spec)?;
            Ok(LabCard {
                spec: spec.clone(),
                chip,
            })
        })
        .collect()
}
