//! Bytes written by offset: what a layout table describes, in the order of the table.

use super::BuildError;

/// A growing run of bytes; what nobody wrote holds the fill byte.
///
/// Offsets are the builder's own, never taken from outside.
#[derive(Debug, Clone)]
pub(super) struct Canvas {
    bytes: Vec<u8>,
    fill: u8,
}

impl Canvas {
    /// `size` bytes of `fill`; grows when something is written behind.
    pub(super) fn new(size: usize, fill: u8) -> Self {
        Self {
            bytes: vec![fill; size],
            fill,
        }
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes `data` at `offset`.
    pub(super) fn put(&mut self, offset: usize, data: &[u8]) {
        let end = offset + data.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, self.fill);
        }
        self.bytes[offset..end].copy_from_slice(data);
    }

    /// Writes a big-endian dword at `offset`.
    pub(super) fn word(&mut self, offset: usize, value: u32) {
        self.put(offset, &value.to_be_bytes());
    }

    /// Writes `text` at `offset`, NUL padded to `size` bytes.
    pub(super) fn text(
        &mut self,
        offset: usize,
        size: usize,
        field: &'static str,
        text: &str,
    ) -> Result<(), BuildError> {
        let padded = padded_text(size, field, text)?;
        self.put(offset, &padded);
        Ok(())
    }

    /// Fills up to a multiple of `unit` bytes.
    pub(super) fn align(&mut self, unit: usize) {
        let len = self.bytes.len().next_multiple_of(unit);
        self.bytes.resize(len, self.fill);
    }

    /// The bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// `text` NUL padded to a field of `size` bytes, which it may fill wholly (images 0).
pub(super) fn padded_text(
    size: usize,
    field: &'static str,
    text: &str,
) -> Result<Vec<u8>, BuildError> {
    if text.len() > size {
        return Err(BuildError::TooLong {
            field,
            text: text.to_owned(),
            limit: size,
        });
    }
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(size, 0);
    Ok(bytes)
}

/// A length or address as the dword that layouts store.
pub(super) fn word_of(value: usize, what: &'static str) -> Result<u32, BuildError> {
    u32::try_from(value).map_err(|_| BuildError::DoesNotFit {
        what,
        end: value as u64,
        limit: u64::from(u32::MAX),
    })
}
