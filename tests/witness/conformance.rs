//! The witness and cxfw read the same of a card, whoever burned it.

use cxfw::image::Uids;
use cxfw::report::flint;
use serde_json::Value;

use crate::bench::{
    Bench, CONNECTX_3, CONNECTX_4_LX, CONNECTX_5, CONNECTX_6_DX, Subject, Way, full, witness,
};
use crate::query_text::QueryText;

const SUBJECTS: [Subject; 4] = [CONNECTX_3, CONNECTX_4_LX, CONNECTX_5, CONNECTX_6_DX];

/// Everything both tools show of a card, however it was read.
fn assert_agreement(bench: &Bench, way: Way, card: &Value) {
    let witness = QueryText::new(&bench.witness_query(way));
    let flash = bench.flash();
    let own = QueryText::new(&flint::query_full(&flash)).without("Security Ver");
    if way == Way::Firmware && witness.value("Image type") != "FS2" {
        assert_firmware_agreement(&witness, card);
        // What the firmware does not tell, the flash does.
        for label in ["Base GUID", "Base MAC"] {
            assert_eq!(witness.base(label), own.base(label), "{way:?}");
        }
    } else {
        // Read from flash: the same text, line for line.
        assert_eq!(witness.text(), own.text(), "{way:?}");
    }
    let text = |field: &Value| field.as_str().unwrap().to_owned();
    assert_eq!(witness.value("PSID"), text(&card["psid"]));
    assert_eq!(witness.date(), text(&card["firmware"]["date"]));
    assert_eq!(
        witness.value("FW Version"),
        text(&card["firmware"]["stored"])
    );
    assert_eq!(witness.roms(), roms(card));
    if let Some(Uids::Fs2 { entries }) = flash.uids {
        let guids = [&card["port_guids"][0], &card["port_guids"][1]].map(text);
        let macs = [&card["port_macs"][0], &card["port_macs"][1]].map(text);
        let hex = |digits: usize, value: u64| format!("{value:0digits$x}");
        assert_eq!(guids, [hex(16, entries[1]), hex(16, entries[2])]);
        assert_eq!(macs, [hex(12, entries[4]), hex(12, entries[5])]);
    }
}

/// What the running firmware told both.
fn assert_firmware_agreement(witness: &QueryText, card: &Value) {
    let running = witness
        .field("FW Version(Running)")
        .unwrap_or_else(|| witness.value("FW Version"));
    assert_eq!(card["firmware"]["running"], running);
    assert_eq!(card["part_number"], witness.value("Part Number"));
    assert_eq!(card["description"], witness.description().unwrap());
    assert_eq!(card["base_guid"], witness.base("Base GUID").0);
    assert_eq!(card["base_mac"], witness.base("Base MAC").0);
    let security: Vec<&str> = card["security"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let security = match security.join(", ") {
        none if none.is_empty() => "N/A".to_owned(),
        words => words,
    };
    assert_eq!(witness.value("Security Attributes"), security);
}

/// Kind and version of every ROM, as the witness writes them.
fn roms(card: &Value) -> Vec<(String, String)> {
    let mut roms: Vec<_> = card["roms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rom| {
            let numbers: Vec<String> = rom["current"]
                .as_str()
                .unwrap()
                .split('.')
                .map(|number| number.parse::<u32>().unwrap().to_string())
                .collect();
            (rom["type"].as_str().unwrap().to_owned(), numbers.join("."))
        })
        .collect();
    roms.sort();
    roms
}

/// The witness finds nothing wrong with the flash, where the card lets it look.
fn assert_verified(bench: &Bench, subject: Subject, way: Way) {
    let ran = bench.mstflint(way, &["verify"]);
    if subject.flash_is_closed {
        assert!(ran.stdout.contains("Failed to read boot image"), "{ran:?}");
    } else {
        assert_eq!(ran.code, Some(0), "{way:?}: {ran:?}");
        assert!(ran.stdout.contains("Image is bootable"), "{ran:?}");
    }
}

#[test]
fn both_read_the_same_of_a_card_from_the_factory_by_every_way() {
    if !witness() {
        return;
    }
    for subject in SUBJECTS {
        let bench = Bench::new(subject);
        let card = bench.query();
        for &way in subject.ways {
            assert_agreement(&bench, way, &card);
            // Reading a whole flash takes the witness up to a minute, but for the smallest.
            if subject.name == CONNECTX_3.name || full() {
                assert_verified(&bench, subject, way);
            }
        }
        bench.assert_well_behaved();
    }
}

#[test]
fn the_witness_finds_on_a_card_what_cxfw_burned() {
    if !witness() {
        return;
    }
    for subject in [CONNECTX_4_LX, CONNECTX_5, CONNECTX_6_DX] {
        let bench = Bench::new(subject);
        let (old, new) = bench.versions();
        let image = bench.image(new);
        let ran = bench.cxfw(&["update", "--yes", "--image", image.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        bench.assert_well_behaved();

        let staged = QueryText::new(&bench.witness_query(Way::Firmware));
        assert_eq!(staged.value("FW Version"), new.to_string());
        assert_eq!(staged.value("FW Version(Running)"), old.to_string());
        assert_agreement(&bench, Way::Firmware, &bench.query());

        bench.reset();
        let card = bench.query();
        assert_eq!(card["firmware"]["running"], new.to_string());
        for &way in subject.ways {
            assert_agreement(&bench, way, &card);
        }
        assert_verified(&bench, subject, Way::Firmware);
    }
}

#[test]
fn the_witness_finds_on_a_card_what_cxfw_wrote_to_its_flash() {
    if !witness() {
        return;
    }
    for subject in [CONNECTX_3, CONNECTX_4_LX, CONNECTX_5] {
        let bench = Bench::new(subject);
        let (_, new) = bench.versions();
        bench.burn_directly(&bench.image(new));
        bench.reset();
        let card = bench.query();
        assert_eq!(card["firmware"]["running"], new.to_string());
        for &way in subject.ways {
            assert_agreement(&bench, way, &card);
        }
        assert_verified(&bench, subject, Way::Firmware);
    }
}

#[test]
fn cxfw_finds_on_a_card_what_the_witness_burned_by_every_way() {
    if !witness() {
        return;
    }
    for subject in SUBJECTS {
        for &way in subject.ways {
            let bench = Bench::new(subject);
            let (old, new) = bench.versions();
            let before = bench.query();
            let image = bench.image(new);
            let ran = bench.mstflint(way, &["-i", image.to_str().unwrap(), "-y", "burn"]);
            assert_eq!(ran.code, Some(0), "{way:?}: {ran:?}");

            let staged = bench.query();
            assert_eq!(staged["firmware"]["running"], old.to_string(), "{way:?}");
            assert_eq!(staged["firmware"]["stored"], new.to_string(), "{way:?}");

            bench.reset();
            let after = bench.query();
            assert_eq!(after["firmware"]["running"], new.to_string(), "{way:?}");
            for field in ["psid", "base_mac", "base_guid", "port_macs", "part_number"] {
                assert_eq!(after[field], before[field], "{way:?}: {field}");
            }
            assert_eq!(bench.flash().product_version, "rel-witness");
            assert_agreement(&bench, way, &after);
        }
    }
}

#[test]
fn the_witness_finds_the_flash_part_the_card_has() {
    if !witness() {
        return;
    }
    for subject in [CONNECTX_3, CONNECTX_4_LX, CONNECTX_5] {
        let bench = Bench::new(subject);
        let ran = bench.mstflint(Way::Firmware, &["hw", "query"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let spec = bench.chip().spec();
        let value = |label: &str| {
            let mut lines = ran.stdout.lines().map(str::trim);
            let value = lines.find_map(|line| line.strip_prefix(label));
            value.unwrap_or_else(|| panic!("{label}: {ran:?}")).trim()
        };
        assert_eq!(value("HwDevId"), spec.hw_id.to_string());
        assert_eq!(value("TotalSize"), format!("{:#x}", spec.flash_size));
        let [_, vendor, kind, capacity] = spec.jedec_id.to_be_bytes();
        assert_eq!(
            value("JEDEC_ID"),
            format!("0x{capacity:02x}{kind:02x}{vendor:02x}")
        );
    }
}
