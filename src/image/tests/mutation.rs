//! Whatever is done to an image, reading it ends in an answer: no panic, no endless loop, no more
//! read than a few times the image.

use std::borrow::Cow;
use std::cell::Cell;

use proptest::prelude::*;

use super::*;
use crate::bytes::ReadError;

/// One change of an image.
#[derive(Debug, Clone)]
enum Change {
    /// A bit flips, anywhere.
    Flip(prop::sample::Index, u8),
    /// A dword of the head gets a value of its own, most of all lengths and addresses.
    Head(u16, u32),
    /// A dword of a table entry changes and the entry's CRC is right again.
    Entry(u8, u8, u32),
    /// A dword of a section changes and its CRCs are right again.
    Section(u8, prop::sample::Index, u32),
    /// The end is missing.
    Cut(prop::sample::Index),
    /// Bytes are copied from one place to another.
    Splice(prop::sample::Index, prop::sample::Index, u16),
}

fn dword() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        Just(0),
        Just(u32::MAX),
        Just(0x7fff_fffc),
        0u32..0x2_0000,
        (0u32..32).prop_map(|bit| 1 << bit),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<prop::sample::Index>(), 0u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        (0u16..0x200, dword()).prop_map(|(at, value)| Change::Head(at, value)),
        (0u8..20, 0u8..7, dword()).prop_map(|(entry, at, value)| Change::Entry(entry, at, value)),
        (0u8..20, any::<prop::sample::Index>(), dword())
            .prop_map(|(section, at, value)| Change::Section(section, at, value)),
        any::<prop::sample::Index>().prop_map(Change::Cut),
        (
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            1u16..0x1000
        )
            .prop_map(|(from, to, len)| Change::Splice(from, to, len)),
    ]
}

fn apply(bytes: &mut Vec<u8>, sections: &[Section], change: &Change) {
    if bytes.len() < 0x400 {
        return;
    }
    let inside = |bytes: &[u8], section: &Section| {
        section.physical_extent().end() <= bytes.size() && section.entry + 0x20 <= bytes.size()
    };
    match change {
        Change::Flip(at, bit) => {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        Change::Head(at, value) => put(bytes, u64::from(*at) * 4 % 0x3fc, *value),
        Change::Entry(entry, at, value) => {
            if let Some(section) = sections.get(usize::from(*entry))
                && inside(bytes, section)
            {
                edit_entry(bytes, section.entry, u64::from(*at) * 4, *value);
            }
        }
        Change::Section(index, at, value) => {
            if let Some(section) = sections.get(usize::from(*index))
                && section.size >= 8
                && inside(bytes, section)
            {
                let dwords = usize::try_from(section.size / 4 - 1).unwrap();
                edit_section(bytes, section, at.index(dwords) as u64 * 4, *value);
            }
        }
        Change::Cut(at) => bytes.truncate(at.index(bytes.len()) & !3),
        Change::Splice(from, to, len) => {
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            let len = usize::from(*len).min(bytes.len() - from.max(to));
            bytes.copy_within(from..from + len, to);
        }
    }
}

/// Counts what is read, so that a test can say it was not too much.
struct Counting<'a> {
    bytes: &'a [u8],
    reads: Cell<u64>,
    read: Cell<u64>,
}

impl ByteSource for Counting<'_> {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        let bytes = self.bytes.read(offset, len)?;
        self.reads.set(self.reads.get() + 1);
        self.read.set(self.read.get() + len);
        Ok(bytes)
    }
}

/// Reads the image in every way there is and checks that the answers agree.
fn exercise(bytes: &[u8]) {
    let verification = verify(bytes);
    let queried = query(&bytes);
    if verification.passed() {
        let masked = bytes.starts_with(&[0xff; 16]);
        assert!(masked || queried.is_ok(), "verified, but {queried:?}");
        let format = verification.info.as_ref().map(|info| info.format);
        if format != Some(ImageFormat::Fs2) {
            let sent = component(bytes).unwrap();
            assert!(sent.len() <= bytes.len());
            let _ = verify(&sent);
        }
    }
    for start in starts(&bytes).unwrap_or_default() {
        let _ = layout(&bytes, start.address);
        let counting = Counting {
            bytes,
            reads: Cell::new(0),
            read: Cell::new(0),
        };
        let _ = query_flash(&counting, start.format);
        let _ = verify_flash(&counting, start.address);
        assert!(
            counting.reads.get() < 8192,
            "{} reads",
            counting.reads.get()
        );
        let limit = 160 * bytes.size();
        assert!(
            counting.read.get() <= limit,
            "{:#x} bytes",
            counting.read.get()
        );
    }
    for hint in [
        None,
        Some(ImageFormat::Fs3),
        Some(ImageFormat::Fs4),
        Some(ImageFormat::Fs5),
    ] {
        let mut masked = bytes.to_vec();
        let marker = masked.len().min(16);
        masked[..marker].fill(0xff);
        let _ = query_masked(&masked, hint);
    }
    hand_out(bytes);
}

/// Makes a file of the image as firmware may hand it out: it is an image alone, and made of itself
/// it stays as it is.
fn hand_out(bytes: &[u8]) {
    let _ = is_image_alone(bytes);
    let mut masked = bytes.to_vec();
    let marker = masked.len().min(16);
    masked[..marker].fill(0xff);
    if let Ok(file) = file_of_component(masked) {
        assert!(is_image_alone(&file));
        assert!(file_of_component(file.clone()).is_ok_and(|again| again == file));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_changed_image_gives_an_answer(
        name in prop::sample::select(&ALL),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let mut bytes = fixture(name);
        let start = starts(&bytes).unwrap()[0].address;
        let sections = layout(&bytes, start).unwrap().sections;
        for change in &changes {
            apply(&mut bytes, &sections, change);
        }
        exercise(&bytes);
    }

    #[test]
    fn a_flip_in_what_an_image_says_of_itself_never_goes_unnoticed(
        name in prop::sample::select(&["fs2-cx3", "fs3-cx4lx", "fs4-cx5", "fs4-cx7"]),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let mut bytes = fixture(name);
        let before = query(&bytes).unwrap();
        let at = at.index(bytes.len());
        // Nothing covers the slot size in an FS3 header.
        prop_assume!(name != "fs3-cx4lx" || !(0x24..0x28).contains(&at));
        bytes[at] ^= 1 << bit;
        if let Some(info) = verify(&bytes).info {
            prop_assert_eq!(info, before);
        }
    }

    #[test]
    fn noise_behind_a_marker_gives_an_answer(
        format in prop::sample::select(&[
            ImageFormat::Fs2, ImageFormat::Fs3, ImageFormat::Fs4, ImageFormat::Fs5,
        ]),
        noise in prop::collection::vec(any::<u8>(), 0x40..0x800),
    ) {
        let mut bytes = marker::of(format).to_vec();
        bytes.extend_from_slice(&noise);
        bytes.truncate(bytes.len() & !3);
        match format {
            ImageFormat::Fs2 => bytes[0x24] = 0,
            ImageFormat::Fs3 => bytes[0x24] = 3,
            ImageFormat::Fs4 => bytes[0x10] = 1,
            ImageFormat::Fs5 => bytes[0x10] = 2,
        }
        exercise(&bytes);
    }
}
