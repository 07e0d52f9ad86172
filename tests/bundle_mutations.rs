//! Containers with bytes changed, cut or moved: an error or a valid result, never a panic, and
//! never long. Checksums are set right again after most changes, so that what lies behind them is
//! reached.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its fixtures has to stop"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use cxfw::bundle::archive::Archive;
use cxfw::bundle::signature::Signature;
use cxfw::bundle::single::Single;
use cxfw::bundle::{Content, Fault, extractor};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

/// One change to a file.
#[derive(Debug, Clone)]
enum Change {
    /// A byte becomes another one.
    Set(prop::sample::Index, u8),
    /// A field of four bytes becomes a number that is often special.
    Number(prop::sample::Index, u32),
    /// Everything behind is gone.
    Cut(prop::sample::Index),
    /// A run of bytes is doubled.
    Repeat(prop::sample::Index, prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    let number = prop_oneof![
        Just(0),
        Just(1),
        Just(u32::MAX),
        Just(i32::MAX as u32),
        Just(1 << 24),
        any::<u32>(),
    ];
    prop_oneof![
        6 => (index(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        4 => (index(), number).prop_map(|(at, number)| Change::Number(at, number)),
        1 => index().prop_map(Change::Cut),
        1 => (index(), index()).prop_map(|(from, to)| Change::Repeat(from, to)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    match change {
        Change::Set(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Change::Number(at, number) => {
            let at = at.index(bytes.len());
            for (to, from) in bytes[at..].iter_mut().zip(number.to_be_bytes()) {
                *to = from;
            }
        }
        Change::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Change::Repeat(from, to) => {
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            let run = bytes[from.min(to)..from.max(to)].to_vec();
            bytes.extend(run);
        }
    }
}

/// Sets the checksums of a container right, as far as it is still one.
fn seal(bytes: &mut [u8]) {
    match Signature::of(bytes) {
        Signature::Mfa => {
            if let Some((covered, trailer)) = bytes.split_last_chunk_mut::<4>() {
                *trailer = crc32fast::hash(covered).to_be_bytes();
            }
        }
        Signature::Mfa2 => seal_mfa2(bytes),
        Signature::Pldm(revision) => seal_pldm(bytes, revision),
        _ => {}
    }
}

/// The checksum of the header and, in revision 4, that of the payload.
fn seal_pldm(bytes: &mut [u8], revision: u8) {
    let size = usize::from(u16::from_le_bytes([bytes[17], bytes[18]]));
    let checksums = if revision == 4 { 8 } else { 4 };
    let Some((header, payload)) = bytes.split_at_mut_checked(size) else {
        return;
    };
    let Some((covered, stored)) = header.split_at_mut_checked(size.saturating_sub(checksums))
    else {
        return;
    };
    let computed = [crc32fast::hash(covered), crc32fast::hash(payload)];
    let computed = computed.map(u32::to_le_bytes);
    for (to, from) in stored.iter_mut().zip(computed.as_flattened()) {
        *to = *from;
    }
}

/// Digests at the usual places, over descriptors and file.
fn seal_mfa2(bytes: &mut [u8]) {
    let places = [0x4c..0x6c, 0x70..0x90];
    if bytes.len() < 0x90 {
        return;
    }
    let number = |at: usize| usize::try_from(cxfw::bytes::be32(bytes, at).unwrap()).unwrap();
    let (block, stored) = (number(0x20), number(0x24));
    for place in places.clone() {
        bytes[place].fill(0);
    }
    let digest = |end: Option<usize>| end.and_then(|end| bytes.get(..end)).map(Sha256::digest);
    let digests = [digest(block.checked_add(stored)), digest(Some(block))];
    for (place, digest) in places.into_iter().zip(digests) {
        if let Some(digest) = digest {
            bytes[place].copy_from_slice(&digest);
        }
    }
}

/// Everything that can be done with a container, as far as it goes.
fn use_up(bytes: Vec<u8>) -> Result<(), Fault> {
    let signature = Signature::of(&bytes);
    let content = Content::from(bytes);
    let archive = match signature {
        Signature::Zip => Archive::zip(content)?,
        Signature::Program => extractor::open(content)?,
        signature => return use_single(content, signature),
    };
    for member in archive.members() {
        use_single(archive.read(member)?, member.signature)?;
    }
    Ok(())
}

fn use_single(content: Content, signature: Signature) -> Result<(), Fault> {
    let single = Single::parse(content, signature)?;
    for entry in single.entries() {
        let read = single.read(entry.index);
        if let (Ok(bytes), Some(size)) = (&read, entry.size) {
            assert_eq!(bytes.len() as u64, size, "{entry:?}");
        }
    }
    let mut each = Vec::new();
    if single
        .read_each(|index, bytes| each.push((index, bytes.to_vec())))
        .is_ok()
    {
        assert_eq!(each.len(), single.entries().len());
        for (index, bytes) in each {
            assert!(bytes == single.read(index).unwrap(), "entry {index}");
        }
    }
    let infos = single.image_infos();
    assert!(infos.is_err() || infos.is_ok_and(|infos| infos.len() <= single.entries().len()));
    single.verify()
}

const FIXTURES: &[&str] = &[
    "min_plain.mfa",
    "meta_xz.mfa",
    "groups_tags.mfa",
    "multi_xz_blocks.mfa",
    "min.mfa2",
    "multi.mfa2",
    "rev1.fwpkg",
    "rev4.fwpkg",
    "multi.fwpkg",
    "one.bin.zip",
    "stored.bin.zip",
    "two_bins.zip",
    "sfx_like.run",
];

fn fixture(name: &str) -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bundle");
    std::fs::read(fixtures.join(name)).unwrap()
}

#[test]
fn every_fixture_survives_being_used_and_sealed() {
    for name in FIXTURES {
        let mut bytes = fixture(name);
        let before = bytes.clone();
        seal(&mut bytes);
        assert!(bytes == before, "{name}: sealing changes what is right");
        use_up(before).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_changed_container_gives_an_error_or_a_result_and_soon(
        name in prop::sample::select(FIXTURES),
        changes in prop::collection::vec(change(), 1..4),
        sealed in prop::bool::weighted(0.8),
    ) {
        let mut bytes = fixture(name);
        for change in &changes {
            apply(&mut bytes, change);
        }
        if sealed && bytes.len() > 40 {
            seal(&mut bytes);
        }
        let start = Instant::now();
        if let Err(fault) = use_up(bytes) {
            prop_assert!(!fault.class().is_empty() && !fault.to_string().is_empty());
        }
        prop_assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    }
}
