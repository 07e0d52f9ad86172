//! `/proc/bus/pci` of the lab: the `devices` table and a config file for each function
//! (device-access 1.1).

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::pci::Address;

use super::node::Node;

/// Folder of the mounted tree that stands for `/proc`.
pub const ROOT: &str = "proc";

/// One function as the procfs part shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Function {
    /// Where it is.
    address: Address,
    /// Snapshot of its configuration space in the lab's tree, relative to the sysfs folder.
    config: PathBuf,
}

impl Function {
    /// Folder below `/proc/bus/pci`: the bus, with the domain before it unless that is 0.
    fn folder(&self) -> String {
        if self.address.domain == 0 {
            format!("{:02x}", self.address.bus)
        } else {
            format!("{:04x}:{:02x}", self.address.domain, self.address.bus)
        }
    }

    /// File name in that folder.
    fn file(&self) -> String {
        format!("{:02x}.{:x}", self.address.device, self.address.function)
    }
}

/// What `path` below `/proc` is, for the functions in the folder `sysfs`.
pub fn node(sysfs: &Path, path: &Path) -> io::Result<Node> {
    let names: Vec<&str> = path.iter().filter_map(|name| name.to_str()).collect();
    let folder = |names: &[&str]| Node::Folder(names.iter().map(|&name| name.to_owned()).collect());
    let rest = match names.as_slice() {
        [] => return Ok(folder(&["bus"])),
        ["bus"] => return Ok(folder(&["pci"])),
        ["bus", "pci", rest @ ..] => rest,
        _ => return Err(io::ErrorKind::NotFound.into()),
    };
    let functions = functions(sysfs)?;
    match rest {
        [] => {
            let mut entries: Vec<String> = functions.iter().map(Function::folder).collect();
            entries.dedup();
            entries.push("devices".to_owned());
            Some(Node::Folder(entries))
        }
        ["devices"] => Some(Node::Text(devices_table(sysfs, &functions))),
        [bus] => {
            let on_bus = functions.iter().filter(|one| one.folder() == *bus);
            let files: Vec<String> = on_bus.map(Function::file).collect();
            (!files.is_empty()).then_some(Node::Folder(files))
        }
        [bus, file] => functions
            .into_iter()
            .find(|one| one.folder() == *bus && one.file() == *file)
            .map(|one| Node::Config(one.address, one.config)),
        _ => None,
    }
    .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// All functions of the tree in address order.
fn functions(sysfs: &Path) -> io::Result<Vec<Function>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(sysfs.join("bus/pci/devices"))? {
        let name = entry?.file_name();
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
fn devices_table(sysfs: &Path, functions: &[Function]) -> String {
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
        let at = |path: &str| node(host.path(), Path::new(path)).unwrap();
        let folder = |names: &[&str]| Node::Folder(names.iter().map(|&n| n.to_owned()).collect());
        assert_eq!(at("bus/pci"), folder(&["03", "10002:01", "devices"]));
        assert_eq!(at("bus/pci/10002:01"), folder(&["00.0"]));
        let config = PathBuf::from("bus/pci/devices/0000:03:00.1/config");
        let address = "0000:03:00.1".parse().unwrap();
        assert_eq!(at("bus/pci/03/00.1"), Node::Config(address, config));
        for absent in ["self", "bus/usb", "bus/pci/04", "bus/pci/03/00.0"] {
            assert!(node(host.path(), Path::new(absent)).is_err(), "{absent}");
        }
    }

    #[test]
    fn the_table_names_bus_devfn_and_ids() {
        let host = host();
        let Node::Text(table) = node(host.path(), Path::new("bus/pci/devices")).unwrap() else {
            panic!("no text");
        };
        assert!(table.starts_with("0301\t15b31015\t0\t"), "{table}");
        assert_eq!(table.lines().count(), 2);
    }
}
