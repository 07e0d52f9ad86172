//! The way back that a burn which broke off tells of.

use crate::{Bench, identity, quoted, shell, stored};

#[test]
fn after_a_power_cut_in_a_burn_the_advice_leads_back() {
    let bench = Bench::new("cx4lx");
    let before = bench.query();
    let image = bench.image(1);
    for form in ["text", "json"] {
        let fault = [
            "lab",
            "fault",
            "cx4lx",
            "power-loss",
            "--of",
            "flash",
            "--at",
            "40",
        ];
        assert_eq!(bench.lab.run(&fault).code, Some(0));
        let ran = bench.run("update", &["--yes", "--image", &image, "--format", form]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        bench.lab.reset();
        assert_eq!(stored(&bench.query()), stored(&before));
        let newest = bench.automatic().pop().unwrap();
        let told = match form {
            "json" => ran.json()["cards"][0]["advice"]
                .as_str()
                .unwrap()
                .to_owned(),
            _ => ran.advice().to_owned(),
        };
        let command = format!(
            "cxfw --lab={} restore -d 0000:03:00.0 {}",
            bench.lab.path().display(),
            newest.display()
        );
        assert!(
            told.ends_with(&format!(
                "; to go back to the firmware that was there: `{command}`"
            )),
            "{told}"
        );
        let ran = shell(&bench, &quoted(&told, 0), "--yes");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        bench.lab.reset();
        let after = bench.query();
        assert_eq!(stored(&after), stored(&before));
        assert_eq!(identity(&after), identity(&before));
    }
    bench.lab.assert_well_behaved();
}

#[test]
fn a_broken_burn_of_a_card_without_firmware_names_no_way_back() {
    let bench = Bench::with("cx5-recovery", |card| card.recovery = true);
    let image = bench.image(1);
    let fault = ["power-loss", "--of", "flash", "--at", "40"];
    let armed = [&["lab", "fault", "cx5-recovery"], &fault[..]].concat();
    assert_eq!(bench.lab.run(&armed).code, Some(0));
    let ran = bench.run("update", &["--yes", "--image", &image]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(bench.automatic().len(), 1);
    assert!(!ran.stderr.contains("restore"), "{ran:?}");
}
