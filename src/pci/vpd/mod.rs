//! Vital Product Data: what the board maker wrote about the board (device-access 5).
//!
//! The kernel's `vpd` file is the way to it; where it is absent, the VPD capability is
//! ([`through_capability`]). Both are read resource by resource up to the end tag, so that
//! neither waits for the rest of 32 KiB.

mod capability;
mod parse;
#[cfg(test)]
mod tests;

pub use capability::through_capability;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::{ConfigError, Function};
use crate::bytes;

/// Most bytes of VPD there can be: the address of the capability has 15 bits.
pub const SIZE_LIMIT: usize = 0x8000;

/// Vital Product Data of one board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vpd {
    /// The identifier string: a description of the product.
    pub identifier: String,
    /// Keywords of the read-only area, then of the read-write area, as they come.
    pub keywords: Vec<Keyword>,
    /// What the checksum in `RV` says.
    pub checksum: Checksum,
}

/// One keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyword {
    /// Two characters: `PN`, `SN`, `V0`.
    pub name: String,
    /// The bytes as they are, padding included.
    pub value: Vec<u8>,
    /// Where it stands.
    pub area: Area,
}

/// The two areas of keywords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Area {
    /// Written at the factory.
    ReadOnly,
    /// Free for the owner.
    ReadWrite,
}

/// Result of the checksum over everything up to the first byte of `RV`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// The bytes add up to zero.
    Valid,
    /// They do not.
    Wrong {
        /// What they add up to.
        sum: u8,
    },
    /// There is no `RV` keyword.
    Absent,
}

/// Why there is no VPD to be had.
#[derive(Debug, thiserror::Error)]
pub enum VpdError {
    /// The `vpd` file cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The `vpd` file cannot be read to its end tag.
    #[error("cannot read {} at {offset:#x}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// First byte wanted.
        offset: usize,
        /// What the system said.
        source: io::Error,
    },
    /// The function has no VPD capability.
    #[error("{device} has no VPD capability")]
    NoCapability {
        /// The function.
        device: String,
    },
    /// The capability does not answer.
    #[error("{device}: no VPD data at {offset:#x} within {waited_ms} ms")]
    TimedOut {
        /// The function.
        device: String,
        /// Byte address in the VPD.
        offset: usize,
        /// How long it was waited for.
        waited_ms: u128,
    },
    /// Configuration space cannot be accessed.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The bytes are not VPD.
    #[error("VPD at {offset:#x}: {expected} expected, {found} found")]
    Format {
        /// Where in the VPD.
        offset: usize,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
}

impl Vpd {
    /// The VPD of a function, from its sysfs `vpd` file.
    ///
    /// # Errors
    /// [`VpdError::Open`] when the file is absent (then [`through_capability`] may help) or the
    /// caller is not root, [`VpdError::Read`] or [`VpdError::Format`] when it holds no VPD.
    pub fn read(function: &Function) -> Result<Self, VpdError> {
        let path = function.path.join("vpd");
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(source) => return Err(VpdError::Open { path, source }),
        };
        let bytes = parse::collect(|offset, buffer| {
            read_some(&file, buffer, offset).map_err(|source| VpdError::Read {
                path: path.clone(),
                offset,
                source,
            })
        })?;
        Self::parse(&bytes)
    }

    /// First value of a keyword, without padding; `None` when absent or blank. Unprintable bytes
    /// are replaced by `?`.
    #[must_use]
    pub fn keyword(&self, name: &str) -> Option<String> {
        let keyword = self.keywords.iter().find(|k| k.name == name)?;
        let text = bytes::text(&keyword.value);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Part number (`PN`).
    #[must_use]
    pub fn part_number(&self) -> Option<String> {
        self.keyword("PN")
    }

    /// Serial number (`SN`).
    #[must_use]
    pub fn serial(&self) -> Option<String> {
        self.keyword("SN")
    }

    /// Engineering change, the revision of the board (`EC`).
    #[must_use]
    pub fn engineering_change(&self) -> Option<String> {
        self.keyword("EC")
    }
}

/// Fills as much of `buffer` as the file has.
fn read_some(file: &File, buffer: &mut [u8], offset: usize) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let count = file.read_at(rest, (offset + done) as u64)?;
        if count == 0 {
            break;
        }
        done += count;
    }
    Ok(done)
}
