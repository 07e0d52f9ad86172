//! Containers with bytes changed, cut or moved: an error or a valid result, never a panic, and
//! never long. Checksums are set right again after most changes, so that what lies behind them is
//! reached.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its fixtures has to stop"
)]

#[allow(dead_code, reason = "the images are not needed here")]
#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use fuzz::containers::use_up;
use fuzz::seal::seal;

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
