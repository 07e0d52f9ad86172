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
