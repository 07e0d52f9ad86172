//! One lock a card, so that two burns never meet on one chip.
//!
//! The lock is a `flock` on a file below [`Roots::locks`]. The kernel drops it when its holder
//! ends, however that happens, so a dead holder never blocks. The holder writes who it is into
//! the file, for the message others get, and wipes that on an orderly end: a record found in a
//! file that could be locked tells that its writer died, and which update handle it had open on
//! the card ([`CardLock::abandoned`]). A handle stays on record, from holder to holder, until
//! somebody has closed it.
//!
//! The folder must belong to root or to the caller and be writable for nobody else, and neither
//! it nor the file may be a symbolic link: below `/run/lock` anybody may create names
//! (device-access 2.8, burn 11.1).

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::sys::Roots;

/// How often a lock that is held is tried again.
const RETRY: Duration = Duration::from_millis(50);
/// Longest holder record that is read back, in bytes; ours are far shorter.
const RECORD_LIMIT: u64 = 4096;
/// Longest command line kept in a record, in characters.
const COMMAND_LIMIT: usize = 200;

/// Who holds, or held, a card's lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Command line, shortened.
    pub command: String,
    /// When the lock was taken, seconds since 1970.
    pub since: u64,
    /// Update handle this process has open on the card (MCC, 24 bits), if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_handle: Option<u32>,
}

impl Holder {
    fn this_process(update_handle: Option<u32>) -> Self {
        let command = std::env::args().collect::<Vec<_>>().join(" ");
        Self {
            pid: std::process::id(),
            command: command.chars().take(COMMAND_LIMIT).collect(),
            since: now(),
            update_handle,
        }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let command = crate::bytes::text(self.command.as_bytes());
        let seconds = now().saturating_sub(self.since);
        write!(f, "process {} (`{command}`, since {seconds} s)", self.pid)
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Why a card could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("{} is held by {}", path.display(),
        holder.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Who, as far as the file tells.
        holder: Option<Holder>,
    },
    /// The folder could be changed by somebody else, so a lock in it proves nothing.
    #[error("{}: {reason}; cards are not locked in such a folder", path.display())]
    Unsafe {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system refused.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl LockError {
    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Held { .. } => {
                "wait for the other process to end; a lock is never left behind by a dead one"
                    .to_owned()
            }
            Self::Unsafe { path, .. } => format!(
                "make {} belong to root with mode 0755, or name another folder with --lock-dir",
                path.display()
            ),
            Self::Io { .. } => "run as root, or name another folder with --lock-dir".to_owned(),
        }
    }
}

/// The lock of one card, held until dropped.
#[derive(Debug)]
pub struct CardLock {
    file: File,
    path: PathBuf,
    holder: Mutex<Holder>,
    abandoned: Option<Holder>,
}

impl CardLock {
    /// Takes the lock named `key` (see [`key`]), waiting up to `wait` for its holder.
    ///
    /// # Errors
    /// [`LockError::Held`] when it is still held after `wait`; the others when the folder or the
    /// file cannot be used.
    pub fn take(roots: &Roots, key: &str, wait: Duration) -> Result<Self, LockError> {
        Self::take_while(roots, key, wait, |_| true)
    }

    /// As [`CardLock::take`]. Before every pause of the wait `go_on` hears who holds the lock, as
    /// far as the file tells, and says whether to wait on.
    ///
    /// # Errors
    /// As [`CardLock::take`]; [`LockError::Held`] also when `go_on` said no.
    pub fn take_while(
        roots: &Roots,
        key: &str,
        wait: Duration,
        go_on: impl FnMut(Option<&Holder>) -> bool,
    ) -> Result<Self, LockError> {
        let folder = open_folder(&roots.locks)?;
        let name = format!("{}.lock", file_name(key));
        let path = roots.locks.join(&name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &name, flags, Mode::from_raw_mode(0o644))
            .map(File::from)
            .map_err(|errno| io("open", &path, errno.into()))?;
        lock(&file, &path, wait, go_on)?;
        let abandoned = read_record(&file);
        let holder = Holder::this_process(abandoned.as_ref().and_then(|dead| dead.update_handle));
        write_record(&file, &path, &holder)?;
        Ok(Self {
            file,
            path,
            holder: Mutex::new(holder),
            abandoned,
        })
    }

    /// The file beside the lock's own with another ending.
    pub(super) fn beside(&self, ending: &str) -> PathBuf {
        self.path.with_extension(ending)
    }

    /// The previous holder, when it died without giving the lock back.
    #[must_use]
    pub const fn abandoned(&self) -> Option<&Holder> {
        self.abandoned.as_ref()
    }

    /// Records the update handle that is open on the card, or that none is, so that a later run
    /// can close it should this process die.
    ///
    /// # Errors
    /// [`LockError::Io`] when the lock file cannot be written.
    pub fn note_update_handle(&self, handle: Option<u32>) -> Result<(), LockError> {
        let mut holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        holder.update_handle = handle;
        write_record(&self.file, &self.path, &holder)
    }
}

impl Drop for CardLock {
    /// Wipes the record, unless an update handle is still open on the card; closing the file
    /// then gives the lock back.
    fn drop(&mut self) {
        let holder = self
            .holder
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if holder.update_handle.is_some() {
            return;
        }
        if let Err(error) = self.file.set_len(0) {
            log::warn!("cannot wipe {}: {error}", self.path.display());
        }
    }
}

/// The lock key of a card: its serial number, which all its functions share (two PCI devices of
/// a socket-direct card as well), else the address of its first function.
#[must_use]
pub fn key(serial: Option<&str>, address: &str) -> String {
    match serial {
        Some(serial) if !serial.is_empty() => format!("serial-{serial}"),
        _ => format!("pci-{address}"),
    }
}

/// `key` as a file name: everything but letters, digits, `-`, `.` and `:` becomes `_`.
fn file_name(key: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':');
    key.chars()
        .take(100)
        .map(|c| if keep(c) { c } else { '_' })
        .collect()
}

fn io(operation: &'static str, path: &Path, source: std::io::Error) -> LockError {
    LockError::Io {
        operation,
        path: path.to_owned(),
        source,
    }
}

/// Opens the lock folder, making it (mode 0755) if it is missing, and checks whose it is.
fn open_folder(path: &Path) -> Result<File, LockError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
        .map_err(|source| io("create", path, source))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())
        .map(File::from)
        .map_err(|errno| io("open", path, errno.into()))?;
    let facts = folder
        .metadata()
        .map_err(|source| io("examine", path, source))?;
    let me = rustix::process::geteuid().as_raw();
    let refuse = |reason| {
        Err(LockError::Unsafe {
            path: path.to_owned(),
            reason,
        })
    };
    if facts.uid() != 0 && facts.uid() != me {
        return refuse(format!("it belongs to user {}", facts.uid()));
    }
    if facts.mode() & 0o022 != 0 {
        return refuse(format!(
            "others may write in it (mode {:04o})",
            facts.mode() & 0o7777
        ));
    }
    Ok(folder)
}

fn lock(
    file: &File,
    path: &Path,
    wait: Duration,
    mut go_on: impl FnMut(Option<&Holder>) -> bool,
) -> Result<(), LockError> {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(std::fs::TryLockError::WouldBlock) => {
                let holder = read_record(file);
                if start.elapsed() >= wait || !go_on(holder.as_ref()) {
                    return Err(LockError::Held {
                        path: path.to_owned(),
                        holder,
                    });
                }
                std::thread::sleep(RETRY);
            }
            Err(std::fs::TryLockError::Error(source)) => return Err(io("lock", path, source)),
        }
    }
}

fn write_record(mut file: &File, path: &Path, holder: &Holder) -> Result<(), LockError> {
    let failed = |source| io("write", path, source);
    let record = serde_json::to_vec(holder).map_err(|source| failed(source.into()))?;
    file.rewind().map_err(failed)?;
    file.write_all(&record).map_err(failed)?;
    file.set_len(record.len() as u64).map_err(failed)
}

/// The record in a lock file; `None` when there is none or it is not one of ours.
fn read_record(mut file: &File) -> Option<Holder> {
    let mut record = Vec::new();
    file.rewind().ok()?;
    file.take(RECORD_LIMIT).read_to_end(&mut record).ok()?;
    serde_json::from_slice(&record).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn roots(dir: &tempfile::TempDir) -> Roots {
        Roots {
            locks: dir.path().join("locks"),
            ..Roots::default()
        }
    }

    #[test]
    fn a_second_taker_is_told_who_holds_the_card() {
        let dir = tempfile::tempdir().unwrap();
        let roots = roots(&dir);
        let held = CardLock::take(&roots, "pci-0000:03:00.0", Duration::ZERO).unwrap();
        let error = CardLock::take(&roots, "pci-0000:03:00.0", Duration::from_millis(60))
            .expect_err("held");
        let text = error.to_string();
        assert!(
            text.contains("pci-0000:03:00.0.lock is held by process"),
            "{text}"
        );
        assert!(text.contains(&std::process::id().to_string()), "{text}");
        let other = CardLock::take(&roots, "pci-0000:04:00.0", Duration::ZERO);
        assert!(other.is_ok());
        drop(held);
        let again = CardLock::take(&roots, "pci-0000:03:00.0", Duration::ZERO).unwrap();
        assert_eq!(again.abandoned(), None);
    }

    #[test]
    fn a_waiting_taker_gets_the_card_when_its_holder_ends() {
        let dir = tempfile::tempdir().unwrap();
        let roots = roots(&dir);
        let held = CardLock::take(&roots, "serial-X", Duration::ZERO).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope
                .spawn(|| CardLock::take(&roots, "serial-X", Duration::from_secs(10)).map(|_| ()));
            std::thread::sleep(Duration::from_millis(20));
            drop(held);
            waiter.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_handle_left_open_on_the_card_stays_on_record_until_it_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let roots = roots(&dir);
        let take = || CardLock::take(&roots, "serial-X", Duration::ZERO).unwrap();
        // A drop with the handle noted leaves the file as the kernel leaves a killed holder's.
        let dying = take();
        dying.note_update_handle(Some(0x00ab_cdef)).unwrap();
        drop(dying);

        let looked_only = take();
        let abandoned = looked_only.abandoned().unwrap();
        assert_eq!(abandoned.update_handle, Some(0x00ab_cdef));
        assert_eq!(abandoned.pid, std::process::id());
        drop(looked_only);

        let closing = take();
        assert!(closing.abandoned().is_some());
        closing.note_update_handle(None).unwrap();
        drop(closing);
        assert_eq!(take().abandoned(), None);
    }

    #[test]
    fn a_folder_others_may_write_in_or_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let roots = roots(&dir);
        std::fs::create_dir(&roots.locks).unwrap();
        std::fs::set_permissions(&roots.locks, PermissionsExt::from_mode(0o777)).unwrap();
        let error = CardLock::take(&roots, "x", Duration::ZERO).expect_err("world-writable");
        assert!(matches!(error, LockError::Unsafe { .. }), "{error}");

        std::fs::remove_dir(&roots.locks).unwrap();
        let elsewhere = dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &roots.locks).unwrap();
        let error = CardLock::take(&roots, "x", Duration::ZERO).expect_err("folder is a link");
        assert!(matches!(error, LockError::Io { .. }), "{error}");
    }

    #[test]
    fn a_lock_file_that_is_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let roots = roots(&dir);
        std::fs::create_dir(&roots.locks).unwrap();
        let precious = dir.path().join("precious");
        std::fs::write(&precious, "keep").unwrap();
        std::os::unix::fs::symlink(&precious, roots.locks.join("x.lock")).unwrap();
        assert!(CardLock::take(&roots, "x", Duration::ZERO).is_err());
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "keep");
    }

    #[test]
    fn a_key_never_leaves_the_folder() {
        assert_eq!(file_name("serial-../../etc/x y"), "serial-.._.._etc_x_y");
        assert_eq!(key(Some(""), "0000:03:00.0"), "pci-0000:03:00.0");
        assert_eq!(key(Some("MT1"), "0000:03:00.0"), "serial-MT1");
    }
}
