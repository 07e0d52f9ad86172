//! What to do about an error of a lab.

use std::io;
use std::path::Path;

use crate::cli::error::Hint;
use crate::lab::LabError;
use crate::lab::chip::{ChipError, MapError};
use crate::lab::host::HostError;

impl Hint for LabError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Exists(dir) => {
                return Some(format!(
                    "work on it with --lab={}, or {}",
                    dir.display(),
                    make_anew(dir)
                ));
            }
            Self::NotALab(_) | Self::NoFolder(_) => {
                "name an empty folder, or one that is not there yet"
            }
            Self::Missing(dir) => {
                return Some(format!(
                    "make it with `cxfw --lab={} lab new`",
                    dir.display()
                ));
            }
            Self::InUse { .. } => "wait until the other process ends, or end it, and try again",
            Self::Broken { path, .. } => return path.parent().map(make_anew),
            Self::NoCard { .. } => "name a card as `cxfw lab status` lists it",
            Self::Host(error) => return error.hint(),
            Self::Image { .. } | Self::Bundle(_) => {
                "make code_size or the ROMs smaller, or the flash larger, in the description of the host"
            }
            Self::File { source, .. } => of_system(source),
            Self::Tree(error) => of_system(&error.source),
            Self::Chip(error) => return error.hint(),
            Self::Config(_) => "look at the cards with `cxfw lab status`",
        };
        Some(text.to_owned())
    }
}

impl Hint for HostError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Syntax(_) => {
                "compare it with `host` in the lab.json of a lab made by `cxfw lab new`"
            }
            _ => "correct the description of the host",
        };
        Some(text.to_owned())
    }
}

impl Hint for ChipError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::State(MapError::Size { path, .. }) | Self::Format { path, .. } => {
                return lab_of(path).map(make_anew);
            }
            Self::State(MapError::Io { source, .. }) | Self::BootFile { source, .. } => {
                of_system(source)
            }
            Self::Held(_) => "wait until that process ends, or end it, and try again",
            Self::CannotBreak { .. } => "see `cxfw lab fault --help` for what can be broken",
            Self::OutsideFlash { .. }
            | Self::UnknownChip(_)
            | Self::Functions { .. }
            | Self::Address(_)
            | Self::FlashSize(_) => "correct the description of the host",
        };
        Some(text.to_owned())
    }
}

fn make_anew(dir: &Path) -> String {
    format!(
        "make it anew with `cxfw --lab={} lab new --replace`",
        dir.display()
    )
}

/// The lab of a chip's state file, DIR/cards/NAME/FILE.
fn lab_of(state: &Path) -> Option<&Path> {
    state.ancestors().nth(3)
}

fn of_system(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "run as the user whose lab it is, or name a folder of your own with --lab=DIR"
        }
        io::ErrorKind::NotADirectory => {
            "a lab is a folder: name one that is not there yet with --lab=DIR"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room on that disk, or name a folder on another one with --lab=DIR"
        }
        io::ErrorKind::ReadOnlyFilesystem => "name a folder that can be written with --lab=DIR",
        io::ErrorKind::NotFound => {
            "something was taken out of the lab: make it anew with `lab new --replace`"
        }
        _ => "check the folder and its file system, or name another one with --lab=DIR",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(error: &dyn Hint) -> String {
        error.hint().unwrap()
    }

    #[test]
    fn a_lab_to_be_made_anew_is_named_in_the_command() {
        let dir = Path::new("/tmp/my-lab");
        let anew = "make it anew with `cxfw --lab=/tmp/my-lab lab new --replace`";
        let broken = LabError::Broken {
            path: dir.join("lab.json"),
            reason: String::new(),
        };
        let size = MapError::Size {
            path: dir.join("cards/cx4lx/flash.bin"),
            found: 1,
            expected: 2,
        };
        let format = ChipError::Format {
            path: dir.join("cards/cx4lx/chip.bin"),
            found: 1,
            expected: 2,
        };
        assert_eq!(hint(&broken), anew);
        assert_eq!(hint(&LabError::Chip(size.into())), anew);
        assert_eq!(hint(&LabError::Chip(format)), anew);
        assert_eq!(
            hint(&LabError::Exists(dir.to_owned())),
            format!("work on it with --lab=/tmp/my-lab, or {anew}")
        );
    }

    #[test]
    fn what_the_system_refused_decides_the_advice() {
        let file = |kind: io::ErrorKind| LabError::File {
            action: "read",
            path: "/tmp/x/lab.json".into(),
            source: kind.into(),
        };
        assert!(hint(&file(io::ErrorKind::NotADirectory)).starts_with("a lab is a folder"));
        assert!(hint(&file(io::ErrorKind::PermissionDenied)).starts_with("run as the user"));
        let state = MapError::Io {
            action: "open",
            path: "/tmp/x/cards/c/chip.bin".into(),
            source: io::ErrorKind::PermissionDenied.into(),
        };
        assert!(hint(&LabError::Chip(state.into())).starts_with("run as the user"));
    }
}
