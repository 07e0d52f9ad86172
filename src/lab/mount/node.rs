//! Files and folders of the mounted tree by inode number.
//!
//! Numbers are given out on first sight and never reused, so a program that holds an old one
//! gets "no such file" and not somebody else's file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::pci::Address;

/// What an inode stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A file or folder of the lab's own tree; path relative to its sysfs folder.
    Backed(PathBuf),
    /// The `config` file of a function with a simulated chip; path of its snapshot.
    Config(Address, PathBuf),
    /// A folder of the procfs part.
    Folder(Vec<(String, u64)>),
    /// A text of the procfs part.
    Text(Vec<u8>),
}

/// Inode of the root, fixed by FUSE.
pub const ROOT: u64 = 1;

/// All inodes known so far.
#[derive(Debug)]
pub struct Nodes {
    by_number: HashMap<u64, Node>,
    by_path: HashMap<PathBuf, u64>,
    next: u64,
}

impl Nodes {
    /// The root alone.
    pub fn new() -> Self {
        let root = PathBuf::new();
        Self {
            by_number: HashMap::from([(ROOT, Node::Backed(root.clone()))]),
            by_path: HashMap::from([(root, ROOT)]),
            next: ROOT + 1,
        }
    }

    /// What `number` is, if it was ever given out.
    pub fn get(&self, number: u64) -> Option<&Node> {
        self.by_number.get(&number)
    }

    /// The inode of a path of the lab's tree; `make` says what it is when it is new.
    pub fn of_path(&mut self, path: &Path, make: impl FnOnce() -> Node) -> u64 {
        if let Some(&number) = self.by_path.get(path) {
            return number;
        }
        let number = self.add(make());
        self.by_path.insert(path.to_owned(), number);
        number
    }

    /// A new inode.
    pub fn add(&mut self, node: Node) -> u64 {
        let number = self.next;
        self.next += 1;
        self.by_number.insert(number, node);
        number
    }
}
