//! Standard input as a firmware file. Containers are read from both ends and more than once, so
//! what comes through a pipe is kept in a temporary file without a name.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};

use super::error::CliError;
use crate::bundle::{BundleError, Fault, limits};

/// What stands for standard input on the command line.
pub const DASH: &str = "-";
/// What messages and results call it.
pub const NAME: &str = "standard input";

/// What came through the pipe, for whoever asks again.
static KEPT: OnceLock<File> = OnceLock::new();

/// All of standard input: the file it comes from, or a copy of what came through the pipe, the same
/// however often it is asked for.
///
/// # Errors
/// It is a terminal, cannot be read, or brings more than [`limits::STREAM`].
pub fn file() -> Result<File, CliError> {
    let failed = |source| CliError::File {
        action: "read",
        path: PathBuf::from(NAME),
        source,
    };
    if let Some(kept) = KEPT.get() {
        return kept.try_clone().map_err(failed);
    }
    let input = io::stdin();
    if input.is_terminal() {
        return Err(CliError::NothingOnInput);
    }
    let owned = input.as_fd().try_clone_to_owned().map_err(failed)?;
    let mut file = File::from(owned);
    let whole = file.metadata().is_ok_and(|metadata| metadata.is_file())
        && file.stream_position().is_ok_and(|at| at == 0);
    if whole {
        return Ok(file);
    }
    let folder = std::env::temp_dir();
    let mut copy = unnamed(&folder).map_err(|source| CliError::File {
        action: "make a temporary file in",
        path: folder,
        source,
    })?;
    let mut limited = file.take(limits::STREAM.allowed + 1);
    let copied = io::copy(&mut limited, &mut copy).map_err(failed)?;
    match limits::STREAM.check(copied) {
        Ok(0) => Err(BundleError::new(Path::new(NAME), Fault::Empty).into()),
        Ok(_) => KEPT.get_or_init(|| copy).try_clone().map_err(failed),
        Err(fault) => Err(BundleError::new(Path::new(NAME), fault).into()),
    }
}

/// A file for this process only, gone when it is closed.
fn unnamed(folder: &Path) -> io::Result<File> {
    let private = Mode::RUSR | Mode::WUSR;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(folder, flags, private) {
        return Ok(file.into());
    }
    // Some file systems have no files without a name: one that loses its name at once.
    let path = folder.join(format!(".cxfw-{}", std::process::id()));
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, private)?;
    fs::remove_file(&path)?;
    Ok(file.into())
}
