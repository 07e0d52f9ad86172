//! One container that holds images itself: what its signature says, with its list of images.

use super::content::Content;
use super::entry::Entry;
use super::error::Fault;
use super::limits;
use super::signature::Signature;
use super::{Kind, mfa, mfa2, pldm};

/// An open image, MFA, MFA2 or PLDM file.
#[derive(Debug)]
pub struct Single {
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

impl Single {
    /// Opens `content` as what `signature` says it is.
    ///
    /// # Errors
    /// What is wrong with it; [`Fault::NoFirmware`] when the signature is of no such container.
    pub fn parse(content: Content, signature: Signature) -> Result<Self, Fault> {
        let container = match signature {
            Signature::Image => {
                limits::IMAGE.check(content.as_slice().len() as u64)?;
                Container::Image(content)
            }
            Signature::Mfa => Container::Mfa(mfa::Archive::parse(content)?),
            Signature::Mfa2 => Container::Mfa2(mfa2::Package::parse(content)?),
            Signature::Pldm(_) => Container::Pldm(pldm::Package::parse(content)?),
            found => {
                return Err(Fault::NoFirmware {
                    found: format!("no firmware: the file is {found}"),
                });
            }
        };
        let entries = match &container {
            Container::Image(content) => vec![Entry {
                size: Some(content.as_slice().len() as u64),
                ..Entry::default()
            }],
            Container::Mfa(archive) => archive.entries(),
            Container::Mfa2(package) => package.entries(),
            Container::Pldm(package) => package.entries(),
        };
        Ok(Self { container, entries })
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

    /// Oddities that do not make it unusable.
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
    /// [`Fault::EntryNotFound`], and what is wrong around the image.
    pub fn read(&self, index: usize) -> Result<Vec<u8>, Fault> {
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

    /// Makes the checks that opening leaves out: those of compressed blocks.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(&self) -> Result<(), Fault> {
        match &self.container {
            Container::Image(_) | Container::Pldm(_) => Ok(()),
            Container::Mfa(archive) => archive.verify(),
            Container::Mfa2(package) => package.read_each(|_, _| ()),
        }
    }
}
