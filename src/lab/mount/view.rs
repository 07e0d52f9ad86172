//! A process's own view of the host: the lab where the hardware would be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::UnshareFlags;

use crate::pci::ConfigSource;
use crate::sys::{self, MSTFLINT_LOCKS, Roots};

use super::{Mount, MountError};

/// Where the lab's tree stands.
const SYSFS: &str = "/sys";

/// The older interface.
const PROCFS: &str = "/proc/bus/pci";

/// Tells cxfw itself where lock files are.
const LOCKS_VARIABLE: &str = "CXFW_LOCK_DIR";

/// Device nodes of the vendor's kernel module, which mstflint prefers to sysfs
/// (device-access 1.5).
const HELPER_NODES: [&str; 2] = ["mstcr", "mstconf"];

/// The lab standing over `/sys` and `/proc/bus/pci` for this process alone, and for those it
/// starts.
pub struct View {
    /// Taken away when dropped; at the latest it ends with the process.
    _mount: Mount,
    locks: std::path::PathBuf,
}

impl View {
    /// Moves the calling thread into a mount namespace of its own, with the lab of `roots` where
    /// the hardware was; `source` opens its chips. Needs root, as the programs that work on cards
    /// do. There is no way back.
    ///
    /// # Errors
    /// [`MountError`]: the view could not be set up.
    pub fn enter(roots: &Roots, source: Arc<dyn ConfigSource>) -> Result<Self, MountError> {
        refuse_helper_nodes(roots)?;
        own_mounts().map_err(step("a mount namespace of its own"))?;
        mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )
        .map_err(step("making mounts private"))?;
        redirect_locks(roots)?;
        let mount = Mount::start(&roots.sysfs, source, Path::new(SYSFS))?;
        let procfs = Path::new(SYSFS).join("proc/bus/pci");
        mount_bind(procfs, PROCFS).map_err(step("putting the lab over /proc/bus/pci"))?;
        Ok(Self {
            _mount: mount,
            locks: roots.locks.clone(),
        })
    }

    /// Prepares a program to run in the view.
    pub fn prepare(&self, command: &mut Command) {
        command.env(LOCKS_VARIABLE, &self.locks);
    }
}

fn step<E: Into<std::io::Error>>(step: &str) -> impl FnOnce(E) -> MountError {
    move |source| MountError::View {
        step: step.to_owned(),
        source: source.into(),
    }
}

/// A program would go through the vendor's kernel module to the real card at an address of the
/// lab, past everything that is set up here.
fn refuse_helper_nodes(roots: &Roots) -> Result<(), MountError> {
    let devices = roots.pci_devices();
    let fail = |source| MountError::Tree {
        path: devices.clone(),
        source,
    };
    for entry in fs::read_dir(&devices).map_err(fail)? {
        let address = entry.map_err(fail)?.file_name();
        for kind in HELPER_NODES {
            let node = Path::new("/dev").join(format!("{}_{kind}", address.display()));
            if node.exists() {
                return Err(MountError::HelperNode { node });
            }
        }
    }
    Ok(())
}

/// Programs side by side on one lab find each other's locks, and never those of real cards.
fn redirect_locks(roots: &Roots) -> Result<(), MountError> {
    let fail = |what: &Path| {
        let text = format!("preparing {}", what.display());
        move |source: std::io::Error| step(&text)(source)
    };
    let own = sys::own_mstflint_locks(&roots.locks);
    for folder in [own.as_path(), Path::new(MSTFLINT_LOCKS)] {
        fs::create_dir_all(folder).map_err(fail(folder))?;
        // As mstflint makes it: every user's programs meet here.
        let everyone = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(folder, everyone).map_err(fail(folder))?;
    }
    mount_bind(&own, MSTFLINT_LOCKS).map_err(step("own lock files for mstflint"))
}

#[expect(
    unsafe_code,
    reason = "unshare is unsafe only when it splits file descriptor tables, which NEWNS does not"
)]
fn own_mounts() -> rustix::io::Result<()> {
    // SAFETY: only the mount namespace is split; descriptors stay shared by all threads.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
}
