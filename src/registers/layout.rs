//! How a register file is written: a table of fields, as the manual has it.
//!
//! [`layout!`](macro@layout) turns a table `name: type = offset [hi:lo]` into a struct with its encoding
//! and decoding, [`register!`](macro@register) adds the register's id, and [`codes!`](macro@codes) makes the
//! enumerations. The tables are checked while compiling: a field that leaves the register,
//! overlaps another or is wider than its type does not build. Reserved bits are ignored when
//! read and zero when written.

use crate::bytes::{be32, bits, text, with_bits};

/// Where a field lies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// Bits `[hi:lo]` of the big-endian dword at byte `offset`.
    Bits { offset: usize, hi: u32, lo: u32 },
    /// `len` bytes from `offset`, both multiples of 4.
    Bytes { offset: usize, len: usize },
}

impl Place {
    /// Bits of this place in dword `index` of the register.
    const fn mask(self, index: usize) -> u32 {
        match self {
            Self::Bits { offset, hi, lo } if offset / 4 == index => with_bits(0, hi, lo, u32::MAX),
            Self::Bytes { offset, len } if index >= offset / 4 && index < (offset + len) / 4 => {
                u32::MAX
            }
            _ => 0,
        }
    }

    const fn width(self) -> usize {
        match self {
            Self::Bits { hi, lo, .. } => (hi - lo + 1) as usize,
            Self::Bytes { len, .. } => len * 8,
        }
    }

    const fn end(self) -> usize {
        match self {
            Self::Bits { offset, .. } => offset + 4,
            Self::Bytes { offset, len } => offset + len,
        }
    }
}

/// Refuses a table, at compile time, in which two fields share a bit, a field leaves the register
/// or does not fit its type.
pub(crate) const fn check(places: &[(Place, usize)], size: usize) {
    assert!(size.is_multiple_of(4), "a register is whole dwords");
    let mut field = 0;
    while field < places.len() {
        let (place, type_width) = places[field];
        assert!(place.end() <= size, "a field lies outside the register");
        assert!(
            place.width() <= type_width,
            "a field is wider than its type"
        );
        field += 1;
    }
    let mut index = 0;
    while index < size / 4 {
        let mut taken = 0;
        let mut field = 0;
        while field < places.len() {
            let mask = places[field].0.mask(index);
            assert!(taken & mask == 0, "two fields overlap");
            taken |= mask;
            field += 1;
        }
        index += 1;
    }
}

/// A value that can stand in a register.
pub(crate) trait Field: Sized {
    /// Most bits it can hold.
    const WIDTH: usize;
    /// Reads it; zero when the image is too short, which `decode` has excluded.
    fn get(image: &[u8], place: Place) -> Self;
    /// Writes it.
    fn put(&self, image: &mut [u8], place: Place);
}

/// A value of at most 32 bits.
pub(crate) trait Small: Sized {
    const WIDTH: usize;
    fn from_bits(value: u32) -> Self;
    fn to_bits(&self) -> u32;
}

impl<T: Small> Field for T {
    const WIDTH: usize = T::WIDTH;

    fn get(image: &[u8], place: Place) -> Self {
        let value = match place {
            Place::Bits { offset, hi, lo } => bits(be32(image, offset).unwrap_or(0), hi, lo),
            Place::Bytes { offset, .. } => be32(image, offset).unwrap_or(0),
        };
        T::from_bits(value)
    }

    fn put(&self, image: &mut [u8], place: Place) {
        let (offset, hi, lo) = match place {
            Place::Bits { offset, hi, lo } => (offset, hi, lo),
            Place::Bytes { offset, .. } => (offset, 31, 0),
        };
        let old = be32(image, offset).unwrap_or(0);
        put32(image, offset, with_bits(old, hi, lo, self.to_bits()));
    }
}

/// Stores a big-endian dword; nothing happens outside the image.
pub(crate) fn put32(image: &mut [u8], offset: usize, value: u32) {
    if let Some(four) = image.get_mut(offset..offset.saturating_add(4)) {
        four.copy_from_slice(&value.to_be_bytes());
    }
}

impl Small for bool {
    const WIDTH: usize = 1;
    fn from_bits(value: u32) -> Self {
        value != 0
    }
    fn to_bits(&self) -> u32 {
        u32::from(*self)
    }
}

impl Small for u8 {
    const WIDTH: usize = 8;
    fn from_bits(value: u32) -> Self {
        value.to_le_bytes()[0]
    }
    fn to_bits(&self) -> u32 {
        u32::from(*self)
    }
}

impl Small for u16 {
    const WIDTH: usize = 16;
    fn from_bits(value: u32) -> Self {
        let [low, high, ..] = value.to_le_bytes();
        Self::from_le_bytes([low, high])
    }
    fn to_bits(&self) -> u32 {
        u32::from(*self)
    }
}

impl Small for u32 {
    const WIDTH: usize = 32;
    fn from_bits(value: u32) -> Self {
        value
    }
    fn to_bits(&self) -> u32 {
        *self
    }
}

/// Two dwords, the high one first.
impl Field for u64 {
    const WIDTH: usize = 64;

    fn get(image: &[u8], place: Place) -> Self {
        let (Place::Bits { offset, .. } | Place::Bytes { offset, .. }) = place;
        crate::bytes::be64(image, offset).unwrap_or(0)
    }

    fn put(&self, image: &mut [u8], place: Place) {
        let (Place::Bits { offset, .. } | Place::Bytes { offset, .. }) = place;
        if let Some(eight) = image.get_mut(offset..offset.saturating_add(8)) {
            eight.copy_from_slice(&self.to_be_bytes());
        }
    }
}

/// A run of `N` bytes in a register: text in natural order, or data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Octets<const N: usize>(pub [u8; N]);

impl<const N: usize> Octets<N> {
    /// The first `N` bytes of `bytes`, the rest zero.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let mut octets = [0; N];
        for (octet, &byte) in octets.iter_mut().zip(bytes) {
            *octet = byte;
        }
        Self(octets)
    }

    /// As text: up to the first NUL, unprintable bytes replaced by `?`.
    #[must_use]
    pub fn text(&self) -> String {
        text(&self.0)
    }
}

impl<const N: usize> Default for Octets<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> std::fmt::Debug for Octets<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl<const N: usize> Field for Octets<N> {
    const WIDTH: usize = N * 8;

    fn get(image: &[u8], place: Place) -> Self {
        let (Place::Bits { offset, .. } | Place::Bytes { offset, .. }) = place;
        Self::new(image.get(offset..).unwrap_or_default())
    }

    fn put(&self, image: &mut [u8], place: Place) {
        let (Place::Bits { offset, .. } | Place::Bytes { offset, .. }) = place;
        if let Some(field) = image.get_mut(offset..offset.saturating_add(N)) {
            field.copy_from_slice(&self.0);
        }
    }
}

/// The place a table entry names: `0x10 [15:0]`, `0x10 [31]` or `0x30 [16 bytes]`.
macro_rules! place {
    ($offset:literal, [$hi:literal : $lo:literal]) => {
        $crate::registers::layout::Place::Bits {
            offset: $offset,
            hi: $hi,
            lo: $lo,
        }
    };
    ($offset:literal, [$bit:literal]) => {
        $crate::registers::layout::Place::Bits {
            offset: $offset,
            hi: $bit,
            lo: $bit,
        }
    };
    ($offset:literal, [$len:literal bytes]) => {
        $crate::registers::layout::Place::Bytes {
            offset: $offset,
            len: $len,
        }
    };
}

/// A struct from a table of fields, with `SIZE`, `put` into an image and `get` out of one.
macro_rules! layout {
    (
        $(#[$doc:meta])*
        $vis:vis $name:ident: $size:literal bytes {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $offset:literal $place:tt,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        const _: () = $crate::registers::layout::check(
            &[$((
                $crate::registers::layout::place!($offset, $place),
                <$type as $crate::registers::layout::Field>::WIDTH,
            ),)*],
            $size,
        );

        impl $name {
            /// Bytes of the table.
            pub(crate) const BYTES: usize = $size;

            /// Writes the fields into `image`.
            pub(crate) fn put(&self, image: &mut [u8]) {
                $($crate::registers::layout::Field::put(
                    &self.$field,
                    image,
                    $crate::registers::layout::place!($offset, $place),
                );)*
            }

            /// Reads the fields of `image`, at least `BYTES` long.
            pub(crate) fn get(image: &[u8]) -> Self {
                Self {
                    $($field: $crate::registers::layout::Field::get(
                        image,
                        $crate::registers::layout::place!($offset, $place),
                    ),)*
                }
            }
        }
    };
}

/// A register of fixed size from a table of fields.
macro_rules! register {
    (
        $(#[$doc:meta])*
        $name:ident = $id:literal, $mnemonic:literal, $size:literal bytes { $($table:tt)* }
    ) => {
        $crate::registers::layout::layout! {
            $(#[$doc])*
            pub $name: $size bytes { $($table)* }
        }

        impl $crate::registers::Register for $name {
            const ID: u16 = $id;
            const NAME: &'static str = $mnemonic;
            const SIZE: usize = $size;

            fn encode(&self) -> Vec<u8> {
                let mut image = vec![0; Self::BYTES];
                self.put(&mut image);
                image
            }

            fn decode(image: &[u8]) -> Result<Self, $crate::registers::DecodeError> {
                $crate::registers::layout::head($mnemonic, image, Self::BYTES)?;
                Ok(Self::get(image))
            }
        }
    };
}

/// The first `size` bytes of a register image.
pub(crate) fn head<'a>(
    register: &'static str,
    image: &'a [u8],
    size: usize,
) -> Result<&'a [u8], super::DecodeError> {
    image.get(..size).ok_or(super::DecodeError::Short {
        register,
        expected: size,
        found: image.len(),
    })
}

/// The data of a register with a variable part: `len` bytes from `header`, whose number is
/// stored at `length_offset`.
pub(crate) fn data<'a>(
    register: &'static str,
    image: &'a [u8],
    header: usize,
    length_offset: usize,
    len: usize,
) -> Result<&'a [u8], super::DecodeError> {
    let variable = image.get(header..).unwrap_or_default();
    variable.get(..len).ok_or(super::DecodeError::Length {
        register,
        offset: length_offset,
        found: len,
        limit: variable.len(),
    })
}

/// `bytes` padded with zeros to whole dwords.
pub(crate) fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    padded
}

/// `bytes`, padded to whole dwords, with the four bytes of each dword in reverse order.
pub(crate) fn reversed(bytes: &[u8]) -> Vec<u8> {
    let mut reversed = padded(bytes);
    for dword in reversed.chunks_exact_mut(4) {
        dword.reverse();
    }
    reversed
}

/// An enumeration whose codes travel in a register, with a word for each. Codes without a name
/// are kept in `Other`.
macro_rules! codes {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $code:literal, $word:literal;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// A code without a name.
            Other(u8),
        }

        impl $name {
            /// The value a code stands for.
            #[must_use]
            pub const fn from_code(code: u8) -> Self {
                match code {
                    $($code => Self::$variant,)*
                    other => Self::Other(other),
                }
            }

            /// The code as it travels.
            #[must_use]
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$variant => $code,)*
                    Self::Other(code) => code,
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::from_code(0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant => f.pad($word),)*
                    Self::Other(code) => write!(f, "code {code:#x}"),
                }
            }
        }

        impl $crate::registers::layout::Small for $name {
            const WIDTH: usize = 8;
            fn from_bits(value: u32) -> Self {
                Self::from_code(value.to_le_bytes()[0])
            }
            fn to_bits(&self) -> u32 {
                u32::from(self.code())
            }
        }
    };
}

pub(crate) use {codes, layout, place, register};
