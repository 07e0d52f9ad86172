//! Where this machine keeps things: the roots of /sys, /proc and /run, per-user state.
//!
//! Every absolute path of the program starts here, so that a test, a chroot or a mounted lab
//! replaces them in one place.

use std::path::{Path, PathBuf};

/// Where hosts keep the PCI ID database, most likely place first.
pub const PCI_ID_FILES: [&str; 3] = [
    "/usr/share/hwdata/pci.ids",
    "/usr/share/misc/pci.ids",
    "/var/lib/pciutils/pci.ids",
];

/// The file-tree roots a run works under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// In place of `/sys`.
    pub sysfs: PathBuf,
    /// Folder of per-card lock files.
    pub locks: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            sysfs: PathBuf::from("/sys"),
            locks: PathBuf::from("/run/lock/cxfw"),
        }
    }
}

/// Ending of a card's note, beside its lock file, that a direct burn waits for its restart. A
/// restart of the machine removes them.
pub const UNBOOTED: &str = "unbooted";

/// Where mstflint keeps its lock files, named by PCI address (device-access 2.8).
pub const MSTFLINT_LOCKS: &str = "/tmp/mstflint_lockfiles";

/// Folder of mstflint's lock files for programs whose own are in `locks`: a lab has one of its
/// own there, since its cards must not meet the real ones at the same address.
#[must_use]
pub fn mstflint_locks(locks: &Path) -> PathBuf {
    let own = own_mstflint_locks(locks);
    if own.is_dir() {
        own
    } else {
        PathBuf::from(MSTFLINT_LOCKS)
    }
}

/// Where a lab, whose lock files are in `locks`, keeps mstflint's.
#[must_use]
pub fn own_mstflint_locks(locks: &Path) -> PathBuf {
    locks.join("mstflint")
}

impl Roots {
    /// The directory with one entry a PCI function.
    #[must_use]
    pub fn pci_devices(&self) -> PathBuf {
        self.sysfs.join("bus/pci/devices")
    }

    /// Kernel lockdown mode in force (`integrity`, `confidentiality`), from
    /// `kernel/security/lockdown` below the sysfs root; `None` when off or unknown.
    #[must_use]
    pub fn lockdown(&self) -> Option<String> {
        let path = self.sysfs.join("kernel/security/lockdown");
        let text = std::fs::read_to_string(path).ok()?;
        let start = text.find('[')? + 1;
        let mode = text.get(start..)?.split(']').next()?;
        (mode != "none").then(|| mode.to_owned())
    }
}

/// The site's configuration.
pub const CONFIG_FILE: &str = "/etc/cxfw/config.toml";

/// Folder of fetched files: `/var/cache/cxfw` for root, else `$XDG_CACHE_HOME/cxfw`, else
/// `~/.cache/cxfw`. Root keeps to its own even when it has a user's environment (sudo).
#[must_use]
pub fn default_cache_dir() -> PathBuf {
    const SYSTEM: &str = "/var/cache/cxfw";
    if rustix::process::geteuid().is_root() {
        return PathBuf::from(SYSTEM);
    }
    let folder = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    folder("XDG_CACHE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".cache")))
        .map_or_else(|| PathBuf::from(SYSTEM), |cache| cache.join("cxfw"))
}

/// Folder of the backups that are made before a burn: `/var/lib/cxfw/backups` for root, else
/// `$XDG_STATE_HOME/cxfw/backups`, else `~/.local/state/cxfw/backups`. Root keeps to its own even
/// when it has a user's environment (sudo).
#[must_use]
pub fn default_backup_dir() -> PathBuf {
    let system = || PathBuf::from("/var/lib");
    let state = if rustix::process::geteuid().is_root() {
        system()
    } else {
        user_state_dir().unwrap_or_else(system)
    };
    state.join("cxfw/backups")
}

/// Folder of the user's default lab: `$XDG_STATE_HOME/cxfw/lab`, else
/// `~/.local/state/cxfw/lab`, else `/var/lib/cxfw/lab` for a process without a home.
#[must_use]
pub fn default_lab_dir() -> PathBuf {
    user_state_dir()
        .unwrap_or_else(|| PathBuf::from("/var/lib"))
        .join("cxfw/lab")
}

/// Where the user's programs keep what they need between runs; `None` for a process without a
/// home.
fn user_state_dir() -> Option<PathBuf> {
    let folder = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    folder("XDG_STATE_HOME").or_else(|| {
        folder("HOME")
            .filter(|home| home != Path::new("/"))
            .map(|home| home.join(".local/state"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lockdown_is_read_from_the_bracketed_word() {
        let dir = tempfile::tempdir().unwrap();
        let security = dir.path().join("kernel/security");
        std::fs::create_dir_all(&security).unwrap();
        let roots = Roots {
            sysfs: dir.path().to_owned(),
            ..Roots::default()
        };
        assert_eq!(roots.lockdown(), None);
        std::fs::write(
            security.join("lockdown"),
            "none [integrity] confidentiality\n",
        )
        .unwrap();
        assert_eq!(roots.lockdown().as_deref(), Some("integrity"));
        std::fs::write(
            security.join("lockdown"),
            "[none] integrity confidentiality\n",
        )
        .unwrap();
        assert_eq!(roots.lockdown(), None);
    }
}
