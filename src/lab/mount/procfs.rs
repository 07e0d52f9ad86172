//! `/proc/bus/pci` of the lab: the `devices` table and a config file for each function
//! (device-access 1.1).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::pci::Address;

use super::MountError;

/// One function as the procfs part shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Where it is.
    pub address: Address,
    /// Snapshot of its configuration space in the lab's tree, relative to the sysfs folder.
    pub config: PathBuf,
}

impl Function {
    /// Folder below `/proc/bus/pci`: the bus, with the domain before it unless that is 0.
    pub fn folder(&self) -> String {
        if self.address.domain == 0 {
            format!("{:02x}", self.address.bus)
        } else {
            format!("{:04x}:{:02x}", self.address.domain, self.address.bus)
        }
    }

    /// File name in that folder.
    pub fn file(&self) -> String {
        format!("{:02x}.{:x}", self.address.device, self.address.function)
    }
}

/// All functions of the tree in address order.
pub fn functions(sysfs: &Path) -> Result<Vec<Function>, MountError> {
    let folder = sysfs.join("bus/pci/devices");
    let fail = |source| MountError::Tree {
        path: folder.clone(),
        source,
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        if let Some(address) = name.to_str().and_then(|text| text.parse().ok()) {
            let config = Path::new("bus/pci/devices").join(&name).join("config");
            found.push(Function { address, config });
        }
    }
    found.sort_by_key(|function| function.address);
    Ok(found)
}

/// The text of `/proc/bus/pci/devices`: a line a function with bus/devfn, ids, interrupt, seven
/// resource starts and seven sizes, driver; tabs between. The lab's chips map no memory.
pub fn devices_table(sysfs: &Path, functions: &[Function]) -> String {
    let mut table = String::new();
    for function in functions {
        let id = |file: &str| {
            let path = sysfs
                .join("bus/pci/devices")
                .join(function.address.to_string())
                .join(file);
            fs::read_to_string(path)
                .ok()
                .and_then(|text| u16::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok())
                .unwrap_or(0)
        };
        let Address {
            bus,
            device,
            function: number,
            ..
        } = function.address;
        let _ = write!(
            table,
            "{bus:02x}{:02x}\t{:04x}{:04x}\t0",
            (device << 3) | number,
            id("vendor"),
            id("device")
        );
        for _ in 0..14 {
            table.push_str("\t               0");
        }
        table.push_str("\t\n");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (address, device) in [("0000:03:00.1", "0x1015"), ("10002:01:00.0", "0x1017")] {
            let folder = dir.path().join("bus/pci/devices").join(address);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("vendor"), "0x15b3\n").unwrap();
            fs::write(folder.join("device"), format!("{device}\n")).unwrap();
        }
        dir
    }

    #[test]
    fn a_function_has_its_folder_by_bus_and_by_domain_where_that_is_not_zero() {
        let host = host();
        let functions = functions(host.path()).unwrap();
        let names: Vec<_> = functions
            .iter()
            .map(|function| format!("{}/{}", function.folder(), function.file()))
            .collect();
        assert_eq!(names, ["03/00.1", "10002:01/00.0"]);
    }

    #[test]
    fn the_table_names_bus_devfn_and_ids() {
        let host = host();
        let table = devices_table(host.path(), &functions(host.path()).unwrap());
        assert!(table.starts_with("0301\t15b31015\t0\t"), "{table}");
        assert_eq!(table.lines().count(), 2);
    }
}
