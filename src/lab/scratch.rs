//! A folder that is filled beside its place and then moved there whole.
//!
//! Its name tells which process fills it. What a process left that was killed meanwhile is removed
//! by the next one that makes a folder for the same place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::LabError;
use super::chip::alive;

/// Names tried before giving up: threads of one process may make labs at the same time.
const ATTEMPTS: u32 = 1000;

/// The folder, removed unless it was moved.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Where it is until then.
    pub path: PathBuf,
    place: PathBuf,
}

impl Scratch {
    /// A new folder beside `place`, whose parents are made if they are not there.
    pub(super) fn beside(place: &Path) -> Result<Self, LabError> {
        // A link to an empty folder is followed: the folder is the place.
        let place = fs::canonicalize(place)
            .or_else(|_| std::path::absolute(place))
            .map_err(|source| failed("find", place, source))?;
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(LabError::NoFolder(place));
        };
        fs::create_dir_all(parent).map_err(|source| failed("make folder", parent, source))?;
        let prefix = format!(".{}.new-", name.to_string_lossy());
        sweep(parent, &prefix);
        let me = std::process::id();
        let mut attempt = 0;
        loop {
            let path = parent.join(format!("{prefix}{me}-{attempt}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, place }),
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS =>
                {
                    attempt += 1;
                }
                Err(source) => return Err(failed("make folder", &path, source)),
            }
        }
    }

    /// Moves the folder to its place if that is empty or not there.
    pub(super) fn move_in(self) -> Result<(), LabError> {
        fs::rename(&self.path, &self.place).map_err(|source| match source.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
                LabError::Exists(self.place.clone())
            }
            _ => failed("make folder", &self.place, source),
        })
    }

    /// Puts the folder in the place of the lab that is there, and removes that. At every moment
    /// there is a lab in the place, but on a file system that cannot exchange two folders.
    pub(super) fn exchange(self) -> Result<(), LabError> {
        match renameat_with(CWD, &self.path, CWD, &self.place, RenameFlags::EXCHANGE) {
            // The old lab is where this folder was, and goes with it.
            Ok(()) => Ok(()),
            Err(Errno::INVAL | Errno::NOSYS) => self.move_in_after_setting_aside(),
            Err(errno) => Err(failed("replace", &self.place, errno.into())),
        }
    }

    /// As [`Scratch::exchange`], in two steps. A process killed between them leaves the old lab
    /// under a name that is never swept.
    fn move_in_after_setting_aside(self) -> Result<(), LabError> {
        let mut aside = self.path.clone().into_os_string();
        aside.push(".old");
        let aside = PathBuf::from(aside);
        fs::rename(&self.place, &aside).map_err(|source| failed("replace", &self.place, source))?;
        if let Err(source) = fs::rename(&self.path, &self.place) {
            return Err(match fs::rename(&aside, &self.place) {
                Ok(()) => failed("replace", &self.place, source),
                Err(source) => failed("move back the old lab from", &aside, source),
            });
        }
        remove(&aside);
        Ok(())
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> LabError {
    LabError::File {
        action,
        path: path.to_owned(),
        source,
    }
}

/// Removes the folders of processes that are no more: `PREFIXpid-attempt` in `parent`.
fn sweep(parent: &Path, prefix: &str) {
    let number = |text: &str| text.parse::<u32>().ok();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(prefix)?.split_once('-'))
            .and_then(|(pid, attempt)| number(attempt).and(number(pid)));
        if owner.is_some_and(|pid| !alive(pid)) {
            log::info!("{} was left by a killed process", entry.path().display());
            remove(&entry.path());
        }
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_dir_all(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        log::warn!("cannot remove {}: {error}", path.display());
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn names(parent: &Path) -> Vec<String> {
        let entries = fs::read_dir(parent).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn dead_process() -> u32 {
        let mut child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn what_a_killed_maker_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let (dead, me) = (dead_process(), std::process::id());
        let mut kept = vec![
            format!(".lab.new-{me}-7"),
            format!(".lab.new-{dead}"),
            format!(".lab.new-{dead}-0.old"),
            format!(".other.new-{dead}-0"),
        ];
        for name in &kept {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        let left = parent.path().join(format!(".lab.new-{dead}-0"));
        fs::create_dir_all(left.join("cards")).unwrap();

        let scratch = Scratch::beside(&parent.path().join("lab")).unwrap();
        kept.push(scratch.path.file_name().unwrap().to_string_lossy().into());
        kept.sort();
        assert_eq!(names(parent.path()), kept);
    }

    #[test]
    fn both_ways_to_replace_a_folder_leave_the_new_one_alone() {
        let ways: [fn(Scratch) -> Result<(), LabError>; 2] =
            [Scratch::exchange, Scratch::move_in_after_setting_aside];
        for way in ways {
            let parent = tempfile::tempdir().unwrap();
            let place = parent.path().join("lab");
            fs::create_dir(&place).unwrap();
            fs::write(place.join("old"), "").unwrap();
            let scratch = Scratch::beside(&place).unwrap();
            fs::write(scratch.path.join("new"), "").unwrap();
            way(scratch).unwrap();
            assert_eq!(names(parent.path()), ["lab"]);
            assert_eq!(names(&place), ["new"]);
        }
    }

    #[test]
    fn a_replacement_that_fails_brings_the_old_folder_back() {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("lab");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("old"), "").unwrap();
        let scratch = Scratch::beside(&place).unwrap();
        fs::remove_dir(&scratch.path).unwrap();
        let error = scratch.move_in_after_setting_aside().unwrap_err();
        assert!(error.to_string().starts_with("cannot replace "), "{error}");
        assert_eq!(names(parent.path()), ["lab"]);
        assert_eq!(names(&place), ["old"]);
    }
}
