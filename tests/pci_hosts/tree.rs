//! A small builder of sysfs trees: hosts as the kernel would show them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use cxfw::sys::Roots;
use tempfile::TempDir;

/// A host whose PCI functions are directories in a temporary folder.
pub struct Host {
    folder: TempDir,
}

/// A function being described; its directory exists already.
pub struct Place {
    path: PathBuf,
}

impl Host {
    /// A host without any PCI function.
    pub fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("sys/bus/pci/devices")).unwrap();
        Self { folder }
    }

    pub fn roots(&self) -> Roots {
        Roots {
            sysfs: self.folder.path().join("sys"),
            locks: self.folder.path().join("locks"),
        }
    }

    /// A function right below the root of its domain.
    pub fn function(&self, address: &str, vendor: u16, device: u16) -> Place {
        let domain = address.split(':').next().unwrap();
        let parent = self.roots().sysfs.join(format!("devices/pci{domain}:00"));
        self.place(&parent, address, vendor, device)
    }

    /// A function below another one, which is a bridge.
    pub fn below(&self, bridge: &Place, address: &str, vendor: u16, device: u16) -> Place {
        self.place(&bridge.path, address, vendor, device)
    }

    fn place(&self, parent: &Path, address: &str, vendor: u16, device: u16) -> Place {
        let path = parent.join(address);
        fs::create_dir_all(&path).unwrap();
        let entry = self.roots().pci_devices().join(address);
        symlink(&path, entry).unwrap();
        Place { path }
            .attribute("vendor", &format!("{vendor:#06x}"))
            .attribute("device", &format!("{device:#06x}"))
            .attribute("subsystem_vendor", &format!("{vendor:#06x}"))
            .attribute("subsystem_device", "0x0003")
            .attribute("class", "0x020000")
            .attribute("revision", "0x00")
            .attribute("numa_node", "-1")
    }
}

impl Place {
    /// Writes (or overwrites) a text attribute.
    pub fn attribute(self, name: &str, value: &str) -> Self {
        fs::write(self.path.join(name), format!("{value}\n")).unwrap();
        self
    }

    /// Writes a binary file.
    pub fn file(self, name: &str, bytes: &[u8]) -> Self {
        fs::write(self.path.join(name), bytes).unwrap();
        self
    }

    /// Takes an attribute away.
    pub fn without(self, name: &str) -> Self {
        fs::remove_file(self.path.join(name)).unwrap();
        self
    }

    /// Makes an empty directory, as for a network interface.
    pub fn directory(self, name: &str) -> Self {
        fs::create_dir_all(self.path.join(name)).unwrap();
        self
    }

    /// Makes a link to a path that need not exist.
    pub fn link(self, name: &str, target: &str) -> Self {
        symlink(target, self.path.join(name)).unwrap();
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// VPD as a board maker would write it: an identifier, PN, SN, V0, and a right checksum.
pub fn vpd(identifier: &str, part_number: &str, serial: &str) -> Vec<u8> {
    let mut keywords = Vec::new();
    for (name, value) in [("PN", part_number), ("SN", serial), ("V0", "PCIeGen3 x8")] {
        keywords.extend_from_slice(name.as_bytes());
        keywords.push(u8::try_from(value.len()).unwrap());
        keywords.extend_from_slice(value.as_bytes());
    }
    keywords.extend_from_slice(b"RV\x01");
    let mut bytes = vec![0x82];
    bytes.extend(u16::try_from(identifier.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(identifier.as_bytes());
    bytes.push(0x90);
    bytes.extend(u16::try_from(keywords.len() + 1).unwrap().to_le_bytes());
    bytes.extend(keywords);
    let sum = bytes.iter().fold(0u8, |sum, &byte| sum.wrapping_add(byte));
    bytes.push(sum.wrapping_neg());
    bytes.push(0x78);
    bytes
}
