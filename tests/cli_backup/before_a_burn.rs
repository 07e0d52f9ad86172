//! The backup that every burn leaves, and the burns that do not begin because there is none.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cli_common::schema;
use crate::one_card::FLASH;
use crate::{Bench, files};

#[test]
fn every_burn_leaves_a_backup_unless_told_not_to() {
    let bench = Bench::new("cx4lx");
    let image = bench.image(1);
    let ran = bench.run("update", &["--dry-run", "--image", &image]);
    let step = format!(
        "  1. save the old firmware and the device data into {}, in a file named",
        bench.lab.path().join("backups").display()
    );
    assert!(ran.stdout.contains(&step), "{ran:?}");
    assert!(bench.automatic().is_empty());

    let burn = [
        "--yes",
        "--reinstall",
        "--format",
        "json",
        "--image",
        &image,
    ];
    let none = bench.run("update", &[&burn[..], &["--no-backup"]].concat());
    let document = none.json();
    schema::check(&document, "update.json");
    let card = &document["cards"][0];
    assert_eq!(card["result"], "burned");
    assert_eq!(
        (&card["backup"], &card["no_backup"]),
        (&Value::Null, &"--no-backup".into())
    );
    assert!(bench.automatic().is_empty());
    bench.lab.reset();

    let document = bench.run("update", &burn).json();
    schema::check(&document, "update.json");
    let card = &document["cards"][0];
    assert_eq!(card["result"], "burned");
    let [file] = bench.automatic().try_into().unwrap();
    assert_eq!(card["backup"], file.to_str().unwrap());
    assert_eq!(fs::metadata(&file).unwrap().len(), u64::from(FLASH));
    bench.lab.reset();

    // old ones are kept
    let image = bench.image(2);
    let ran = bench.run("update", &["--yes", "--image", &image]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let files = bench.automatic();
    assert_eq!(files.len(), 2, "{files:?}");
    let newest = files.iter().find(|other| **other != file).unwrap();
    assert!(
        ran.stdout
            .contains(&format!("\nDone\nBackup: {}\n", newest.display())),
        "{ran:?}"
    );
    bench.lab.assert_well_behaved();
}

#[test]
fn the_folder_of_backups_is_the_one_named_else_that_of_the_configuration() {
    let bench = Bench::new("cx4lx");
    let config = bench.file("config.toml");
    fs::write(&config, "backup = \"of-the-site\"\n").unwrap();
    let (site, named) = (bench.file("of-the-site"), bench.file("a/named one"));
    let burn = [
        "update",
        "--yes",
        "--reinstall",
        "--config",
        &config,
        "--image",
    ];
    let image = bench.image(1);
    let ran = bench.lab.run(&[&burn[..], &[&image]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(files(Path::new(&site)).len(), 1);
    bench.lab.reset();
    let ran = bench
        .lab
        .run(&[&burn[..], &[&image, "--backup", &named]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(files(Path::new(&named)).len(), 1);
    assert_eq!(files(Path::new(&site)).len(), 1);
    assert!(bench.automatic().is_empty());
    let both = bench.run(
        "update",
        &["--backup", &named, "--no-backup", "--image", &image],
    );
    assert_eq!(both.code, Some(2));
}

#[test]
fn a_folder_that_takes_no_backup_stops_a_burn_before_anything_is_written() {
    let bench = Bench::new("cx4lx");
    let image = bench.image(1);
    let flash = bench.flash();
    let args = ["--yes", "--backup", "/proc/no/such", "--image", &image];
    let ran = bench.run("update", &args);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.stderr.contains(
            "no backup could be made, so nothing was written: cannot make /proc/no/such: "
        ),
        "{ran:?}"
    );
    assert_eq!(
        ran.advice(),
        "advice: name another folder with --backup DIR, or burn without a way back with --no-backup"
    );
    assert!(bench.flash() == flash);
    let json = bench.run("update", &[&args[..], &["--format", "json"]].concat());
    let card = &json.json()["cards"][0];
    assert_eq!(
        (&card["result"], &card["code"]),
        (&"refused".into(), &"backup_file".into())
    );
}

#[test]
fn a_flash_that_reads_differently_each_time_is_not_burned_without_the_users_word() {
    for (name, method) in [
        ("cx4lx", "component"),
        ("cx4lx", "direct"),
        ("cx3-10g", "auto"),
    ] {
        let bench = Bench::new(name);
        let image = bench.image(1);
        let fault = ["lab", "fault", name, "bit-errors", "--every", "3"];
        assert_eq!(bench.lab.run(&fault).code, Some(0));
        let args = ["--yes", "--method", method, "--image", &image];
        let ran = bench.run("update", &args);
        assert_eq!(ran.code, Some(1), "{name}: {method}: {ran:?}");
        assert!(
            ran.stderr.contains("nothing was written"),
            "{method}: {ran:?}"
        );
        assert!(bench.automatic().is_empty());
        if method == "component" {
            assert!(
                ran.advice().contains("--no-backup burns all the same"),
                "{ran:?}"
            );
        }
    }
}
