//! The sysfs tree of a lab: what the kernel of the simulated host would show.
//!
//! Real directories lie below `devices/pci0000:00/`, a bridge in a bridge, as the buses are wired;
//! `bus/pci/devices`, `bus/pci/drivers` and `class/` hold links to them. Attributes are plain
//! files, `config` is a snapshot. The tree is written beside the old one and exchanged with it,
//! so that no reader ever sees half of one.

mod header;
mod nodes;

pub(super) use nodes::{Node, nodes};

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::host::HostSpec;
use crate::pci::Address;
use nodes::{LinkState, RdmaDevice};

/// A file or link of the tree could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct TreeError {
    /// What was tried.
    pub action: &'static str,
    /// The file, folder or link.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Writes the tree of `nodes` as `DIR/sys`, in place of an older one. The caller holds the lab's
/// lock, so that one process at a time does this.
pub(super) fn replace(dir: &Path, host: &HostSpec, nodes: &[Node]) -> Result<(), TreeError> {
    let live = dir.join("sys");
    let fresh = dir.join("sys.new");
    // Left by a process that died while it wrote.
    remove(&fresh)?;
    Tree { root: &fresh, host }.write(nodes)?;
    if !live.exists() {
        return rename(&fresh, &live);
    }
    match renameat_with(CWD, &fresh, CWD, &live, RenameFlags::EXCHANGE) {
        Ok(()) => remove(&fresh),
        // A file system that cannot exchange: a reader may find no tree for a moment.
        Err(_) => {
            let old = dir.join("sys.old");
            remove(&old)?;
            rename(&live, &old)?;
            rename(&fresh, &live)?;
            remove(&old)
        }
    }
}

fn remove(path: &Path) -> Result<(), TreeError> {
    match fs::remove_dir_all(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(TreeError {
            action: "remove",
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), TreeError> {
    fs::rename(from, to).map_err(|source| TreeError {
        action: "rename to",
        path: to.to_owned(),
        source,
    })
}

/// A tree that is being written.
struct Tree<'a> {
    root: &'a Path,
    host: &'a HostSpec,
}

impl Tree<'_> {
    fn write(&self, nodes: &[Node]) -> Result<(), TreeError> {
        self.file(
            "kernel/security/lockdown",
            b"[none] integrity confidentiality\n",
        )?;
        nodes.iter().try_for_each(|node| self.node(node))
    }

    /// Directory of a function, below the bridges that lead to it.
    fn device_dir(&self, address: Address) -> PathBuf {
        let mut above = Vec::new();
        let mut bus = address.bus;
        while let Some(bridge) = self.host.bridge_to(address.domain, bus) {
            above.push(bridge.address.to_string());
            bus = bridge.address.bus;
        }
        let mut dir = PathBuf::from(format!("devices/pci{:04x}:00", address.domain));
        dir.extend(above.iter().rev());
        dir.join(address.to_string())
    }

    fn node(&self, node: &Node) -> Result<(), TreeError> {
        let dir = self.device_dir(node.address);
        let subsystem = node.subsystem();
        let attributes = [
            ("vendor", format!("{:#06x}", node.id().vendor)),
            ("device", format!("{:#06x}", node.id().device)),
            ("subsystem_vendor", format!("{:#06x}", subsystem.vendor)),
            ("subsystem_device", format!("{:#06x}", subsystem.device)),
            ("class", format!("{:#08x}", node.class())),
            ("revision", format!("{:#04x}", node.revision())),
            ("numa_node", node.numa_node.to_string()),
            ("resource", resource(node)),
        ];
        for (name, text) in attributes {
            self.file(dir.join(name), format!("{text}\n").as_bytes())?;
        }
        self.file(dir.join("config"), &node.config_bytes())?;
        if !node.vpd.is_empty() {
            self.file(dir.join("vpd"), &node.vpd)?;
        }
        if let Some(link) = node.link {
            self.link_attributes(&dir, link)?;
        }
        let name = node.address.to_string();
        self.symlink(Path::new("bus/pci/devices").join(&name), &dir)?;
        self.symlink(dir.join("subsystem"), Path::new("bus/pci"))?;
        if let Some(driver) = &node.driver {
            let driver = Path::new("bus/pci/drivers").join(driver);
            self.symlink(dir.join("driver"), &driver)?;
            self.symlink(driver.join(&name), &dir)?;
        }
        for net in &node.net {
            let net_dir = dir.join("net").join(&net.name);
            self.file(
                net_dir.join("address"),
                format!("{}\n", net.mac_text()).as_bytes(),
            )?;
            self.symlink(net_dir.join("device"), &dir)?;
            self.symlink(Path::new("class/net").join(&net.name), &net_dir)?;
        }
        match &node.rdma {
            Some(rdma) => self.rdma(&dir, rdma),
            None => Ok(()),
        }
    }

    fn link_attributes(&self, dir: &Path, link: LinkState) -> Result<(), TreeError> {
        for (name, text) in [
            ("current_link_speed", link.current.speed.to_string()),
            ("current_link_width", link.current.width.to_string()),
            ("max_link_speed", link.max.speed.to_string()),
            ("max_link_width", link.max.width.to_string()),
        ] {
            self.file(dir.join(name), format!("{text}\n").as_bytes())?;
        }
        Ok(())
    }

    fn rdma(&self, device: &Path, rdma: &RdmaDevice) -> Result<(), TreeError> {
        let dir = device.join("infiniband").join(&rdma.name);
        for (name, text) in [
            ("fw_ver", rdma.fw_ver.clone()),
            ("board_id", rdma.board_id.clone()),
            ("hca_type", rdma.hca_type.clone()),
            ("hw_rev", format!("{:x}", rdma.revision)),
            ("node_guid", rdma.node_guid.clone()),
        ] {
            self.file(dir.join(name), format!("{text}\n").as_bytes())?;
        }
        for (port, port_type) in (1u32..).zip(&rdma.ports) {
            let file = dir.join(format!("ports/{port}/link_layer"));
            self.file(file, format!("{}\n", port_type.link_layer()).as_bytes())?;
        }
        self.symlink(dir.join("device"), device)?;
        self.symlink(Path::new("class/infiniband").join(&rdma.name), &dir)
    }

    fn file(&self, path: impl AsRef<Path>, contents: &[u8]) -> Result<(), TreeError> {
        self.make("write", path.as_ref(), |full| fs::write(full, contents))
    }

    /// A relative link at `path` to `target`, both below the root.
    fn symlink(&self, path: impl AsRef<Path>, target: &Path) -> Result<(), TreeError> {
        let path = path.as_ref();
        let up = path.components().count() - 1;
        let mut relative: PathBuf = std::iter::repeat_n("..", up).collect();
        relative.push(target);
        self.make("link", path, |full| symlink(&relative, full))
    }

    /// Makes something at `path`, and the folders it lies in if they are not there yet.
    fn make(
        &self,
        action: &'static str,
        path: &Path,
        make: impl Fn(&Path) -> io::Result<()>,
    ) -> Result<(), TreeError> {
        let path = self.root.join(path);
        let result = match make(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(path.parent().unwrap_or(self.root)).and_then(|()| make(&path))
            }
            other => other,
        };
        result.map_err(|source| TreeError {
            action,
            path,
            source,
        })
    }
}

/// The `resource` attribute: six BARs, the ROM and the virtual functions' six, of which a lab has
/// the first (32 MiB, 64-bit prefetchable memory).
fn resource(node: &Node) -> String {
    const SIZE: u64 = 0x200_0000;
    const FLAGS: u64 = 0x14_220c;
    let first = match node.bar() {
        Some(start) => format!("{start:#018x} {:#018x} {FLAGS:#018x}", start + SIZE - 1),
        None => format!("{0:#018x} {0:#018x} {0:#018x}", 0),
    };
    let unused = format!("\n{0:#018x} {0:#018x} {0:#018x}", 0).repeat(12);
    first + &unused
}
