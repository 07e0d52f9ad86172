//! The fixtures against what the reference tool was recorded to say of them, as far as this room
//! goes: the checked objects. The printed texts are `tests/image_vectors.rs`'s.

use super::*;

/// Name, address, size and verdict of the objects in a recorded `verify`.
fn objects(recorded: &str) -> Vec<(String, u64, u64, bool)> {
    recorded
        .lines()
        .filter_map(|line| {
            let (range, rest) = line.strip_prefix("     /0x")?.split_once(")/ (")?;
            let (addresses, size) = range.split_once(" (0x")?;
            let (name, verdict) = rest.rsplit_once(") - ")?;
            let hex = |text: &str| u64::from_str_radix(text, 16).ok();
            let start = hex(addresses.split_once('-')?.0)?;
            Some((name.to_owned(), start, hex(size)?, verdict == "OK"))
        })
        .collect()
}

#[test]
fn every_object_the_reference_checks_is_checked_with_the_same_result() {
    for (name, recorded) in [
        (
            "fs2-cx3",
            include_str!("../../../fixtures/image/fs2-cx3.verify.txt"),
        ),
        (
            "fs2-striped-odd",
            include_str!("../../../fixtures/image/fs2-striped-odd.verify.txt"),
        ),
        (
            "fs3-cx4lx",
            include_str!("../../../fixtures/image/fs3-cx4lx.verify.txt"),
        ),
        (
            "fs4-cx5",
            include_str!("../../../fixtures/image/fs4-cx5.verify.txt"),
        ),
        (
            "fs4-cx7",
            include_str!("../../../fixtures/image/fs4-cx7.verify.txt"),
        ),
        (
            "fs4-cx7-encrypted",
            include_str!("../../../fixtures/image/fs4-cx7-encrypted.verify.txt"),
        ),
        (
            "fs5-cx8",
            include_str!("../../../fixtures/image/fs5-cx8.verify.txt"),
        ),
    ] {
        let verification = verify(&fixture(name));
        assert!(verification.passed(), "{name}: {:?}", verification.failure);
        let ours: Vec<_> = verification
            .lines
            .iter()
            .map(|line| {
                let ok = line.result == CheckResult::Ok;
                (line.name.to_string(), line.address, line.size, ok)
            })
            .collect();
        let theirs = objects(recorded);
        assert!(theirs.len() > 5, "{name}");
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn a_secure_image_says_so() {
    let info = query(&fixture("fs4-cx7")).unwrap();
    assert_eq!(info.security.attributes, [SecurityAttribute::SecureFw]);
    assert!(info.security.firmware_controlled);
    assert_eq!(info.security.version, Some(0));
    assert_eq!(info.model().unwrap().name, "ConnectX7");
    assert!(info.supports(HwId {
        id: 0x218,
        revision: 0
    }));
    assert!(!info.supports(HwId {
        id: 0x218,
        revision: 1
    }));
}

#[test]
fn an_encrypted_image_still_tells_what_it_is() {
    let bytes = fixture("fs4-cx7-encrypted");
    let info = query(&bytes).unwrap();
    assert_eq!(info.psid.unwrap().as_str(), "MT_0000000838");
    assert!(info.security.encrypted);
    assert!(info.roms.is_empty());
    assert!(info.warnings.is_empty());
    let layout = layout(&bytes, 0).unwrap();
    assert_eq!(layout.size, 0x8000);
    assert_eq!(layout.itoc, None);
}
