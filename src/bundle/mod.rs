//! Containers of firmware images, opened by content and never by name (bundles 0.1).
//!
//! [`Bundle::open`] takes any file, lists its images as [`Entry`]s and hands out their bytes.
//! One module for each container; what they share:
//!
//! - [`content`] the bytes they are read from, [`map`] a file in memory;
//! - [`signature`] what a file is; [`limits`] what it may ask for; [`error`] what is wrong with it;
//! - [`xz`] compressed sections.

pub mod content;
pub mod entry;
pub mod error;
pub mod limits;
pub mod map;
pub mod mfa;
pub mod mfa2;
pub mod pldm;
pub mod signature;
pub mod xz;

use std::fmt;
use std::path::{Path, PathBuf};

pub use content::Content;
pub use entry::{ComponentVersion, Entry};
pub use error::{BundleError, Fault};

use signature::Signature;

/// What a bundle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One bare firmware image (`.bin`).
    Image,
    /// MFA v1.
    Mfa,
    /// MFA2.
    Mfa2,
    /// PLDM firmware package.
    Pldm,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Image => "image",
            Self::Mfa => "MFA",
            Self::Mfa2 => "MFA2",
            Self::Pldm => "PLDM",
        })
    }
}

/// An open container with its list of images.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    container: Container,
    entries: Vec<Entry>,
}

#[derive(Debug)]
enum Container {
    Image(Content),
    Mfa(mfa::Archive),
    Mfa2(mfa2::Package),
    Pldm(pldm::Package),
}

impl Bundle {
    /// Opens the file at `path` and lists its images; only as much is read as the list needs.
    ///
    /// # Errors
    /// [`BundleError`] naming the file: it cannot be read, is empty, is no firmware, or is
    /// damaged.
    pub fn open(path: &Path) -> Result<Self, BundleError> {
        let container = Container::open(path).map_err(|fault| BundleError::new(path, fault))?;
        let mut entries = container.entries();
        for entry in &mut entries {
            path.clone_into(&mut entry.file);
        }
        Ok(Self {
            path: path.to_owned(),
            container,
            entries,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self.container {
            Container::Image(_) => Kind::Image,
            Container::Mfa(_) => Kind::Mfa,
            Container::Mfa2(_) => Kind::Mfa2,
            Container::Pldm(_) => Kind::Pldm,
        }
    }

    /// The images in it; the position of each is its `index`.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Oddities that do not make the bundle unusable, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        match &self.container {
            Container::Image(_) => &[],
            Container::Mfa(archive) => archive.warnings(),
            Container::Mfa2(package) => package.warnings(),
            Container::Pldm(package) => package.warnings(),
        }
    }

    /// The bytes of the image at `index`.
    ///
    /// # Errors
    /// [`Fault::EntryNotFound`], and what is wrong with the container around the image: a range
    /// outside it, a compressed section that is damaged, a limit.
    pub fn read(&self, index: usize) -> Result<Vec<u8>, BundleError> {
        self.read_entry(index)
            .map_err(|fault| BundleError::new(&self.path, fault))
    }

    /// Makes every check the container offers over its whole contents. (CRC and digests that
    /// cover the file are checked already when it is opened.)
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(&self) -> Result<(), BundleError> {
        match &self.container {
            Container::Image(_) | Container::Pldm(_) => Ok(()),
            Container::Mfa(archive) => archive.verify(),
            Container::Mfa2(package) => package.read_each(|_, _| ()),
        }
        .map_err(|fault| BundleError::new(&self.path, fault))
    }

    fn read_entry(&self, index: usize) -> Result<Vec<u8>, Fault> {
        let not_found = || Fault::EntryNotFound {
            index,
            count: self.entries.len(),
        };
        let entry = self.entries.get(index).ok_or_else(not_found)?;
        match &self.container {
            Container::Image(content) => Ok(content.as_slice().to_vec()),
            Container::Mfa(archive) => {
                let psid = entry.psid.as_ref().ok_or_else(not_found)?;
                archive.extract(psid, mfa::FIRMWARE, &entry.tag)
            }
            Container::Mfa2(package) => {
                let (_, component) = package.offers().nth(index).ok_or_else(not_found)?;
                package.read(component)
            }
            Container::Pldm(package) => {
                let (_, component) = package.offers().nth(index).ok_or_else(not_found)?;
                package.read(component)
            }
        }
    }
}

impl Container {
    fn open(path: &Path) -> Result<Self, Fault> {
        let content = Content::open(path)?;
        match Signature::of(content.as_slice()) {
            Signature::Image => {
                limits::IMAGE.check(content.as_slice().len() as u64)?;
                Ok(Self::Image(content))
            }
            Signature::Mfa => mfa::Archive::parse(content).map(Self::Mfa),
            Signature::Mfa2 => mfa2::Package::parse(content).map(Self::Mfa2),
            Signature::Pldm(_) => pldm::Package::parse(content).map(Self::Pldm),
            found => Err(Fault::NoFirmware {
                found: format!("no firmware: the file is {found}"),
            }),
        }
    }

    fn entries(&self) -> Vec<Entry> {
        match self {
            Self::Image(content) => vec![Entry {
                size: Some(content.as_slice().len() as u64),
                ..Entry::default()
            }],
            Self::Mfa(archive) => archive.entries(),
            Self::Mfa2(package) => package.entries(),
            Self::Pldm(package) => package.entries(),
        }
    }
}
