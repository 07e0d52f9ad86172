//! Folders of firmware: every file that is firmware by its content, one bad file never hiding the
//! others (bundles 1.13, 5.4).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::{BundleError, Fault};
use super::limits;
use super::name::FileName;
use super::signature::{self, Signature};
use super::{Bundle, Members, Options, Subfolders};

/// What was found in a folder.
#[derive(Debug, Default)]
pub struct Folder {
    /// The bundles, in order of their paths.
    pub bundles: Vec<Bundle>,
    /// Files that should be firmware and cannot be used.
    pub problems: Vec<BundleError>,
    /// Files that are something else.
    pub skipped: Vec<Skipped>,
}

/// A file that was passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub file: PathBuf,
    /// What it is.
    pub found: String,
}

impl Folder {
    /// Looks at every regular file of the folder at `path`; links to files are followed, links to
    /// folders are not.
    ///
    /// An archive in a folder gives all its images: a folder is searched by board, so there is
    /// nobody to ask which member is meant.
    ///
    /// # Errors
    /// The folder itself cannot be read, or has more entries than [`limits::FOLDER`].
    pub fn read(path: &Path, options: &Options) -> Result<Self, BundleError> {
        let mut paths = Vec::new();
        let mut folder = Self::default();
        let mut left = limits::FOLDER.allowed;
        let files = files_of(path, &mut left).map_err(|fault| BundleError::new(path, fault))?;
        let mut queue: Vec<PathBuf> = Vec::new();
        sort_out(files, &mut paths, &mut queue);
        while let Some(subfolder) = queue.pop() {
            if options.subfolders == Subfolders::Ignore {
                continue;
            }
            match files_of(&subfolder, &mut left) {
                Ok(files) => sort_out(files, &mut paths, &mut queue),
                Err(fault @ Fault::LimitExceeded { .. }) => {
                    return Err(BundleError::new(path, fault));
                }
                Err(fault) => folder.problems.push(BundleError::new(&subfolder, fault)),
            }
        }
        paths.sort();
        for file in paths {
            folder.look_at(file, options);
        }
        Ok(folder)
    }

    /// Opens one file if it is firmware.
    fn look_at(&mut self, file: PathBuf, options: &Options) {
        let signature = match signature_of(&file) {
            Ok(signature) => signature,
            Err(fault) => {
                self.problems.push(BundleError::new(&file, fault));
                return;
            }
        };
        // A program may carry a bundle, but looking for it means reading all of it: such a file
        // has to be named itself.
        let found = match signature {
            Some(Signature::Program) => "a program, not looked into".to_owned(),
            Some(Signature::Other(_) | Signature::Short | Signature::Unknown) | None => {
                signature.map_or_else(|| "an empty file".to_owned(), |other| other.to_string())
            }
            Some(_) => {
                let options = Options {
                    members: Members::All,
                    ..options.clone()
                };
                match Bundle::open_with(&file, &options) {
                    Ok(bundle) => self.bundles.push(bundle),
                    Err(error) if error.class() == "no_firmware" => self.skipped.push(Skipped {
                        file,
                        found: error.fault.to_string(),
                    }),
                    Err(error) => self.problems.push(error),
                }
                return;
            }
        };
        // The name decides nothing but whether somebody expects firmware here.
        let name = file.file_name().map(|name| name.to_string_lossy());
        if name.is_some_and(|name| FileName::parse(&name).is_some()) {
            let found = format!("named like firmware, but the file is {found}");
            self.problems
                .push(BundleError::new(&file, Fault::NoFirmware { found }));
        } else {
            self.skipped.push(Skipped { file, found });
        }
    }
}

/// An entry of a folder: a regular file or a folder, everything else is left out.
enum Found {
    File(PathBuf),
    Folder(PathBuf),
}

/// The files and folders of one folder; `left` entries may still be looked at.
fn files_of(path: &Path, left: &mut u64) -> Result<Vec<Found>, Fault> {
    let io = Fault::io("read the folder");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(&io)? {
        let entry = entry.map_err(&io)?;
        *left = left.checked_sub(1).ok_or(Fault::LimitExceeded {
            limit: limits::FOLDER,
            found: limits::FOLDER.allowed + 1,
        })?;
        let path = entry.path();
        let kind = entry.file_type().map_err(&io)?;
        if kind.is_dir() {
            found.push(Found::Folder(path));
        } else if kind.is_file() || (kind.is_symlink() && path.is_file()) {
            found.push(Found::File(path));
        }
    }
    Ok(found)
}

fn sort_out(found: Vec<Found>, files: &mut Vec<PathBuf>, folders: &mut Vec<PathBuf>) {
    for entry in found {
        match entry {
            Found::File(path) => files.push(path),
            Found::Folder(path) => folders.push(path),
        }
    }
}

/// The signature by the first bytes of a file; `None` for an empty one.
fn signature_of(file: &Path) -> Result<Option<Signature>, Fault> {
    let mut head = Vec::new();
    File::open(file)
        .map_err(Fault::io("open"))?
        .take(signature::LENGTH as u64)
        .read_to_end(&mut head)
        .map_err(Fault::io("read"))?;
    Ok((!head.is_empty()).then(|| Signature::of(&head)))
}
