//! Bytes a container is read from: a mapped file, an inflated archive member, or a part of one.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::error::Fault;
use super::map::Map;
use super::meter::Meter;
use crate::bytes::{ByteSource, ReadError};

/// Shared read-only bytes; a clone or a part is another view of the same bytes.
#[derive(Debug, Clone)]
pub struct Content {
    bytes: Bytes,
    range: Range<usize>,
    meter: Meter,
}

#[derive(Debug, Clone)]
enum Bytes {
    Mapped(Arc<Map>),
    Owned(Arc<Vec<u8>>),
}

impl Content {
    /// The file at `path`, mapped.
    ///
    /// # Errors
    /// As [`Map::open`].
    pub fn open(path: &Path) -> Result<Self, Fault> {
        Map::open(path).map(Self::mapped)
    }

    /// A file that is open already.
    ///
    /// # Errors
    /// As [`Map::of_file`].
    pub fn of_file(file: &File) -> Result<Self, Fault> {
        Map::of_file(file).map(Self::mapped)
    }

    fn mapped(map: Map) -> Self {
        Self {
            range: 0..map.as_slice().len(),
            bytes: Bytes::Mapped(Arc::new(map)),
            meter: Meter::default(),
        }
    }

    /// What is inflated of it is counted by `meter`.
    #[must_use]
    pub fn metered(self, meter: &Meter) -> Self {
        Self {
            meter: meter.clone(),
            ..self
        }
    }

    /// Counts what is inflated of it.
    #[must_use]
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        let whole = match &self.bytes {
            Bytes::Mapped(map) => map.as_slice(),
            Bytes::Owned(bytes) => bytes,
        };
        whole.get(self.range.clone()).unwrap_or_default()
    }
}

impl Content {
    /// `size` bytes from `offset`, if they are there: another view, no copy.
    #[must_use]
    pub fn part(&self, offset: u64, size: u64) -> Option<Self> {
        let start = self
            .range
            .start
            .checked_add(usize::try_from(offset).ok()?)?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        (end <= self.range.end).then(|| Self {
            bytes: self.bytes.clone(),
            range: start..end,
            meter: self.meter.clone(),
        })
    }
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            range: 0..bytes.len(),
            bytes: Bytes::Owned(Arc::new(bytes)),
            meter: Meter::default(),
        }
    }
}

impl ByteSource for Content {
    fn size(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        self.as_slice().read(offset, len)
    }
}
