//! Folders of firmware: every file that is firmware by its content, one bad file never hiding the
//! others (bundles 1.13, 5.4).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::content::Content;
use super::error::{BundleError, Fault};
use super::limits;
use super::meter::Meter;
use super::name::FileName;
use super::signature::Signature;
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

/// What one file of the folder is.
enum Finding {
    Bundle(Box<Bundle>),
    Problem(BundleError),
    Skipped(Skipped),
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
    /// nobody to ask which member is meant. Files are read in parallel, each once; `meter` counts
    /// what is inflated of them.
    ///
    /// # Errors
    /// The folder itself cannot be read, or has more entries than [`limits::FOLDER`].
    pub fn read(path: &Path, options: &Options, meter: &Meter) -> Result<Self, BundleError> {
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
        for finding in in_parallel(&paths, |file| look_at(file, meter)) {
            match finding {
                Finding::Bundle(bundle) => folder.bundles.push(*bundle),
                Finding::Problem(error) => folder.problems.push(error),
                Finding::Skipped(skipped) => folder.skipped.push(skipped),
            }
        }
        Ok(folder)
    }
}

/// Opens one file if it is firmware.
fn look_at(file: &Path, meter: &Meter) -> Finding {
    let content = match Content::open(file) {
        Ok(content) => content.metered(meter),
        Err(Fault::Empty) => return no_firmware(file, "an empty file".to_owned()),
        Err(fault @ Fault::LimitExceeded { .. }) => {
            return no_firmware(file, format!("too large: {fault}"));
        }
        Err(fault) => return Finding::Problem(BundleError::new(file, fault)),
    };
    match Signature::of(content.as_slice()) {
        // A program may carry a bundle, but looking for it means reading all of it: such a file
        // has to be named itself.
        Signature::Program => no_firmware(file, "a program, not looked into".to_owned()),
        found @ (Signature::Other(_) | Signature::Short | Signature::Unknown) => {
            no_firmware(file, found.to_string())
        }
        _ => match Bundle::of_content(file, content, &Members::All) {
            Ok(bundle) => Finding::Bundle(Box::new(bundle)),
            Err(error) if error.class() == "no_firmware" => Finding::Skipped(Skipped {
                file: file.to_owned(),
                found: error.fault.to_string(),
            }),
            Err(error) => Finding::Problem(error),
        },
    }
}

/// A file that is something else. Its name decides nothing but whether somebody expects firmware
/// here.
fn no_firmware(file: &Path, found: String) -> Finding {
    let name = file.file_name().map(|name| name.to_string_lossy());
    let named = name.is_some_and(|name| FileName::parse(&name).is_some());
    let extension = file.extension().and_then(|extension| extension.to_str());
    // Many things are called `.bin`, but nothing else these.
    if named || matches!(extension, Some("mfa" | "mfa2" | "fwpkg")) {
        let found = format!("named like firmware, but the file is {found}");
        return Finding::Problem(BundleError::new(file, Fault::NoFirmware { found }));
    }
    let file = file.to_owned();
    Finding::Skipped(Skipped { file, found })
}

/// Does `job` with every item on as many threads as there are cores; the results in the items'
/// order.
fn in_parallel<T: Sync, R: Send>(items: &[T], job: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let work = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = job(item);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..cores.min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, result)| result).collect()
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn every_item_is_done_once_and_results_keep_the_order() {
        let counts: Vec<AtomicUsize> = (0..500).map(|_| AtomicUsize::new(0)).collect();
        let items: Vec<usize> = (0..500).collect();
        let results = in_parallel(&items, |&item| {
            counts[item].fetch_add(1, Ordering::Relaxed);
            item * 2
        });
        assert_eq!(
            results,
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert!(
            counts
                .iter()
                .all(|count| count.load(Ordering::Relaxed) == 1)
        );
        assert!(in_parallel(&[], |_: &()| ()).is_empty());
    }

    #[test]
    fn items_are_done_at_the_same_time() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // Nobody passes the barrier before every core is at it.
        let barrier = Barrier::new(cores);
        let items = vec![(); cores];
        assert_eq!(in_parallel(&items, |()| barrier.wait()).len(), cores);
    }
}
