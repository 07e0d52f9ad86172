//! What a path of the mounted tree is, found out anew every time: a reset of the lab changes it.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::pci::Address;

use super::procfs;

/// What a path stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A file or folder of the lab's own tree; path relative to its sysfs folder.
    Backed(PathBuf),
    /// The `config` file of a function; path of its snapshot in the lab's tree.
    Config(Address, PathBuf),
    /// A folder of the procfs part, with its entries.
    Folder(Vec<String>),
    /// A text of the procfs part.
    Text(String),
}

impl Node {
    /// What `path` is in a tree over the folder `sysfs`. Whether a file of the lab's own tree is
    /// there is not looked at.
    pub fn at(sysfs: &Path, path: &Path) -> io::Result<Self> {
        if let Ok(rest) = path.strip_prefix(procfs::ROOT) {
            return procfs::node(sysfs, rest);
        }
        // A file called `config` in a folder named by a PCI address is that function's.
        let address = path
            .parent()
            .and_then(Path::file_name)
            .and_then(OsStr::to_str)
            .and_then(|name| name.parse().ok());
        Ok(match (path.file_name().and_then(OsStr::to_str), address) {
            (Some("config"), Some(address)) => Self::Config(address, path.to_owned()),
            _ => Self::Backed(path.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_config_file_in_a_folder_named_by_an_address_is_live() {
        let at = |path: &str| Node::at(Path::new("/nowhere"), Path::new(path)).unwrap();
        assert!(matches!(
            at("devices/pci0000:00/0000:03:00.0/config"),
            Node::Config(address, _) if address.to_string() == "0000:03:00.0"
        ));
        assert!(matches!(at("kernel/config"), Node::Backed(_)));
    }
}
