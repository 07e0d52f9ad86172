//! Containers of firmware images, opened by content and never by name (bundles 0.1).
//!
//! [`Bundle::open`] takes any file or folder, lists its images as [`Entry`]s and hands out their
//! bytes. One module for each container:
//!
//! - [`mfa`], [`mfa2`], [`pldm`] hold images themselves, as does a bare image ([`single`]);
//! - [`archive`] and [`extractor`] hold files of those kinds, [`folder`] any of them.
//!
//! What they share: [`content`] the bytes they are read from, [`map`] a file in memory,
//! [`signature`] what a file is, [`limits`] what it may ask for, [`error`] what is wrong with it,
//! [`xz`] compressed sections, [`meter`] how far reading them is, [`facts`] what an image says,
//! [`name`] what a file's name says.

pub mod archive;
pub mod content;
pub mod entry;
pub mod error;
pub mod extractor;
pub mod facts;
pub mod folder;
pub mod kind;
pub mod limits;
pub mod map;
pub mod meter;
pub mod mfa;
pub mod mfa2;
pub mod name;
mod part;
pub mod pldm;
pub mod signature;
pub mod single;
pub mod xz;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use content::Content;
pub use entry::{ComponentVersion, Entry};
pub use error::{BundleError, Fault};
pub use folder::Skipped;
pub use kind::{Kind, Members, Options, Subfolders};
pub use meter::Meter;
pub use name::FileName;

use crate::identity::Psid;
use crate::image::ImageInfo;
use archive::{Archive, Member};
use folder::Folder;
use part::Part;
use signature::Signature;
use single::Single;

/// An open container with its list of images.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    kind: Kind,
    parts: Vec<Part>,
    /// For each entry: whose entry it is (number of the part), and its index there.
    places: Vec<(usize, usize)>,
    entries: Vec<Entry>,
    warnings: Vec<String>,
    problems: Vec<BundleError>,
    skipped: Vec<Skipped>,
    meter: Meter,
}

impl Bundle {
    /// Opens the file or folder at `path` and lists its images; only as much is read as the list
    /// needs.
    ///
    /// # Errors
    /// [`BundleError`] naming the file: it cannot be read, is empty, is no firmware, or is
    /// damaged. In a folder, a bad file is one of [`Bundle::problems`] instead.
    pub fn open(path: &Path) -> Result<Self, BundleError> {
        Self::open_with(path, &Options::default())
    }

    /// As [`Bundle::open`], with a choice of what to do about subfolders and archive members.
    ///
    /// # Errors
    /// As [`Bundle::open`].
    pub fn open_with(path: &Path, options: &Options) -> Result<Self, BundleError> {
        if path.is_dir() {
            return Self::folder(path, options);
        }
        let content = Content::open(path).map_err(|fault| BundleError::new(path, fault))?;
        Self::of_content(path, content, &options.members)
    }

    /// As [`Bundle::open_with`] for a file that is open already; `name` is what errors call it.
    ///
    /// # Errors
    /// As [`Bundle::open`].
    pub fn of_file(name: &Path, file: &File, options: &Options) -> Result<Self, BundleError> {
        let content = Content::of_file(file).map_err(|fault| BundleError::new(name, fault))?;
        Self::of_content(name, content, &options.members)
    }

    /// Opens the file with these contents.
    fn of_content(path: &Path, content: Content, members: &Members) -> Result<Self, BundleError> {
        let mut bundle =
            Self::file(path, content, members).map_err(|fault| BundleError::new(path, fault))?;
        // A file nothing in which is of use is an error, not a bundle with a problem.
        let useless = bundle.entries.is_empty() || bundle.kind == Kind::Image;
        if useless && !bundle.problems.is_empty() {
            return Err(bundle.problems.swap_remove(0));
        }
        Ok(bundle)
    }

    /// The file or folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The images in it; the position of each is its `index`.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Oddities that do not make the bundle unusable, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Files, members and images that should be firmware and cannot be used. What is listed
    /// beside them is not affected.
    #[must_use]
    pub fn problems(&self) -> &[BundleError] {
        &self.problems
    }

    /// Files of a folder that are something else than firmware.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// The entries for a board, compared by the whole PSID; never empty.
    ///
    /// # Errors
    /// [`Fault::PsidNotFound`] with the PSIDs there are.
    pub fn find(&self, psid: &Psid) -> Result<Vec<&Entry>, BundleError> {
        let of_board = |entry: &&Entry| entry.psid.as_ref() == Some(psid);
        let found: Vec<&Entry> = self.entries.iter().filter(of_board).collect();
        if found.is_empty() {
            let psids = self.entries.iter().filter_map(|entry| entry.psid.as_ref());
            let mut present: Vec<String> = psids.map(ToString::to_string).collect();
            present.dedup();
            let psid = psid.to_string();
            let fault = Fault::PsidNotFound { psid, present };
            return Err(BundleError::new(&self.path, fault));
        }
        Ok(found)
    }

    /// The bytes of the image at `index`, as the container holds them: a package's are masked
    /// (bundles 2.9).
    ///
    /// # Errors
    /// [`Fault::EntryNotFound`], and what is wrong with the container around the image: a range
    /// outside it, a compressed section that is damaged, a limit.
    pub fn read(&self, index: usize) -> Result<Vec<u8>, BundleError> {
        let (part, inner) = self.place(index)?;
        part.with(|single| single.read(inner))
    }

    /// Hands every image to `visit` with its entry, each container being inflated once for all its
    /// images and checked to its end; never more than one image is held. Images of one container
    /// come in the order it holds them.
    ///
    /// # Errors
    /// As [`Bundle::read`]; the first ends it.
    pub fn read_each(&self, mut visit: impl FnMut(&Entry, &[u8])) -> Result<(), BundleError> {
        let mut first = 0;
        for (number, part) in self.parts.iter().enumerate() {
            let places = self.places.iter().skip(first);
            let count = places.take_while(|(part, _)| *part == number).count();
            part.with(|single| {
                single.read_each(|inner, bytes| {
                    if let Some(entry) = self.entries.get(first + inner) {
                        visit(entry, bytes);
                    }
                })
            })?;
            first += count;
        }
        Ok(())
    }

    /// As [`Bundle::read_each`] for these entries only: containers without any of them are left
    /// alone, and of a container with a single one no more is read than that needs.
    ///
    /// # Errors
    /// As [`Bundle::read`]; the first ends it.
    pub fn read_these(
        &self,
        wanted: &BTreeSet<usize>,
        mut visit: impl FnMut(&Entry, &[u8]),
    ) -> Result<(), BundleError> {
        let mut wanted: Vec<usize> = wanted.iter().copied().collect();
        while let Some(&index) = wanted.first() {
            let (number, _) = self.numbers(index)?;
            // Entries of one part follow each other.
            let next = wanted.iter().position(|&index| {
                self.places
                    .get(index)
                    .is_some_and(|&(part, _)| part != number)
            });
            let later = wanted.split_off(next.unwrap_or(wanted.len()));
            self.read_of_part(number, &wanted, &mut visit)?;
            wanted = later;
        }
        Ok(())
    }

    /// The images at `wanted`, all of part `number`.
    fn read_of_part(
        &self,
        number: usize,
        wanted: &[usize],
        visit: &mut impl FnMut(&Entry, &[u8]),
    ) -> Result<(), BundleError> {
        if let &[index] = wanted {
            let bytes = self.read(index)?;
            if let Some(entry) = self.entries.get(index) {
                visit(entry, &bytes);
            }
            return Ok(());
        }
        let first = self.places.partition_point(|&(part, _)| part < number);
        let Some(part) = self.parts.get(number) else {
            return Ok(());
        };
        part.with(|single| {
            single.read_each(|inner, bytes| {
                let index = first + inner;
                if let Some(entry) = self.entries.get(index).filter(|_| wanted.contains(&index)) {
                    visit(entry, bytes);
                }
            })
        })
    }

    /// Counts the bytes inflated for this bundle, for whoever shows how far a job is.
    #[must_use]
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Bytes that one pass over all images inflates, where that can be told beforehand.
    #[must_use]
    pub fn inflated_size(&self) -> Option<u64> {
        self.parts.iter().map(Part::inflated_size).sum()
    }

    /// What the image at `index` says of itself. It must be for the board it is listed under.
    ///
    /// # Errors
    /// As [`Bundle::read`], [`Fault::Image`], [`Fault::WrongBoard`].
    pub fn image_info(&self, index: usize) -> Result<ImageInfo, BundleError> {
        let (part, inner) = self.place(index)?;
        part.with(|single| single.image_info(inner))
    }

    /// Replaces versions that the container only hints at by those of the images, each container
    /// being inflated once. Images that cannot be read become [`Bundle::problems`], and their
    /// entries keep the hints.
    pub fn deep_versions(&mut self) {
        let is_hint = |entry: &Entry| {
            let untrusted = entry.versions.iter().any(|version| !version.trusted);
            entry.other.is_none() && (untrusted || entry.versions.is_empty())
        };
        let mut first = 0;
        for (number, part) in self.parts.iter().enumerate() {
            let places = self.places.iter().enumerate().skip(first);
            let here: Vec<(usize, usize)> = places
                .take_while(|(_, (part, _))| *part == number)
                .map(|(index, &(_, inner))| (index, inner))
                .collect();
            first += here.len();
            let of_hints =
                |&(index, _): &(usize, usize)| self.entries.get(index).is_some_and(is_hint);
            let open: Vec<(usize, usize)> = here.into_iter().filter(of_hints).collect();
            if open.is_empty() {
                continue;
            }
            let mut infos = match part.with(Single::image_infos) {
                Ok(infos) => infos,
                Err(error) => {
                    self.problems.push(error);
                    continue;
                }
            };
            for (index, inner) in open {
                match (infos.remove(&inner), self.entries.get_mut(index)) {
                    (Some(Ok(info)), Some(entry)) => entry.take_in(&info),
                    (Some(Err(fault)), _) => self.problems.push(part.error(fault)),
                    _ => {}
                }
            }
        }
    }

    /// Makes every check the container offers over its whole contents, compressed blocks included.
    /// (CRC and digests that cover the file are checked already when it is opened.)
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(&self) -> Result<(), BundleError> {
        self.parts
            .iter()
            .try_for_each(|part| part.with(Single::verify))
    }

    fn place(&self, index: usize) -> Result<(&Part, usize), BundleError> {
        let (number, inner) = self.numbers(index)?;
        let part = self
            .parts
            .get(number)
            .ok_or_else(|| self.not_found(index))?;
        Ok((part, inner))
    }

    /// Number of the part an entry is in, and its index there.
    fn numbers(&self, index: usize) -> Result<(usize, usize), BundleError> {
        let place = self.places.get(index).copied();
        place.ok_or_else(|| self.not_found(index))
    }

    fn not_found(&self, index: usize) -> BundleError {
        let count = self.entries.len();
        BundleError::new(&self.path, Fault::EntryNotFound { index, count })
    }
}

/// Putting a bundle together.
impl Bundle {
    fn empty(path: &Path, kind: Kind) -> Self {
        Self {
            path: path.to_owned(),
            kind,
            parts: Vec::new(),
            places: Vec::new(),
            entries: Vec::new(),
            warnings: Vec::new(),
            problems: Vec::new(),
            skipped: Vec::new(),
            meter: Meter::default(),
        }
    }

    fn file(path: &Path, content: Content, members: &Members) -> Result<Self, Fault> {
        let meter = content.meter().clone();
        let (kind, archive) = match Signature::of(content.as_slice()) {
            Signature::Zip => (Kind::Zip, Archive::zip(content)?),
            Signature::Program => (Kind::SelfExtractor, extractor::open(content)?),
            signature => {
                let single = Single::parse(content, signature)?;
                let mut bundle = Self::empty(path, single.kind());
                bundle.meter = meter;
                bundle.add(Part::File {
                    path: path.to_owned(),
                    single: Box::new(single),
                });
                return Ok(bundle);
            }
        };
        let mut bundle = Self::empty(path, kind);
        bundle.meter = meter;
        let members = choose(archive.members(), members)?;
        let archive = Arc::new(archive);
        for member in members {
            bundle.add(Part::Member {
                path: path.to_owned(),
                archive: Arc::clone(&archive),
                member,
            });
        }
        Ok(bundle)
    }

    fn folder(path: &Path, options: &Options) -> Result<Self, BundleError> {
        let mut bundle = Self::empty(path, Kind::Folder);
        let folder = Folder::read(path, options, &bundle.meter)?;
        bundle.problems = folder.problems;
        for file in folder.bundles {
            bundle.absorb(file);
        }
        if bundle.entries.is_empty() && bundle.problems.is_empty() {
            let others = folder.skipped.len();
            let found = format!("no firmware in this folder ({others} other files in it)");
            return Err(BundleError::new(path, Fault::NoFirmware { found }));
        }
        bundle.skipped = folder.skipped;
        Ok(bundle)
    }

    /// Lists what is in a part; one that does not open is a problem.
    fn add(&mut self, part: Part) {
        let number = self.parts.len();
        let listed = part.with(|single| {
            self.warnings.extend(single.warnings().iter().cloned());
            let faults = single.faults().iter().cloned();
            self.problems.extend(faults.map(|fault| part.error(fault)));
            for entry in single.entries() {
                self.places.push((number, entry.index));
                self.entries.push(Entry {
                    index: self.entries.len(),
                    file: part.path().to_owned(),
                    member: part.member().map(str::to_owned),
                    ..entry.clone()
                });
            }
            Ok(())
        });
        match listed {
            Ok(()) => self.parts.push(part),
            Err(error) => self.problems.push(error),
        }
    }

    /// Takes in the bundle of one file of a folder.
    fn absorb(&mut self, file: Self) {
        let before = self.parts.len();
        let places = file.places.iter();
        self.places
            .extend(places.map(|&(part, inner)| (before + part, inner)));
        for entry in file.entries {
            let index = self.entries.len();
            self.entries.push(Entry { index, ..entry });
        }
        let name = file.path.display();
        let warnings = file.warnings.iter().map(|text| format!("{name}: {text}"));
        self.warnings.extend(warnings);
        self.problems.extend(file.problems);
        self.parts.extend(file.parts);
    }
}

/// The members that are wanted.
fn choose(members: &[Member], wanted: &Members) -> Result<Vec<Member>, Fault> {
    let names = || members.iter().map(|member| member.name.clone()).collect();
    match wanted {
        Members::Only if members.len() > 1 => Err(Fault::Ambiguous { members: names() }),
        Members::Only | Members::All => Ok(members.to_vec()),
        Members::Named(name) => {
            let named = members.iter().filter(|member| member.name == *name);
            let named: Vec<Member> = named.cloned().collect();
            if named.is_empty() {
                let (name, present) = (name.clone(), names());
                return Err(Fault::MemberNotFound { name, present });
            }
            Ok(named)
        }
    }
}
