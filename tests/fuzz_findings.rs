//! The functions of the fuzz targets, run on what the fuzzer once found and on random bytes.
//!
//! A finding is a file in `fixtures/fuzz/TARGET`.

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

/// The files of a folder; none if it is not there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.is_file());
    files
}

#[test]
fn what_the_fuzzer_found_and_what_it_starts_from_is_survived_by_every_parser() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let seeds = files(&fixtures.join("bundle"));
    assert!(seeds.len() > 10, "{seeds:?}");
    for (name, target) in fuzz::TARGETS {
        let findings = files(&fixtures.join("fuzz").join(name));
        for path in seeds.iter().chain(&findings) {
            target(&fs::read(path).unwrap());
        }
    }
}

#[test]
fn setting_checksums_right_leaves_good_images_good() {
    assert!(fuzz::images::sealing_keeps_good_images());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_are_survived_by_every_parser(
        bytes in prop::collection::vec(any::<u8>(), 0..1024),
    ) {
        for (_, target) in fuzz::TARGETS {
            target(&bytes);
        }
    }
}
