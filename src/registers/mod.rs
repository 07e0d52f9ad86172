//! Layouts of access registers, one file a register, and nothing else.
//!
//! A register image is big-endian dwords; strings lie in natural byte order. Source of each
//! layout: device-access section 4, named in the register's file.

mod layout;

pub mod mcam;
pub mod mcc;
pub mod mcda;
pub mod mcqi;
pub mod mcqs;
pub mod mfai;
pub mod mfba;
pub mod mfbe;
pub mod mfmc;
pub mod mfpa;
pub mod mfrl;
pub mod mfsv;
pub mod mgir;
pub mod mirc;
pub mod mlock;
pub mod mnvda;
pub mod mpir;
pub mod mqis;
pub mod msgi;
pub mod mvts;

pub use layout::Octets;
pub use mcam::Mcam;
pub use mcc::Mcc;
pub use mcda::Mcda;
pub use mcqi::Mcqi;
pub use mcqs::Mcqs;
pub use mfai::Mfai;
pub use mfba::Mfba;
pub use mfbe::Mfbe;
pub use mfmc::Mfmc;
pub use mfpa::Mfpa;
pub use mfrl::Mfrl;
pub use mfsv::Mfsv;
pub use mgir::Mgir;
pub use mirc::Mirc;
pub use mlock::Mlock;
pub use mnvda::Mnvda;
pub use mpir::Mpir;
pub use mqis::Mqis;
pub use msgi::Msgi;
pub use mvts::Mvts;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Debug;

    /// Whatever a register can hold comes back from its own encoding; a shorter image is refused
    /// by name.
    fn round_trips<R: Register + PartialEq + Debug>(image: &[u8]) {
        if let Ok(value) = R::decode(image) {
            let encoded = value.encode();
            assert_eq!(R::decode(&encoded).unwrap(), value);
            assert_eq!(R::decode(&encoded).unwrap().encode(), encoded);
        }
        let short = &image[..R::SIZE - 1];
        let error = R::decode(short).unwrap_err().to_string();
        assert!(error.starts_with(R::NAME), "{error}");
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding(image in proptest::collection::vec(any::<u8>(), 0x180..0x400)) {
            round_trips::<Mcam>(&image);
            round_trips::<Mcc>(&image);
            round_trips::<Mcda>(&image);
            round_trips::<Mcqi>(&image);
            round_trips::<Mcqs>(&image);
            round_trips::<Mfai>(&image);
            round_trips::<Mfba>(&image);
            round_trips::<Mfbe>(&image);
            round_trips::<Mfmc>(&image);
            round_trips::<Mfpa>(&image);
            round_trips::<Mfrl>(&image);
            round_trips::<Mfsv>(&image);
            round_trips::<Mgir>(&image);
            round_trips::<Mirc>(&image);
            round_trips::<Mlock>(&image);
            round_trips::<Mnvda>(&image);
            round_trips::<Mpir>(&image);
            round_trips::<Mqis>(&image);
            round_trips::<Msgi>(&image);
            round_trips::<Mvts>(&image);
        }

        #[test]
        fn data_of_any_length_survives(
            data in proptest::collection::vec(any::<u8>(), 0..=256),
            offset: u32,
            handle in 0..1u32 << 24,
        ) {
            let mcda = Mcda { update_handle: handle, offset, data: data.clone() };
            prop_assert_eq!(Mcda::decode(&mcda.encode()).unwrap(), mcda);
            let mfba = Mfba { address: offset, data: data.clone(), ..Mfba::default() };
            prop_assert_eq!(Mfba::decode(&mfba.encode()).unwrap(), mfba);
            let mnvda = Mnvda { tlv_type: offset, data, ..Mnvda::default() };
            prop_assert_eq!(Mnvda::decode(&mnvda.encode()).unwrap(), mnvda);
        }
    }

    /// (id, name, size) as the register manual lists them.
    fn entry<R: Register>() -> (u16, &'static str, usize) {
        (R::ID, R::NAME, R::SIZE)
    }

    #[test]
    fn no_id_belongs_to_two_registers_and_all_sizes_are_whole_dwords() {
        let all = [
            entry::<Mcam>(),
            entry::<Mcc>(),
            entry::<Mcda>(),
            entry::<Mcqi>(),
            entry::<Mcqs>(),
            entry::<Mfai>(),
            entry::<Mfba>(),
            entry::<Mfbe>(),
            entry::<Mfmc>(),
            entry::<Mfpa>(),
            entry::<Mfrl>(),
            entry::<Mfsv>(),
            entry::<Mgir>(),
            entry::<Mirc>(),
            entry::<Mlock>(),
            entry::<Mnvda>(),
            entry::<Mpir>(),
            entry::<Mqis>(),
            entry::<Msgi>(),
            entry::<Mvts>(),
        ];
        let ids: std::collections::HashSet<u16> = all.iter().map(|&(id, ..)| id).collect();
        assert_eq!(ids.len(), all.len());
        assert!(all.iter().all(|&(_, _, size)| size % 4 == 0));
    }
}
