//! `cxfw restore`: the card runs its old firmware again and stays the same card.

use std::fs;

use cxfw::lab::Lab;

use crate::cli_common::schema;
use crate::one_card::{CARDS, FLASH};
use crate::{Bench, identity, stored};

#[test]
fn a_card_goes_back_to_the_firmware_of_its_backup_and_stays_the_same_card() {
    for name in CARDS {
        let bench = Bench::new(name);
        let before = bench.query();
        let file = bench.backup("old.bin");
        assert!(fs::read(&file).unwrap() == bench.flash(), "{name}");
        bench.update();
        assert_ne!(stored(&bench.query()), stored(&before));

        let ran = bench.run("restore", &[&file, "--yes"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("\nDone\n"), "{ran:?}");
        assert!(
            ran.stdout
                .ends_with("\nNeeded to run it: a cold boot (the machine without power)\n"),
            "{ran:?}"
        );
        let old = fs::read(&file).unwrap();
        assert!(
            bench.image_on(&bench.flash()) == bench.image_on(&old),
            "{name}"
        );
        bench.lab.reset();
        let after = bench.query();
        assert_eq!(stored(&after), stored(&before), "{name}");
        assert_eq!(after["firmware"]["running"], before["firmware"]["running"]);
        assert_eq!(identity(&after), identity(&before), "{name}");
        bench.lab.assert_well_behaved();
    }
}

#[test]
fn a_blank_card_becomes_the_card_of_its_backup_again() {
    for name in CARDS {
        let bench = Bench::new(name);
        let before = bench.query();
        let file = bench.backup("old.bin");
        let lab = Lab::open(&bench.lab.path()).unwrap();
        let chip = lab.chip(name).unwrap();
        chip.write_flash(0, &vec![0xff; FLASH as usize]).unwrap();
        drop(lab);
        bench.lab.reset();
        let ran = bench.run("restore", &[&file, "--yes"]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(
            ran.stderr
                .contains("this is a card that does not say who it is"),
            "{ran:?}"
        );
        let ran = bench.run("restore", &[&file, "--yes", "--other-card", "--no-backup"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.contains(
                "Note:     the card's own GUIDs and MACs cannot be read; it takes those of the \
                 backup\n"
            ),
            "{ran:?}"
        );
        bench.lab.reset();
        let after = bench.query();
        assert_eq!(after["recovery"], false, "{name}");
        assert_eq!(identity(&after), identity(&before), "{name}");
        bench.lab.assert_well_behaved();
    }
}

#[test]
fn a_restore_asks_first_and_a_dry_run_writes_nothing() {
    let bench = Bench::new("cx4lx");
    let file = bench.backup("old.bin");
    bench.update();
    let flash = bench.flash();
    let ran = bench.run("restore", &[&file]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("there is no terminal to ask on"),
        "{ran:?}"
    );
    let ran = bench.run("restore", &[&file, "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let backups = bench.lab.path().join("backups");
    let step = format!(
        "\ndry run\n  1. save the old firmware and the device data into {}, in a file named by PSID, \
         version, MAC and date\n  2. ",
        backups.display()
    );
    assert!(ran.stdout.contains(&step), "{ran:?}");
    let ran = bench.run("restore", &[&file, "--dry-run", "--format", "json"]);
    let document = ran.json();
    schema::check(&document, "restore.json");
    let card = &document["cards"][0];
    assert_eq!(
        (&card["result"], &card["to"]),
        (&"skipped".into(), &"14.25.1020".into())
    );
    assert_eq!(card["backup_of"]["psid"], "MT_2420110034");
    assert!(bench.flash() == flash);
    assert!(bench.automatic().is_empty());
}

#[test]
fn a_backup_laid_out_in_other_slots_is_refused_with_a_way_that_the_card_has() {
    for (name, way) in [
        ("cx3-10g", "take a backup that was made of this card since"),
        ("cx4lx", "burn it through the firmware"),
    ] {
        let earlier = Bench::with(name, |card| card.flash.slot_log2 = Some(20));
        let bench = Bench::new(name);
        let file = bench.file("earlier.bin");
        fs::write(&file, earlier.flash()).unwrap();
        let ran = bench.run("restore", &[&file, "--yes"]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(ran.stderr.contains("slots"), "{ran:?}");
        assert!(ran.advice().contains(way), "{ran:?}");
        let command = format!("`cxfw update -d {} --image FILE", bench.device);
        assert!(ran.advice().contains(&command), "{ran:?}");
        assert!(!ran.stderr.contains("--method component"), "{ran:?}");
        bench.lab.assert_well_behaved();
    }
}
