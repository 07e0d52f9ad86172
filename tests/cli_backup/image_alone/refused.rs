//! Burns that do not happen, and the backup before them.

use std::fs;

use cxfw::lab::build::build_image;
use cxfw::lab::chip::ReadBack;
use serde_json::Value;

use super::{assert_left_as_found, secure};
use crate::cli_common::{Ran, TestLab, equal_cards, schema};
use crate::files;
use crate::one_card::newer;

/// A burn that was refused, in JSON, made no backup.
fn assert_refused_without_backup(ran: &Ran, code: &str, lab: &TestLab) {
    let document = ran.json();
    schema::check(&document, "update.json");
    let card = &document["cards"][0];
    assert_eq!(card["code"], code, "{card}");
    assert_eq!(
        (&card["backup"], &card["no_backup"]),
        (&Value::Null, &Value::Null)
    );
    assert!(files(&lab.path().join("backups")).is_empty());
}

#[test]
fn a_burn_that_can_be_refused_beforehand_leaves_no_backup() {
    let bench = secure(ReadBack::Masked);
    let mut spec = bench.card.image_spec().unwrap();
    spec.version = newer(&bench.card, 1);
    (spec.slot_log2, spec.code_size) = (22, 0x10_0000);
    let image = bench.file("large.bin");
    fs::write(&image, build_image(&spec).unwrap()).unwrap();
    let ran = bench.run("update", &["--yes", "--image", &image, "--format", "json"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_refused_without_backup(&ran, "too_large", &bench.lab);
    assert_left_as_found(&bench);

    let lab = TestLab::of(&equal_cards(1, 0));
    let protect = lab.run(&["lab", "fault", "card-0", "write-protect"]);
    assert_eq!(protect.code, Some(0), "{protect:?}");
    let ran = lab.run(&["update", "--yes", "--method", "direct", "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_refused_without_backup(&ran, "write_protected", &lab);
}

#[test]
fn a_burn_that_only_the_firmware_refuses_names_the_backup_it_leaves() {
    let lab = TestLab::of(&equal_cards(1, 0));
    let protect = lab.run(&["lab", "fault", "card-0", "write-protect"]);
    assert_eq!(protect.code, Some(0), "{protect:?}");
    let ran = lab.run(&["update", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let [file] = files(&lab.path().join("backups")).try_into().unwrap();
    let told = format!("Backup: {}\n", file.display());
    assert!(ran.stdout.contains(&told), "{ran:?}");
}
