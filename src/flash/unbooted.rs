//! Direct burns that wait for the restart of their card.
//!
//! Firmware that runs does not know that its flash was written past it. Asked for an update then,
//! it writes where it believes the free slot to be: over the only image that boots. So a direct
//! burn leaves a note beside the card's lock file, below `/run`, which a restart of the machine
//! empties; while the note holds, no update goes through the firmware. Firmware that started
//! after the burn is told by its uptime or by another version (MGIR; device-access 4.1).

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::sys;
use crate::version::FwVersion;

use super::lock::{CardLock, LockError};

/// Rounding of an uptime that is told in whole seconds.
const ROUNDING: u64 = 1;

/// The firmware that runs, as far as a restart changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// Its version.
    pub version: Option<FwVersion>,
    /// Seconds since it started; 0 also from firmware that does not count.
    pub uptime: u32,
}

/// What is written down before a direct burn.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// Start of the machine.
    machine: String,
    /// Seconds after it.
    at: u64,
    /// Version that ran.
    version: Option<String>,
    /// Seconds it had run.
    uptime: u32,
    /// Flash address of the image it runs from.
    #[serde(default)]
    image: Option<u64>,
}

/// Where and when something happens on this machine.
#[derive(Debug)]
struct Moment {
    machine: String,
    seconds: u64,
}

impl Moment {
    fn now() -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let uptime = std::fs::read_to_string("/proc/uptime")?;
        let seconds = uptime.split('.').next().ok_or_else(invalid)?;
        Ok(Self {
            machine: std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?
                .trim()
                .to_owned(),
            seconds: seconds.parse().map_err(|_| invalid())?,
        })
    }
}

impl Note {
    fn of(running: Running, image: Option<u64>, now: &Moment) -> Self {
        Self {
            machine: now.machine.clone(),
            at: now.seconds,
            version: running.version.map(|version| version.to_string()),
            uptime: running.uptime,
            image,
        }
    }

    /// The firmware of then still runs, or may.
    fn holds(&self, running: Running, now: &Moment) -> bool {
        let since = now.seconds.saturating_sub(self.at);
        let started_before = running.uptime == 0 || u64::from(running.uptime) + ROUNDING >= since;
        self.machine == now.machine
            && self.version == running.version.map(|version| version.to_string())
            && (running.uptime >= self.uptime || running.uptime == 0)
            && started_before
    }
}

/// Writes down that the card's flash is about to be changed past its firmware, which runs from the
/// image at `image` of the flash unless an older note says otherwise. Whether it was written down
/// before.
///
/// # Errors
/// [`LockError::Io`]: the file cannot be written.
pub fn remember(lock: &CardLock, running: Running, image: Option<u64>) -> Result<bool, LockError> {
    let path = lock.beside(sys::UNBOOTED);
    let before = read(&path).is_some();
    let image = runs_from(lock, running)?.or(image);
    Moment::now()
        .and_then(|now| Ok(serde_json::to_vec(&Note::of(running, image, &now))?))
        .and_then(|note| std::fs::write(&path, note))
        .map_err(|source| failed("write", path, source))?;
    Ok(before)
}

/// Forgets a burn that left the card as it was.
///
/// # Errors
/// [`LockError::Io`]: the file cannot be removed.
pub fn forget(lock: &CardLock) -> Result<(), LockError> {
    let path = lock.beside(sys::UNBOOTED);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, error)),
        _ => Ok(()),
    }
}

/// A direct burn that was begun while this firmware ran, to its end or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// Where the image lies that the firmware runs from, if the burn knew.
    pub runs_from: Option<u64>,
}

/// The direct burn that was begun since the card's firmware started. A note that no longer holds is
/// removed.
///
/// # Errors
/// [`LockError::Io`]: the machine does not tell its uptime, or the file cannot be removed.
pub fn begun(lock: &CardLock, running: Running) -> Result<Option<Begun>, LockError> {
    let runs_from = |note: Note| Begun {
        runs_from: note.image,
    };
    Ok(holding(lock, running)?.map(runs_from))
}

/// Where the image lies that this firmware runs from, if a direct burn was begun since it started.
///
/// # Errors
/// As [`begun`].
pub fn runs_from(lock: &CardLock, running: Running) -> Result<Option<u64>, LockError> {
    Ok(begun(lock, running)?.and_then(|begun| begun.runs_from))
}

/// The note, while it holds; else it is removed.
fn holding(lock: &CardLock, running: Running) -> Result<Option<Note>, LockError> {
    let path = lock.beside(sys::UNBOOTED);
    let Some(note) = read(&path) else {
        return Ok(None);
    };
    let now = Moment::now().map_err(|source| failed("judge the age of", path, source))?;
    if note.holds(running, &now) {
        return Ok(Some(note));
    }
    forget(lock)?;
    Ok(None)
}

fn failed(operation: &'static str, path: PathBuf, source: io::Error) -> LockError {
    LockError::Io {
        operation,
        path,
        source,
    }
}

fn read(path: &Path) -> Option<Note> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment {
            machine: "this start".to_owned(),
            seconds,
        }
    }

    const fn firmware(minor: u16, uptime: u32) -> Running {
        Running {
            version: Some(FwVersion::new(14, minor, 1010)),
            uptime,
        }
    }

    #[test]
    fn a_note_holds_while_the_firmware_of_then_runs() {
        let note = Note::of(firmware(25, 500), None, &at(1000));
        assert!(note.holds(firmware(25, 500), &at(1000)));
        assert!(note.holds(firmware(25, 799), &at(1300)));
        assert!(!note.holds(firmware(25, 290), &at(1300)), "started since");
        assert!(!note.holds(firmware(32, 800), &at(1300)), "another version");
        let restarted = Moment {
            machine: "the next start".to_owned(),
            seconds: 20,
        };
        assert!(!note.holds(firmware(25, 15), &restarted));
    }

    #[test]
    fn firmware_that_does_not_count_its_uptime_is_not_taken_for_new() {
        let note = Note::of(firmware(25, 0), None, &at(1000));
        assert!(note.holds(firmware(25, 0), &at(9000)));
    }

    #[test]
    fn a_card_that_restarted_long_ago_has_nothing_to_wait_for() {
        let note = Note::of(firmware(25, 0), None, &at(1000));
        assert!(!note.holds(firmware(25, 3000), &at(5000)));
    }
}
