//! Backups of other cards, boards and chips.

use crate::one_card::CARDS;
use crate::{Bench, identity, stored};

#[test]
fn the_backup_of_another_card_needs_consent_and_never_gives_its_addresses_away() {
    for name in CARDS {
        let theirs = Bench::with(name, |card| {
            card.mac = "0002c9aabbcc".parse().unwrap();
            card.guid = "0002c90300aabbcc".parse().unwrap();
            card.firmware.version.minor += 5;
        });
        let file = theirs.backup("theirs.bin");
        let bench = Bench::new(name);
        let before = bench.query();
        let flash = bench.flash();
        let ran = bench.run("restore", &[&file, "--yes"]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        let told = format!(
            "the backup is of the card with MAC 0002c9aabbcc, this is the card with MAC {}",
            bench.card.mac
        );
        assert!(ran.stderr.contains(&told), "{ran:?}");
        assert!(ran.advice().contains("--other-card"), "{ran:?}");
        assert!(bench.flash() == flash, "{name}");

        let ran = bench.run("restore", &[&file, "--yes", "--other-card"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.contains(
                "Note:     the backup is of the card with MAC 0002c9aabbcc; this card keeps its \
                 own GUIDs and MACs\n"
            ),
            "{ran:?}"
        );
        bench.lab.reset();
        let after = bench.query();
        assert_eq!(identity(&after), identity(&before), "{name}");
        assert_eq!(stored(&after), theirs.card.firmware.version.to_string());
        bench.lab.assert_well_behaved();
    }
}

#[test]
fn the_backup_of_another_board_needs_a_consent_of_its_own() {
    let theirs = Bench::with("cx4lx", |card| {
        card.psid = cxfw::identity::Psid::new("MT_0000000099").unwrap();
    });
    let file = theirs.backup("theirs.bin");
    let bench = Bench::new("cx4lx");
    let ran = bench.run("restore", &[&file, "--yes"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.stderr
            .contains("Device PSID (MT_2420110034) differs from image PSID (MT_0000000099)"),
        "{ran:?}"
    );
    assert!(ran.advice().contains("--allow-psid-change"), "{ran:?}");
    let dry = ["--dry-run", "--allow-psid-change"];
    let ran = bench.run("restore", &[&[file.as_str()], &dry[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .contains("the PSID changes from MT_2420110034 to MT_0000000099"),
        "{ran:?}"
    );
}

#[test]
fn the_backup_of_another_chip_is_refused_whatever_is_consented() {
    for (theirs, ours) in [("cx5-recovery", "cx4lx"), ("cx4lx", "cx4")] {
        let theirs = Bench::new(theirs);
        let file = theirs.backup("theirs.bin");
        let bench = Bench::new(ours);
        let flash = bench.flash();
        let consents = ["--yes", "--other-card", "--allow-psid-change"];
        let ran = bench.run("restore", &[&[file.as_str()], &consents[..]].concat());
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(
            ran.stderr.contains("the image is not for this chip"),
            "{ran:?}"
        );
        assert!(bench.flash() == flash);
    }
}
