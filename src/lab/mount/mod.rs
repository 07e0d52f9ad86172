//! The lab as a live file tree: any program that finds its cards through sysfs and procfs works
//! on the simulated ones.
//!
//! [`Mount`] serves a lab through FUSE. Its root is what `/sys` is on a host; `proc/bus/pci` in
//! it is the older interface. The `config` files are the simulated chips themselves, everything
//! else is the tree of plain files the lab keeps. [`exec`] goes one step further and runs a
//! program in a mount namespace of its own where that tree stands over `/sys` and
//! `/proc/bus/pci`, so that a tool that knows nothing of labs (`mstflint`) can be pointed at one
//! and cannot reach the real hardware.
//!
//! [`tree`] is the file system, [`procfs`] the text and layout of `/proc/bus/pci`, [`namespace`]
//! the private view for one program.

mod namespace;
mod node;
mod procfs;
mod tree;

pub use namespace::exec;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuser::{BackgroundSession, Config, MountOption, SessionACL};

use crate::pci::ConfigSource;

/// Requests served at the same time. Programs side by side on one lab must not wait for each
/// other in the file system, only on the chip.
const THREADS: usize = 4;

/// Why a lab could not be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The tree of the lab cannot be read.
    #[error("cannot read the lab's tree {}: {source}", path.display())]
    Tree {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The kernel refused the mount.
    #[error("cannot mount the lab at {}: {source}", path.display())]
    Mount {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A step of setting up the private mount namespace failed.
    #[error("cannot give the program its own view of the host: {step} failed: {source}")]
    Namespace {
        /// What was tried.
        step: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The program could not be started.
    #[error("cannot run `{program}`: {source}")]
    Spawn {
        /// Its name as given.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A mounted lab; unmounted when dropped.
pub struct Mount {
    session: BackgroundSession,
}

impl Mount {
    /// Serves the lab whose sysfs tree is the folder `sysfs` and whose chips `source` opens, at
    /// the existing folder `mountpoint`.
    ///
    /// # Errors
    /// [`MountError::Tree`] when the tree cannot be read, [`MountError::Mount`] when the kernel
    /// refuses (no `/dev/fuse`, not permitted).
    pub fn start(
        sysfs: &Path,
        source: Arc<dyn ConfigSource>,
        mountpoint: &Path,
    ) -> Result<Self, MountError> {
        let tree = tree::Tree::new(sysfs, source)?;
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName("cxfw-lab".to_owned()),
            MountOption::Subtype("cxfw".to_owned()),
            MountOption::DefaultPermissions,
            MountOption::NoExec,
            MountOption::NoDev,
        ];
        config.acl = SessionACL::All;
        config.n_threads = Some(THREADS);
        let session =
            fuser::spawn_mount(tree, mountpoint, &config).map_err(|source| MountError::Mount {
                path: mountpoint.to_owned(),
                source,
            })?;
        Ok(Self { session })
    }

    /// Serves until the tree is unmounted from outside (`umount`).
    ///
    /// # Errors
    /// What the file system's end reported.
    pub fn wait(self) -> std::io::Result<()> {
        self.session.join()
    }

    /// Unmounts and ends.
    ///
    /// # Errors
    /// What the system said to the unmount.
    pub fn stop(self) -> std::io::Result<()> {
        self.session.umount_and_join()
    }
}
