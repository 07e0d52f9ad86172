//! Addresses on the command line, for cards that keep their own or are not named.

use crate::{CX3, LX, small};

#[test]
fn addresses_for_a_card_that_keeps_its_own_are_refused() {
    let lab = small();
    let label = [
        "--guid",
        "50:6b:4b:03:00:2f:e7:a8",
        "--mac",
        "50-6b-4b-2f-e7-a8",
    ];
    let ran = lab.update_text(LX, &[&["--yes"], &label[..]].concat());
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let told = "--guid and --mac are not for 0000:03:00.0";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(lab.flash_operations(LX), 0);
}

#[test]
fn addresses_are_given_to_one_named_card_only() {
    let lab = small();
    let label = ["--guid", "506b4b03002fe7a8", "--mac", "506b4b2fe7a8"];
    for device in [&[][..], &["-d", CX3, "-d", LX]] {
        let ran = lab.run(&[&["update", "--yes"], device, &label].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("--guid and --mac belong to one card"));
        assert!(ran.stderr.contains("advice: name it with -d DEV"));
    }
    assert_eq!(lab.flash_operations(CX3), 0);
}
