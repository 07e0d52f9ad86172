//! Files that are no good backup of the card's flash.

use std::fs;

use cxfw::image::{self, CrcPlace, Extent};

use crate::cli_common::schema;
use crate::one_card::CARDS;
use crate::{Bench, quoted, shell};

/// Every part of the image in a backup that has a checksum, with its name.
fn checked_parts(bench: &Bench, bytes: &[u8]) -> Vec<(String, Extent)> {
    let format = bench.card.image_spec().unwrap().model.format;
    let layout = image::flash_layout(&bytes, format).unwrap();
    let place = |extent: Extent| Extent::new(layout.physical(extent.address), extent.size);
    let fixed = [
        ("BOOT2", layout.boot2),
        ("TOOLS_AREA", layout.tools),
        ("HASHES_TABLE", layout.hashes),
        ("ITOC", layout.itoc.map(|itoc| Extent::new(itoc.used, 0x20))),
    ];
    let fixed = fixed
        .into_iter()
        .filter_map(|(name, extent)| Some((name.to_owned(), place(extent?))));
    let sections = layout.sections.iter().filter(|section| {
        // DEV_INFO of FS4 has two places, of which one good one is enough
        let same = |other: &&image::Section| other.kind == section.kind;
        let only = layout.sections.iter().filter(same).count() == 1;
        only && section.crc != CrcPlace::None && section.size > 0
    });
    let sections = sections.map(|section| (section.name.to_string(), section.physical_extent()));
    let table = layout
        .dtoc
        .map(|at| ("DTOC".to_owned(), Extent::new(at, 0x20)));
    fixed.chain(sections).chain(table).collect()
}

#[test]
fn a_flipped_bit_in_any_part_of_a_backup_is_found_before_anything_is_written() {
    for name in CARDS {
        let bench = Bench::new(name);
        let good = fs::read(bench.backup("good.bin")).unwrap();
        let parts = checked_parts(&bench, &good);
        assert!(parts.len() >= 5, "{parts:?}");
        let flash = bench.flash();
        let file = bench.file("bad.bin");
        for (part, extent) in parts {
            let mut bad = good.clone();
            let at = usize::try_from(extent.address + extent.size / 2).unwrap();
            bad[at] ^= 4;
            fs::write(&file, &bad).unwrap();
            let ran = bench.run("restore", &[&file, "--yes", "--no-backup"]);
            assert_eq!(ran.code, Some(4), "{name}: {part}: {ran:?}");
            assert!(
                ran.stderr.contains("\n\nadvice: ") && !ran.advice().contains("fetch the image"),
                "{name}: {part}: {ran:?}"
            );
        }
        assert!(bench.flash() == flash, "{name}");
        bench.lab.assert_well_behaved();
    }
}

#[test]
fn a_backup_of_another_size_is_refused() {
    let bench = Bench::new("cx4lx");
    let good = fs::read(bench.backup("good.bin")).unwrap();
    let flash = bench.flash();
    let file = bench.file("bad.bin");
    let mut longer = good.clone();
    longer.extend([0xff; 0x1000]);
    for (bytes, told) in [
        (
            &good[..0x18_0000],
            "it has 0x180000 bytes, the flash 0x200000",
        ),
        (&longer, "it has 0x201000 bytes, the flash 0x200000"),
        (&good[..0x100], "it has 0x100 bytes, the flash 0x200000"),
        (&[], "it has 0x0 bytes, the flash 0x200000"),
    ] {
        fs::write(&file, bytes).unwrap();
        let ran = bench.run("restore", &[&file, "--yes", "--format", "json"]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        let document = ran.json();
        schema::check(&document, "restore.json");
        let card = &document["cards"][0];
        assert_eq!(
            (&card["result"], &card["code"]),
            (&"refused".into(), &"no_backup".into())
        );
        assert!(card["reason"].as_str().unwrap().contains(told), "{card}");
    }
    assert!(bench.flash() == flash);
    let missing = bench.run("restore", &["/nonexistent/file", "--yes"]);
    assert_eq!(missing.code, Some(1));
    assert!(
        missing
            .stderr
            .starts_with("error: cannot read /nonexistent/file: ")
    );
}

#[test]
fn whoever_gives_an_image_is_told_the_command_for_images() {
    let bench = Bench::new("cx4lx");
    let image = bench.image(1);
    let ran = bench.run("restore", &[&image, "--yes"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let told = ran.advice();
    let lab = bench.lab.path();
    assert_eq!(
        told,
        format!(
            "advice: there is firmware in it, but it is no copy of this card's flash; burn it with \
             `cxfw --lab={} update -d 0000:03:00.0 --image {image}`",
            lab.display()
        )
    );
    let ran = shell(&bench, &quoted(told, 0), "--yes");
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
