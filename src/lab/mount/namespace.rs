//! A program's own view of the host: the lab where the hardware would be.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::UnshareFlags;

use crate::pci::ConfigSource;

use super::{Mount, MountError};

/// Lock files of mstflint are named by PCI address alone, so the lab's cards must not share the
/// folder with real ones (device-access 2.8).
const MSTFLINT_LOCKS: &str = "/tmp/mstflint_lockfiles";

/// Runs `command` with the lab standing over `/sys` and `/proc/bus/pci`, in a mount namespace
/// nobody else sees, and returns its exit code (128 + n when signal n ended it).
///
/// `sysfs` and `source` are as for [`Mount::start`]. Needs root, as the programs that work on
/// cards do. Must be called before the process starts other threads that touch files: the
/// calling thread leaves the host's view for good.
///
/// # Errors
/// [`MountError`]: the view could not be set up, or the program could not be started.
pub fn exec(
    sysfs: &Path,
    source: Arc<dyn ConfigSource>,
    command: &mut Command,
) -> Result<u8, MountError> {
    let step = |step: &str| {
        let step = step.to_owned();
        move |source: rustix::io::Errno| MountError::Namespace {
            step,
            source: source.into(),
        }
    };
    own_mounts().map_err(step("a mount namespace of its own"))?;
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .map_err(step("making mounts private"))?;

    let mountpoint = mountpoint(sysfs)?;
    let mount = Mount::start(sysfs, source, &mountpoint)?;
    rustix::mount::mount_bind(mountpoint.join("proc/bus/pci"), "/proc/bus/pci")
        .map_err(step("the lab over /proc/bus/pci"))?;
    private_locks()?;
    rustix::mount::mount_bind_recursive(&mountpoint, "/sys").map_err(step("the lab over /sys"))?;

    let status = command.status().map_err(|source| MountError::Spawn {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    // The mounts end with the namespace, at the latest when this process does.
    drop(mount);
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

/// An empty folder beside the lab's tree to mount on.
fn mountpoint(sysfs: &Path) -> Result<std::path::PathBuf, MountError> {
    let path = sysfs
        .parent()
        .unwrap_or_else(|| Path::new("/"))
        .join("mount");
    std::fs::create_dir_all(&path).map_err(|source| MountError::Tree {
        path: path.clone(),
        source,
    })?;
    Ok(path)
}

/// An empty folder of lock files for the program alone.
fn private_locks() -> Result<(), MountError> {
    let fail = |source: std::io::Error| MountError::Namespace {
        step: format!("an own {MSTFLINT_LOCKS}"),
        source,
    };
    std::fs::create_dir_all(MSTFLINT_LOCKS).map_err(fail)?;
    let everyone = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(MSTFLINT_LOCKS, everyone.clone()).map_err(fail)?;
    rustix::mount::mount("tmpfs", MSTFLINT_LOCKS, "tmpfs", MountFlags::empty(), None)
        .map_err(|source| fail(source.into()))?;
    std::fs::set_permissions(MSTFLINT_LOCKS, everyone).map_err(fail)
}

#[expect(
    unsafe_code,
    reason = "unshare is unsafe only when it splits file descriptor tables, which NEWNS does not"
)]
fn own_mounts() -> rustix::io::Result<()> {
    // SAFETY: only the mount namespace is split; descriptors stay shared by all threads.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
}
