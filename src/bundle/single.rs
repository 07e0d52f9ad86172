//! One container that holds images itself: what its signature says, with its list of images.

use std::collections::BTreeMap;

use super::content::Content;
use super::entry::Entry;
use super::error::Fault;
use super::facts;
use super::limits;
use super::signature::Signature;
use super::{Kind, mfa, mfa2, pldm};
use crate::image::ImageInfo;

/// An open image, MFA, MFA2 or PLDM file.
#[derive(Debug)]
pub struct Single {
    container: Container,
    entries: Vec<Entry>,
    faults: Vec<Fault>,
}

/// What images say, by the index of their entry.
pub type Infos = BTreeMap<usize, Result<ImageInfo, Fault>>;

#[derive(Debug)]
enum Container {
    Image(Content),
    Mfa(mfa::Archive),
    Mfa2(mfa2::Package),
    Pldm(pldm::Package),
}

impl Single {
    /// Opens `content` as what `signature` says it is. An image that lies open (bare, or in a PLDM
    /// package) is read for what it says; when it cannot be, that is one of [`Single::faults`].
    ///
    /// # Errors
    /// What is wrong with it; [`Fault::NoFirmware`] when the signature is of no such container.
    pub fn parse(content: Content, signature: Signature) -> Result<Self, Fault> {
        let (container, entries) = match signature {
            Signature::Mfa => {
                let archive = mfa::Archive::parse(content)?;
                let entries = archive.entries().to_vec();
                (Container::Mfa(archive), entries)
            }
            Signature::Mfa2 => {
                let package = mfa2::Package::parse(content)?;
                let entries = package.entries();
                (Container::Mfa2(package), entries)
            }
            Signature::Pldm(_) => {
                let package = pldm::Package::parse(content)?;
                let entries = package.entries();
                (Container::Pldm(package), entries)
            }
            Signature::Image => Self::image(content)?,
            // A raw dump of a flash need not have an image at its start, and an image taken out of
            // a package has no marker.
            _ if facts::is_image(&content) => Self::image(content)?,
            found => {
                let found = format!("no firmware: the file is {found}");
                return Err(Fault::NoFirmware { found });
            }
        };
        let mut single = Self {
            container,
            entries,
            faults: Vec::new(),
        };
        single.read_open_images();
        Ok(single)
    }

    fn image(content: Content) -> Result<(Container, Vec<Entry>), Fault> {
        let size = limits::BARE.check(content.as_slice().len() as u64)?;
        let entry = Entry {
            size: Some(size),
            ..Entry::default()
        };
        Ok((Container::Image(content), vec![entry]))
    }

    /// Fills the entries of images that can be read without inflating anything.
    fn read_open_images(&mut self) {
        let mut infos = match &self.container {
            Container::Mfa(_) | Container::Mfa2(_) => return,
            Container::Image(content) => BTreeMap::from([(0, facts::read(content))]),
            Container::Pldm(package) => self.pldm_infos(package),
        };
        for entry in &mut self.entries {
            match infos.remove(&entry.index) {
                Some(Ok(info)) => entry.take_in(&info),
                Some(Err(fault)) => self.faults.push(fault),
                None => {}
            }
        }
    }

    /// What the firmware components of a package say, by entry; each is read once.
    fn pldm_infos(&self, package: &pldm::Package) -> Infos {
        let mut by_component = BTreeMap::new();
        let mut infos = Infos::new();
        for (entry, (record, number)) in self.entries.iter().zip(package.offers()) {
            if entry.other.is_some() {
                continue;
            }
            let info = by_component
                .entry(number)
                .or_insert_with(|| facts::read(&package.component(number)?))
                .clone();
            let info = info.and_then(|info| facts::for_board(record.psid.as_ref(), info));
            infos.insert(entry.index, info);
        }
        infos
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

    /// What is wrong with images that lie open.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The bytes of the image at `index`.
    ///
    /// # Errors
    /// [`Fault::EntryNotFound`], and what is wrong around the image.
    pub fn read(&self, index: usize) -> Result<Vec<u8>, Fault> {
        match &self.container {
            Container::Image(content) => self.entry(index).map(|_| content.as_slice().to_vec()),
            Container::Mfa(archive) => archive.read(index),
            Container::Mfa2(package) => {
                let offer = package.offer(index);
                let (_, component) = offer.ok_or_else(|| self.not_found(index))?;
                package.read(component)
            }
            Container::Pldm(package) => {
                let offer = package.offer(index);
                let (_, component) = offer.ok_or_else(|| self.not_found(index))?;
                package.read(component)
            }
        }
    }

    /// What the image at `index` says; it must be for the board it is listed under.
    ///
    /// # Errors
    /// As [`Single::read`], [`Fault::Image`], [`Fault::WrongBoard`].
    pub fn image_info(&self, index: usize) -> Result<ImageInfo, Fault> {
        let board = self.entry(index)?.psid.as_ref();
        let info = match &self.container {
            Container::Image(content) => facts::read(content),
            Container::Pldm(package) => {
                let offer = package.offer(index);
                let (_, component) = offer.ok_or_else(|| self.not_found(index))?;
                facts::read(&package.component(component)?)
            }
            Container::Mfa(_) | Container::Mfa2(_) => facts::read(&self.read(index)?),
        };
        facts::for_board(board, info?)
    }

    /// What every firmware image says, by index; a compressed block is inflated once for all.
    ///
    /// # Errors
    /// The block does not inflate, or is not what the descriptors say.
    pub fn image_infos(&self) -> Result<Infos, Fault> {
        if let Container::Pldm(package) = &self.container {
            return Ok(self.pldm_infos(package));
        }
        let mut infos = Infos::new();
        self.read_each(|index, bytes| {
            if let Some(entry) = self.entries.get(index).filter(|e| e.other.is_none()) {
                let info = facts::read(&bytes);
                let info = info.and_then(|info| facts::for_board(entry.psid.as_ref(), info));
                infos.insert(index, info);
            }
        })?;
        Ok(infos)
    }

    /// Hands every image to `visit` with its index, a compressed block being inflated once for all,
    /// and makes the integrity checks of that block.
    ///
    /// # Errors
    /// As [`Single::read`]; the first ends it.
    pub fn read_each(&self, mut visit: impl FnMut(usize, &[u8])) -> Result<(), Fault> {
        match &self.container {
            Container::Image(content) => visit(0, content.as_slice()),
            Container::Mfa(archive) => archive.read_each(visit)?,
            Container::Mfa2(package) => package.read_each_offer(visit)?,
            Container::Pldm(package) => {
                for (index, (_, component)) in package.offers().enumerate() {
                    visit(index, package.component(component)?.as_slice());
                }
            }
        }
        Ok(())
    }

    /// Bytes that one pass over all images inflates, where that can be told beforehand.
    #[must_use]
    pub fn inflated_size(&self) -> Option<u64> {
        match &self.container {
            Container::Image(_) | Container::Pldm(_) => Some(0),
            Container::Mfa(_) => None,
            Container::Mfa2(package) => Some(package.header().block_plain),
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

    fn entry(&self, index: usize) -> Result<&Entry, Fault> {
        self.entries.get(index).ok_or_else(|| self.not_found(index))
    }

    const fn not_found(&self, index: usize) -> Fault {
        Fault::EntryNotFound {
            index,
            count: self.entries.len(),
        }
    }
}
