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
//! [`xz`] compressed sections, [`name`] what file names say.

pub mod archive;
pub mod content;
pub mod entry;
pub mod error;
pub mod extractor;
pub mod folder;
pub mod limits;
pub mod map;
pub mod mfa;
pub mod mfa2;
pub mod name;
pub mod pldm;
pub mod signature;
pub mod single;
pub mod xz;

use std::fmt;
use std::path::{Path, PathBuf};

pub use content::Content;
pub use entry::{ComponentVersion, Entry};
pub use error::{BundleError, Fault};
pub use folder::Skipped;
pub use name::FileName;

use crate::identity::Psid;
use archive::{Archive, Member};
use folder::Folder;
use signature::Signature;
use single::Single;

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
    /// Zip archive with one of the above in it.
    Zip,
    /// Program that carries an archive.
    SelfExtractor,
    /// Folder of all of these.
    Folder,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Image => "image",
            Self::Mfa => "MFA",
            Self::Mfa2 => "MFA2",
            Self::Pldm => "PLDM",
            Self::Zip => "zip",
            Self::SelfExtractor => "self-extractor",
            Self::Folder => "folder",
        })
    }
}

/// What to do about folders inside a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subfolders {
    /// Leave them alone.
    #[default]
    Ignore,
    /// Read them too.
    Read,
}

/// Which members of an archive are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Members {
    /// The only one that is firmware; more than one is an error that names them.
    #[default]
    Only,
    /// Every one that is firmware.
    All,
    /// The one with this name.
    Named(String),
}

/// How to open what can hold several files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Folders inside a folder.
    pub subfolders: Subfolders,
    /// Members of an archive. (An archive in a folder always gives all of them.)
    pub members: Members,
}

/// An open container with its list of images.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    kind: Kind,
    source: Source,
    entries: Vec<Entry>,
    warnings: Vec<String>,
    problems: Vec<BundleError>,
}

/// Where the images come from. `places` tells for each entry of the bundle whose entry it is
/// (member or file) and at which index there.
#[derive(Debug)]
enum Source {
    Single(Single),
    Archive {
        archive: Archive,
        members: Vec<Member>,
        places: Vec<(usize, usize)>,
    },
    Folder {
        bundles: Vec<Bundle>,
        skipped: Vec<Skipped>,
        places: Vec<(usize, usize)>,
    },
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
        let at = |fault| BundleError::new(path, fault);
        let content = Content::open(path).map_err(at)?;
        match Signature::of(content.as_slice()) {
            Signature::Zip => {
                let archive = Archive::zip(content).map_err(at)?;
                Self::archive(path, Kind::Zip, archive, &options.members)
            }
            Signature::Program => {
                let archive = extractor::open(content).map_err(at)?;
                Self::archive(path, Kind::SelfExtractor, archive, &options.members)
            }
            signature => Single::parse(content, signature)
                .map(|single| Self::single(path, single))
                .map_err(at),
        }
    }

    fn single(path: &Path, single: Single) -> Self {
        let entries = single.entries().iter().map(|entry| Entry {
            file: path.to_owned(),
            ..entry.clone()
        });
        Self {
            path: path.to_owned(),
            kind: single.kind(),
            entries: entries.collect(),
            warnings: single.warnings().to_vec(),
            problems: Vec::new(),
            source: Source::Single(single),
        }
    }

    fn archive(
        path: &Path,
        kind: Kind,
        archive: Archive,
        wanted: &Members,
    ) -> Result<Self, BundleError> {
        let members = choose(archive.members(), wanted);
        let members = members.map_err(|fault| BundleError::new(path, fault))?;
        let mut places = Vec::new();
        let mut entries = Vec::new();
        let mut warnings = Vec::new();
        let mut problems = Vec::new();
        for (number, member) in members.iter().enumerate() {
            let single = match open_member(path, &archive, member) {
                Ok(single) => single,
                Err(error) if members.len() > 1 => {
                    problems.push(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let in_member = |text: &String| format!("{}: {text}", member.name);
            warnings.extend(single.warnings().iter().map(in_member));
            for entry in single.entries() {
                places.push((number, entry.index));
                entries.push(Entry {
                    index: entries.len(),
                    file: path.to_owned(),
                    member: Some(member.name.clone()),
                    ..entry.clone()
                });
            }
        }
        Ok(Self {
            path: path.to_owned(),
            kind,
            entries,
            warnings,
            problems,
            source: Source::Archive {
                archive,
                members,
                places,
            },
        })
    }

    fn folder(path: &Path, options: &Options) -> Result<Self, BundleError> {
        let Folder {
            mut bundles,
            mut problems,
            skipped,
        } = Folder::read(path, options)?;
        if bundles.is_empty() && problems.is_empty() {
            let others = skipped.len();
            let found = format!("no firmware in this folder ({others} other files in it)");
            return Err(BundleError::new(path, Fault::NoFirmware { found }));
        }
        let mut places = Vec::new();
        let mut entries = Vec::new();
        let mut warnings = Vec::new();
        for (number, bundle) in bundles.iter_mut().enumerate() {
            problems.append(&mut bundle.problems);
            let file = bundle.path.display();
            warnings.extend(bundle.warnings.iter().map(|text| format!("{file}: {text}")));
            for entry in &bundle.entries {
                places.push((number, entry.index));
                entries.push(Entry {
                    index: entries.len(),
                    ..entry.clone()
                });
            }
        }
        Ok(Self {
            path: path.to_owned(),
            kind: Kind::Folder,
            entries,
            warnings,
            problems,
            source: Source::Folder {
                bundles,
                skipped,
                places,
            },
        })
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

    /// Files of a folder, or members of an archive, that should be firmware and cannot be used.
    /// The entries are those of the others.
    #[must_use]
    pub fn problems(&self) -> &[BundleError] {
        &self.problems
    }

    /// Files of a folder that are something else than firmware.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        match &self.source {
            Source::Folder { skipped, .. } => skipped,
            _ => &[],
        }
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
            return Err(self.at(Fault::PsidNotFound { psid, present }));
        }
        Ok(found)
    }

    /// The bytes of the image at `index`.
    ///
    /// # Errors
    /// [`Fault::EntryNotFound`], and what is wrong with the container around the image: a range
    /// outside it, a compressed section that is damaged, a limit.
    pub fn read(&self, index: usize) -> Result<Vec<u8>, BundleError> {
        match &self.source {
            Source::Single(single) => single.read(index).map_err(|fault| self.at(fault)),
            Source::Archive {
                archive,
                members,
                places,
            } => {
                let (member, inner) = self.place(places, index)?;
                let member = members.get(member).ok_or_else(|| self.no_entry(index))?;
                let single = open_member(&self.path, archive, member)?;
                single.read(inner).map_err(|fault| BundleError {
                    member: Some(member.name.clone()),
                    ..self.at(fault)
                })
            }
            Source::Folder {
                bundles, places, ..
            } => {
                let (number, inner) = self.place(places, index)?;
                let bundle = bundles.get(number).ok_or_else(|| self.no_entry(index))?;
                bundle.read(inner)
            }
        }
    }

    /// Makes every check the container offers over its whole contents, compressed blocks included.
    /// (CRC and digests that cover the file are checked already when it is opened.)
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(&self) -> Result<(), BundleError> {
        match &self.source {
            Source::Single(single) => single.verify().map_err(|fault| self.at(fault)),
            Source::Archive {
                archive, members, ..
            } => members.iter().try_for_each(|member| {
                let single = open_member(&self.path, archive, member)?;
                single.verify().map_err(|fault| BundleError {
                    member: Some(member.name.clone()),
                    ..self.at(fault)
                })
            }),
            Source::Folder { bundles, .. } => bundles.iter().try_for_each(Self::verify),
        }
    }

    fn place(
        &self,
        places: &[(usize, usize)],
        index: usize,
    ) -> Result<(usize, usize), BundleError> {
        let place = places.get(index).copied();
        place.ok_or_else(|| self.no_entry(index))
    }

    fn no_entry(&self, index: usize) -> BundleError {
        self.at(Fault::EntryNotFound {
            index,
            count: self.entries.len(),
        })
    }

    fn at(&self, fault: Fault) -> BundleError {
        BundleError::new(&self.path, fault)
    }
}

/// The container inside a member. It is read anew whenever it is needed, so that a folder of
/// archives never holds more than one of them inflated.
fn open_member(path: &Path, archive: &Archive, member: &Member) -> Result<Single, BundleError> {
    let single = archive
        .read(member)
        .and_then(|content| Single::parse(content, member.signature));
    single.map_err(|fault| BundleError {
        member: Some(member.name.clone()),
        ..BundleError::new(path, fault)
    })
}

fn choose(members: &[Member], wanted: &Members) -> Result<Vec<Member>, Fault> {
    let names = || members.iter().map(|member| member.name.clone()).collect();
    match wanted {
        Members::All => Ok(members.to_vec()),
        Members::Only if members.len() > 1 => Err(Fault::Ambiguous { members: names() }),
        Members::Only => Ok(members.to_vec()),
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
