//! Cards that let no tool at their flash but hand their firmware image out: the backup is that image,
//! and the way back leads through the firmware.

mod broken;
mod refused;

use std::fs;
use std::path::Path;

use cxfw::access::{Device, read_register};
use cxfw::image;
use cxfw::lab::Lab;
use cxfw::lab::build::Security;
use cxfw::lab::chip::ReadBack;
use cxfw::registers::Mcc;
use cxfw::registers::mcc::ControlState;

use crate::cli_common::schema;
use crate::{Bench, files, identity, stored};

const NAME: &str = "cx6dx";
const DEVICE: &str = "0000:41:00.0";

/// A card with secure firmware that hands its image out so.
fn secure(read_back: ReadBack) -> Bench {
    Bench::with(NAME, |card| card.read_back = read_back)
}

fn fault(bench: &Bench, args: &[&str]) {
    let ran = bench.lab.run(&[&["lab", "fault", NAME], args].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// The way to the card's registers.
fn device(bench: &Bench) -> Device {
    let lab = Lab::open(&bench.lab.path()).unwrap();
    let config = lab.config_source().open(bench.card.address).unwrap();
    Device::open(config, None).unwrap()
}

/// Nothing a tool must not do was done, and nobody has the update handle.
fn assert_left_as_found(bench: &Bench) {
    bench.lab.assert_well_behaved();
    let device = device(bench);
    let mcc = read_register(device.registers().unwrap(), &Mcc::default()).unwrap();
    assert_eq!(mcc.control_state, ControlState::Idle);
}

#[test]
fn the_backup_is_the_image_that_runs_with_its_start_pattern_whatever_the_firmware_hands_out() {
    for read_back in [ReadBack::Masked, ReadBack::Whole] {
        let bench = secure(read_back);
        let file = bench.backup("old.bin");
        let saved = fs::read(&file).unwrap();
        let flash = bench.flash();
        let whole = image::whole_at(&flash, 0).unwrap().bytes;
        assert!(saved == whole, "{read_back:?}");
        assert!(image::verify(&saved).passed());
        let ran = bench.lab.run(&["verify", &file]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_left_as_found(&bench);
    }
}

/// The table of an FS3 image names the device data, too.
#[test]
fn the_image_of_an_fs3_card_leaves_its_device_data_out_and_goes_back() {
    for read_back in [ReadBack::Masked, ReadBack::Whole] {
        let bench = Bench::with("cx4lx", |card| {
            card.secure = true;
            card.firmware.security = Security::Secure;
            card.read_back = read_back;
        });
        let before = bench.query();
        let file = bench.backup("old.bin");
        let saved = fs::read(&file).unwrap();
        assert!(image::verify(&saved).passed());
        assert!(saved[16..] == image::component(&bench.flash()).unwrap()[16..]);
        bench.update();
        assert_ne!(stored(&bench.query()), stored(&before));
        let ran = bench.run("restore", &[&file, "--yes"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        bench.lab.reset();
        let after = bench.query();
        assert_eq!(after["firmware"], before["firmware"]);
        assert_eq!(identity(&after), identity(&before));
        bench.lab.assert_well_behaved();
    }
}

#[test]
fn the_backup_says_that_it_is_no_whole_flash() {
    let bench = secure(ReadBack::Masked);
    let folder = bench.file("copies/");
    let ran = bench.run("backup", &["-o", &folder]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let [file] = files(Path::new(&folder)).try_into().unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("MT_0000000359_22.39.1002_0c42a1a40010_20"),
        "{name}"
    );
    assert!(name.ends_with("Z_image.bin"), "{name}");
    assert!(
        ran.stdout.contains(
            "\nHolds:    the firmware image alone: the flash with the device data is closed to \
             tools\n"
        ),
        "{ran:?}"
    );
    assert!(
        ran.stderr.starts_with(
            "0000:41:00.0: the firmware lets no tool at its flash, but hands its image out: the \
             backup is that firmware image alone, without the device data, which stays on the card\n"
        ),
        "{ran:?}"
    );
    let file = bench.file("x.bin");
    let document = bench
        .run("backup", &["-o", &file, "--format", "json"])
        .json();
    schema::check(&document, "backup.json");
    let card = &document["cards"][0];
    assert_eq!(card["contents"], "image");
    assert_eq!(card["firmware"], "22.39.1002");
    assert_eq!(card["base_mac"], "0c42a1a40010");
    assert_eq!(card["size"], fs::metadata(&file).unwrap().len());
}

#[test]
fn the_card_goes_back_to_the_image_of_its_backup_through_the_firmware() {
    let bench = secure(ReadBack::Masked);
    let before = bench.query();
    let file = bench.backup("old.bin");
    let image = bench.image(1);
    let ran = bench.run("update", &["--yes", "--no-backup", "--image", &image]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    bench.lab.reset();
    assert_ne!(stored(&bench.query()), "22.39.1002");

    let ran = bench.run("restore", &[&file, "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for told in [
        "\nOf:       MT_0000000359, 22.39.1002\n",
        "\nNote:     the file is a firmware image alone; GUIDs, MACs and settings stay the card's own\n",
        "  1. save the old firmware image, without the device data, into ",
        "  8. activating the image: 22.39.1002 boots next\n",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {ran:?}");
    }
    let ran = bench.run("restore", &[&file, "--yes", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "restore.json");
    let card = &document["cards"][0];
    assert_eq!(
        (&card["result"], &card["method"], &card["activation"]),
        (&"burned".into(), &"component".into(), &"cold_boot".into())
    );
    bench.lab.reset();
    let after = bench.query();
    assert_eq!(after["firmware"], before["firmware"]);
    assert_eq!(identity(&after), identity(&before));
    assert_left_as_found(&bench);
}

#[test]
fn an_open_card_takes_an_image_alone_too_and_one_without_updates_by_firmware_is_told_the_command() {
    let bench = Bench::new("cx4lx");
    let component = image::component(&fs::read(bench.image(1)).unwrap()).unwrap();
    let file = bench.file("alone.bin");
    fs::write(&file, image::file_of_component(component).unwrap()).unwrap();
    let ran = bench.run("restore", &[&file, "--yes", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["cards"][0]["method"], "component");
    bench.lab.assert_well_behaved();

    let bench = Bench::new("cx3-10g");
    let image = bench.image(1);
    let ran = bench.run("restore", &[&image, "--yes"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.advice().contains(" update -d 0000:01:00.0 --image "),
        "{ran:?}"
    );
}

#[test]
fn an_image_of_another_board_is_not_restored() {
    let theirs = Bench::with(NAME, |card| {
        card.read_back = ReadBack::Masked;
        card.psid = cxfw::identity::Psid::new("MT_0000000099").unwrap();
    });
    let file = theirs.backup("theirs.bin");
    let bench = secure(ReadBack::Masked);
    let flash = bench.flash();
    let args = [&file, "--yes", "--allow-psid-change", "--other-card"];
    let ran = bench.run("restore", &args);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("PSID mismatch"), "{ran:?}");
    assert!(
        ran.stderr
            .ends_with("advice: take a backup of this board\n"),
        "{ran:?}"
    );
    assert!(bench.flash() == flash);
    assert!(bench.automatic().is_empty());
}

#[test]
fn a_burn_saves_the_image_first_and_names_it_where_the_burn_breaks_off() {
    let bench = secure(ReadBack::Whole);
    let image = bench.image(1);
    let burn = ["--yes", "--image", &image, "--format", "json"];
    let ran = bench.run("update", &["--dry-run", "--image", &image]);
    assert!(
        ran.stdout
            .contains("  1. save the old firmware image, without the device data, into "),
        "{ran:?}"
    );
    fault(&bench, &["refuse", "verify", "0x05"]);
    let ran = bench.run("update", &burn);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let [file] = bench.automatic().try_into().unwrap();
    let file = file.to_str().unwrap();
    assert!(file.ends_with("_image.bin"), "{file}");
    let document = ran.json();
    schema::check(&document, "update.json");
    let card = &document["cards"][0];
    assert_eq!(card["backup"], file);
    let way_back = format!("restore -d {DEVICE} {file}`");
    assert!(
        card["advice"].as_str().unwrap().ends_with(&way_back),
        "{card}"
    );
    fault(&bench, &["--clear"]);

    let ran = bench.run("update", &burn);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(bench.automatic().len(), 2);
    assert_left_as_found(&bench);
}
