//! A card that the witness burned past its firmware, and that has not restarted since: its firmware
//! does not know what its flash boots, and would write over it.

use cxfw::version::FwVersion;
use serde_json::Value;

use crate::bench::{Bench, CONNECTX_4_LX, CONNECTX_5, Subject, Way, full, witness};

/// The cards whose flash can be written past their firmware, and the ways; the first ones are
/// quicker.
const BURNS: [(Subject, Way); 4] = [
    (CONNECTX_4_LX, Way::Registers),
    (CONNECTX_5, Way::Registers),
    (CONNECTX_4_LX, Way::Gateway),
    (CONNECTX_5, Way::Gateway),
];

/// A version after the one of [`Bench::versions`].
fn later(version: FwVersion) -> FwVersion {
    FwVersion::new(version.major, version.minor + 1, version.subminor)
}

/// Updates the card, which ends with this code.
fn update(bench: &Bench, version: FwVersion, more: &[&str], code: i32) -> Value {
    let image = bench.image(version);
    let usual = ["update", "--yes", "--format", "json", "--image"];
    let args = [&usual[..], &[image.to_str().unwrap()], more].concat();
    let ran = bench.cxfw(
        &[
            &args[..],
            &["--backup", bench.beside("kept").to_str().unwrap()],
        ]
        .concat(),
    );
    assert_eq!(ran.code, Some(code), "{ran:?}");
    bench.assert_well_behaved();
    ran.json()["cards"][0].clone()
}

fn contents(bench: &Bench) -> Vec<u8> {
    let chip = bench.chip();
    chip.read_flash(0, chip.spec().flash_size).unwrap()
}

fn identity(card: &Value) -> [Value; 4] {
    ["psid", "base_guid", "base_mac", "original_base_mac"].map(|fact| card[fact].clone())
}

#[test]
fn no_update_goes_over_what_the_witness_burned_before_the_restart() {
    if !witness() {
        return;
    }
    let burns = if full() { &BURNS[..] } else { &BURNS[..2] };
    for &(subject, way) in burns {
        let bench = Bench::new(subject);
        let before = bench.query();
        let (old, new) = bench.versions();
        let image = bench.image(new);
        let burned = bench.mstflint(way, &["-i", image.to_str().unwrap(), "-y", "burn"]);
        assert_eq!(burned.code, Some(0), "{burned:?}");
        // the user sees what runs and what boots next
        let card = bench.query();
        assert_eq!(card["firmware"]["running"], old.to_string(), "{card}");
        assert_eq!(card["firmware"]["stored"], new.to_string(), "{card}");

        let written = contents(&bench);
        for more in [&[][..], &["--dry-run"]] {
            let refused = update(&bench, later(new), more, 4);
            assert_eq!(refused["code"], "restart_pending", "{refused}");
            let said = refused["reason"].as_str().unwrap();
            for fact in [old, new] {
                assert!(said.contains(&fact.to_string()), "{said}");
            }
            assert!(contents(&bench) == written, "{subject:?} {way:?}");
        }
        // and the other way would write over what runs
        let refused = update(&bench, later(new), &["--method", "direct"], 4);
        assert_eq!(refused["result"], "refused", "{refused}");
        let advice = refused["advice"].as_str().unwrap();
        assert!(advice.starts_with("reboot the host"), "{advice}");
        assert!(contents(&bench) == written, "{subject:?} {way:?}");

        bench.reset();
        assert_eq!(bench.query()["firmware"]["running"], new.to_string());
        update(&bench, later(new), &[], 0);
        bench.reset();
        let after = bench.query();
        assert_eq!(after["firmware"]["running"], later(new).to_string());
        assert_eq!(identity(&after), identity(&before), "{subject:?} {way:?}");
        bench.witness_query(Way::Firmware);
    }
}

#[test]
fn what_the_witness_burned_through_the_firmware_is_known_to_it() {
    if !witness() {
        return;
    }
    for subject in [CONNECTX_4_LX, CONNECTX_5] {
        let bench = Bench::new(subject);
        let (_, new) = bench.versions();
        let image = bench.image(new);
        let burned = bench.mstflint(
            Way::Firmware,
            &["-i", image.to_str().unwrap(), "-y", "burn"],
        );
        assert_eq!(burned.code, Some(0), "{burned:?}");
        // it waits for the restart, and is taken back for the next one
        let card = update(&bench, later(new), &[], 0);
        assert_eq!(card["result"], "burned", "{card}");
        bench.reset();
        assert_eq!(bench.query()["firmware"]["running"], later(new).to_string());
    }
}

/// Bytes of the reference layout of FS3 device data, at the end of the flash.
const DEVICE_DATA: usize = 0x4_0000;

/// The flash of a ConnectX-4 Lx that the witness burned past its firmware and then, before the
/// restart, through it: what boots names no device data.
fn lost_by_the_witness(bench: &Bench, [first, second]: [FwVersion; 2]) -> Vec<u8> {
    for (way, version) in [(Way::Registers, first), (Way::Firmware, second)] {
        let image = bench.image(version);
        let burned = bench.mstflint(way, &["-i", image.to_str().unwrap(), "-y", "burn"]);
        assert_eq!(burned.code, Some(0), "{burned:?}");
    }
    contents(bench)
}

/// Writes a flash and restarts, after which the card runs this version without knowing who it is.
fn become_nobody(bench: &Bench, flash: &[u8], runs: FwVersion) {
    bench.chip().write_flash(0, flash).unwrap();
    bench.reset();
    let ran = bench.cxfw(&["query", "--format", "json"]);
    let card = ran.json()["cards"][0].clone();
    assert_eq!(card["firmware"]["running"], runs.to_string(), "{card}");
    assert_eq!(
        (&card["base_mac"], &card["base_guid"]),
        (&Value::Null, &Value::Null)
    );
    let text = bench.cxfw(&["query"]).stderr;
    assert!(
        text.contains("says no GUID and no MAC: its device data is lost"),
        "{text}"
    );
    assert!(
        text.contains("`cxfw restore -d 0000:03:00.0 BACKUP`"),
        "{text}"
    );
    let witness = bench.mstflint(Way::Registers, &["query", "full"]);
    assert_ne!(witness.code, Some(0), "{witness:?}");
}

/// After a restart the card runs this version, and both programs know it again.
fn assert_known_again(bench: &Bench, runs: FwVersion, before: &Value, what: &str) {
    bench.assert_well_behaved();
    bench.reset();
    let after = bench.query();
    assert_eq!(after["firmware"]["running"], runs.to_string(), "{what}");
    assert_eq!(identity(&after), identity(before), "{what}");
    assert_eq!(after["warnings"], before["warnings"], "{what}");
    let witness = bench.witness_query(Way::Registers);
    for fact in ["psid", "base_guid", "base_mac"] {
        let value = before[fact].as_str().unwrap();
        assert!(witness.contains(value), "{what}: {value} in {witness}");
    }
}

#[test]
fn a_card_that_the_witness_made_forget_who_it_is_remembers() {
    if !witness() {
        return;
    }
    let bench = Bench::with_flash(CONNECTX_4_LX, 0x20_0000, 19);
    let before = bench.query();
    let backup = bench.beside("before.bin");
    let backup = backup.to_str().unwrap();
    let saved = bench.cxfw(&["backup", "-d", "03:00.0", "-o", backup]);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    let (old, first) = bench.versions();
    let [second, third] = [later(first), later(later(first))];
    let lost = lost_by_the_witness(&bench, [first, second]);
    let direct = ["--method", "direct"];

    // the image that ran before still names the device data
    become_nobody(&bench, &lost, second);
    update(&bench, third, &direct, 0);
    assert_known_again(&bench, third, &before, "older image");

    // nothing names it, but it is there
    let mut unnamed = lost.clone();
    unnamed[..0x8_0000].fill(0xff);
    become_nobody(&bench, &unnamed, second);
    update(&bench, third, &direct, 0);
    assert_known_again(&bench, third, &before, "sections");

    // the backup knows; the sections tell that it is this card's
    become_nobody(&bench, &unnamed, second);
    let restore = ["restore", "-d", "03:00.0", "--yes", "--no-backup", backup];
    let restored = bench.cxfw(&restore);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert_known_again(&bench, old, &before, "table of the backup");

    // nothing is left of it
    let mut gone = unnamed;
    let end = gone.len();
    gone[end - DEVICE_DATA..].fill(0xff);
    become_nobody(&bench, &gone, second);
    let refused = update(&bench, third, &direct, 4);
    assert_eq!(refused["code"], "no_identity", "{refused}");
    assert!(
        refused["advice"]
            .as_str()
            .unwrap()
            .contains("--guid and --mac"),
        "{refused}"
    );
    let refused = bench.cxfw(&restore);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("--other-card"), "{refused:?}");
    assert!(contents(&bench) == gone);
    let restored = bench.cxfw(&[&restore[..], &["--other-card"]].concat());
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert_known_again(&bench, old, &before, "backup");

    become_nobody(&bench, &gone, second);
    let [guid, mac] = ["base_guid", "base_mac"].map(|fact| before[fact].as_str().unwrap());
    update(
        &bench,
        third,
        &[
            &direct[..],
            &["-d", "03:00.0", "--guid", guid, "--mac", mac],
        ]
        .concat(),
        0,
    );
    assert_known_again(&bench, third, &before, "label");
    // and the next update goes through the firmware as ever
    update(&bench, later(third), &[], 0);
    assert_known_again(&bench, later(third), &before, "the next update");
}
