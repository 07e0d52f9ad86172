//! Config files that programs have open, each with its chip: what a path stands for is found out
//! when it is opened, and not again at every config cycle.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::pci::ConfigSpace;

/// Handle of a file that is looked up by its path each time.
pub const BY_PATH: u64 = 0;

/// An open `config` file.
pub struct ConfigFile {
    /// The function behind it.
    pub space: Arc<dyn ConfigSpace>,
    /// Bytes that it shows.
    pub end: u64,
}

/// All open `config` files by their handles, which are never reused.
#[derive(Default)]
pub struct OpenFiles(RwLock<Open>);

#[derive(Default)]
struct Open {
    files: HashMap<u64, Arc<ConfigFile>>,
    last: u64,
}

impl OpenFiles {
    /// Keeps `file` and gives it a handle, which is not [`BY_PATH`].
    pub fn add(&self, file: ConfigFile) -> u64 {
        let mut open = self.0.write().unwrap_or_else(PoisonError::into_inner);
        open.last += 1;
        let handle = open.last;
        open.files.insert(handle, Arc::new(file));
        handle
    }

    /// The file of a handle, while it is open.
    pub fn get(&self, handle: u64) -> Option<Arc<ConfigFile>> {
        let open = self.0.read().unwrap_or_else(PoisonError::into_inner);
        open.files.get(&handle).cloned()
    }

    /// Forgets a file that was closed.
    pub fn close(&self, handle: u64) {
        let mut open = self.0.write().unwrap_or_else(PoisonError::into_inner);
        open.files.remove(&handle);
    }
}
