//! The functions of the fuzz targets, run on what the fuzzer once found and on random bytes.
//!
//! A finding is a file in `fixtures/fuzz/TARGET`; a good day leaves that folder as it is.

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[test]
fn nothing_the_fuzzer_found_is_wrong_any_more() {
    let findings = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fuzz");
    let mut folders = 0;
    for folder in fs::read_dir(findings).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (_, target) = fuzz::TARGETS
            .iter()
            .find(|(target, _)| *target == name)
            .unwrap_or_else(|| panic!("no target is called {name}"));
        for finding in fs::read_dir(folder).unwrap() {
            target(&fs::read(finding.unwrap().path()).unwrap());
        }
        folders += 1;
    }
    assert!(folders > 0);
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
