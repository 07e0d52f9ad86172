//! Layouts of access registers, one file a register, and nothing else.
//!
//! A register image is big-endian dwords; strings lie in natural byte order. Source of each
//! layout: device-access section 4, named in the register's file.

/// One access register: id, size, encoding.
///
/// `encode` and `decode` are inverse to each other for every value a register can hold.
pub trait Register: Sized {
    /// Register id.
    const ID: u16;
    /// Name in the register manual.
    const NAME: &'static str;
    /// Size of the register image in bytes, without variable data.
    const SIZE: usize;

    /// The register image, [`Register::SIZE`] bytes (plus data for registers that carry some).
    fn encode(&self) -> Vec<u8>;

    /// Reads a register image.
    ///
    /// # Errors
    /// [`DecodeError`] when the image is too short or a length field does not fit it.
    fn decode(image: &[u8]) -> Result<Self, DecodeError>;
}

/// A register image that does not have the register's form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Shorter than the register.
    #[error("{register} needs {expected} bytes, {found} found")]
    Short {
        /// Register name.
        register: &'static str,
        /// Bytes needed.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// A length inside the register points outside it.
    #[error("{register} at {offset:#x}: length {found} exceeds {limit}")]
    Length {
        /// Register name.
        register: &'static str,
        /// Byte offset of the length field.
        offset: usize,
        /// The length found.
        found: usize,
        /// The most that fits.
        limit: usize,
    },
}
