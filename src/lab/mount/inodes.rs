//! Inode numbers of the mounted tree's paths.
//!
//! Numbers are given out on first sight and never reused, so a program that holds an old one
//! gets "no such file" and not somebody else's file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Inode of the root, fixed by FUSE.
pub const ROOT: u64 = 1;

/// All inodes known so far; paths are relative to the root.
#[derive(Debug)]
pub struct Inodes(Mutex<Known>);

#[derive(Debug)]
struct Known {
    paths: HashMap<u64, PathBuf>,
    numbers: HashMap<PathBuf, u64>,
    next: u64,
}

impl Inodes {
    /// The root alone.
    pub fn new() -> Self {
        let root = PathBuf::new();
        Self(Mutex::new(Known {
            paths: HashMap::from([(ROOT, root.clone())]),
            numbers: HashMap::from([(root, ROOT)]),
            next: ROOT + 1,
        }))
    }

    /// The path of `number`, if it was ever given out.
    pub fn path(&self, number: u64) -> Option<PathBuf> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.paths.get(&number).cloned()
    }

    /// The inode of `path`.
    pub fn number(&self, path: &Path) -> u64 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = known.numbers.get(path) {
            return number;
        }
        let number = known.next;
        known.next += 1;
        known.paths.insert(number, path.to_owned());
        known.numbers.insert(path.to_owned(), number);
        number
    }
}
