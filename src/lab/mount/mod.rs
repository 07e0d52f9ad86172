//! The lab as a live file tree: any program that finds its cards through sysfs and procfs works
//! on the simulated ones.
//!
//! [`Mount`] serves a lab through FUSE. Its root is what `/sys` is on a host; `proc/bus/pci` in
//! it is the older interface. The `config` files are the simulated chips themselves, everything
//! else is the tree of plain files the lab keeps. [`View`] goes one step further and gives a
//! process a mount namespace of its own where that tree stands over `/sys` and `/proc/bus/pci`,
//! so that a tool that knows nothing of labs (`mstflint`) can be pointed at one and does not
//! reach the real hardware.
//!
//! `tree` is the file system, `node` what a path in it is, `open_files` the chips behind open
//! `config` files, `procfs` the part that is `/proc/bus/pci`, `cycles` how reads and writes become
//! config cycles.

mod cycles;
mod inodes;
mod node;
mod open_files;
mod procfs;
mod tree;
mod view;

pub use view::View;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuser::{BackgroundSession, Config, MountOption, SessionACL};
use rustix::mount::UnmountFlags;

use crate::pci::ConfigSource;

/// Requests served at the same time. Programs side by side on one lab must not wait for each
/// other in the file system, only on the chip.
const THREADS: usize = 4;

/// The kernel's end of FUSE.
const FUSE_DEVICE: &str = "/dev/fuse";

/// Why a lab could not be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The tree of the lab cannot be read.
    #[error("cannot read the lab's tree {}: {source}", path.display())]
    Tree {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel offers no FUSE.
    #[error("cannot mount the lab: there is no {FUSE_DEVICE}")]
    NoFuse,
    /// The kernel refused the mount.
    #[error("cannot mount the lab at {}: {source}", path.display())]
    Refused {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A step of setting up the private view failed.
    #[error("cannot put the lab in place of the hardware: {step}: {source}")]
    View {
        /// What was tried.
        step: String,
        /// What the system said.
        source: io::Error,
    },
    /// The vendor's kernel module leads to a real card at an address of the lab.
    #[error("{} leads to a real card at an address of the lab", node.display())]
    HelperNode {
        /// The device node.
        node: PathBuf,
    },
}

/// A mounted lab; unmounted when dropped.
pub struct Mount {
    session: BackgroundSession,
    mountpoint: PathBuf,
}

/// How a mount ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Nobody used it any more.
    Idle,
    /// Programs still had files open, which fail from now on.
    InUse,
}

impl Mount {
    /// Serves the lab whose sysfs tree is the folder `sysfs` and whose chips `source` opens, at
    /// the existing folder `mountpoint`. Root's mount is open to everybody, another user's to
    /// that user alone.
    ///
    /// # Errors
    /// [`MountError::NoFuse`], or [`MountError::Refused`] when the kernel refuses (not
    /// permitted, no such folder).
    pub fn start(
        sysfs: &Path,
        source: Arc<dyn ConfigSource>,
        mountpoint: &Path,
    ) -> Result<Self, MountError> {
        if !Path::new(FUSE_DEVICE).exists() {
            return Err(MountError::NoFuse);
        }
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName("cxfw-lab".to_owned()),
            MountOption::Subtype("cxfw".to_owned()),
            MountOption::DefaultPermissions,
            MountOption::NoExec,
            MountOption::NoDev,
        ];
        config.acl = if rustix::process::geteuid().is_root() {
            SessionACL::All
        } else {
            SessionACL::Owner
        };
        config.n_threads = Some(THREADS);
        let refused = |source| MountError::Refused {
            path: mountpoint.to_owned(),
            source,
        };
        let mountpoint = mountpoint.canonicalize().map_err(refused)?;
        let tree = tree::Tree::new(sysfs, source);
        let session = fuser::spawn_mount(tree, &mountpoint, &config).map_err(refused)?;
        Ok(Self {
            session,
            mountpoint,
        })
    }

    /// Somebody else unmounted it (`umount`).
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.session.guard.is_finished()
    }

    /// Unmounts, even when files of it are still open.
    ///
    /// # Errors
    /// What the system said to the unmount.
    pub fn stop(self) -> io::Result<Stopped> {
        match rustix::mount::unmount(&self.mountpoint, UnmountFlags::empty()) {
            Ok(()) => {
                self.session.join()?;
                Ok(Stopped::Idle)
            }
            Err(rustix::io::Errno::BUSY) => {
                rustix::mount::unmount(&self.mountpoint, UnmountFlags::DETACH)?;
                Ok(Stopped::InUse)
            }
            // Another user's mount is taken away by the helper that made it.
            Err(rustix::io::Errno::PERM) => {
                self.session.umount_and_join()?;
                Ok(Stopped::Idle)
            }
            Err(error) => Err(error.into()),
        }
    }
}
