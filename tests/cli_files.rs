//! Firmware files given to the program: wrong boards, damaged files, lists, checks, extraction.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make its files has failed"
)]

mod cli_common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cli_common::{Ran, TestLab, card, run, schema};

const LX: &str = "ConnectX4LX";
const BOARD: &str = "MT_2420110034";

/// Takes an image out of the lab's bundle.
fn extracted(lab: &TestLab, psid: &str, name: &str) -> PathBuf {
    let output = lab.beside(name);
    let bundle = lab.bundle();
    let args = [
        "extract",
        bundle.to_str().unwrap(),
        "--psid",
        psid,
        "-o",
        output.to_str().unwrap(),
    ];
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    output
}

fn update_with(lab: &TestLab, option: &str, path: &Path, more: &[&str]) -> Ran {
    let mut args = vec!["update", "--yes", option, path.to_str().unwrap()];
    args.extend(more);
    lab.run(&args)
}

#[test]
fn images_for_other_boards_are_refused_and_nothing_is_written() {
    let lab = TestLab::new();
    let other = extracted(&lab, "MT_0000000359", "other.bin");
    let before = lab.flashes();
    let ran = update_with(&lab, "--image", &other, &["-d", "mlx5_0"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.stderr.contains("other.bin is for any of these cards"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("images are for MT_0000000359, cards are MT_2420110034"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
    let ran = update_with(
        &lab,
        "--image",
        &other,
        &["-d", "mlx5_0", "--allow-psid-change"],
    );
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.stderr
            .contains("22.39.1002, but firmware of a ConnectX-4 Lx starts with 14."),
        "{}",
        ran.stderr
    );
    assert!(lab.flashes() == before);
}

#[test]
fn one_image_updates_its_card_and_leaves_the_others_alone() {
    let lab = TestLab::new();
    let image = extracted(&lab, BOARD, "fw.bin");
    let ran = update_with(&lab, "--image", &image, &["--format", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "update.json");
    assert_eq!(card(&document, LX)["result"], "burned");
    assert_eq!(document["summary"]["burned"], 1);
    assert_eq!(card(&document, "ConnectX4")["status"], "no_image");
}

#[test]
fn damaged_and_missing_files_are_named_and_nothing_is_written() {
    let lab = TestLab::new();
    let good = fs::read(lab.bundle()).unwrap();
    let before = lab.flashes();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 0x10;
    let cases: [(&str, Option<&[u8]>); 4] = [
        ("flipped.mfa", Some(&flipped)),
        ("truncated.mfa", Some(&good[..good.len() / 3])),
        ("empty.mfa", Some(&[])),
        ("missing.mfa", None),
    ];
    for (name, contents) in cases {
        let path = lab.beside(name);
        if let Some(contents) = contents {
            fs::write(&path, contents).unwrap();
        }
        let ran = update_with(&lab, "--image", &path, &[]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
        let ran = update_with(&lab, "--image", &path, &["--format", "json"]);
        assert_eq!(ran.code, Some(1));
        schema::check(&ran.json(), "update.json");
        assert!(
            ran.json()["errors"][0]["message"]
                .as_str()
                .unwrap()
                .contains(name)
        );
    }
    assert!(lab.flashes() == before);
}

#[test]
fn a_folder_is_no_image_and_an_image_is_no_folder() {
    let lab = TestLab::new();
    let before = lab.flashes();
    let folder = lab.path().join("firmware");
    let ran = update_with(&lab, "--image", &folder, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("firmware: is a directory"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("advice: use --image-dir"),
        "{}",
        ran.stderr
    );
    let ran = update_with(&lab, "--image-dir", &lab.bundle(), &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("is not a directory"), "{}", ran.stderr);
    assert!(lab.flashes() == before);
}

#[test]
fn a_single_flipped_byte_of_a_bare_image_is_found_wherever_it_is() {
    let lab = TestLab::new();
    let image = extracted(&lab, BOARD, "fw.bin");
    let good = fs::read(&image).unwrap();
    let before = lab.flashes();
    for part in 1..8 {
        let mut bad = good.clone();
        let offset = good.len() * part / 8;
        bad[offset] ^= 1;
        let path = lab.beside("bad.bin");
        fs::write(&path, bad).unwrap();
        let ran = update_with(&lab, "--image", &path, &["-d", "mlx5_0"]);
        assert_eq!(ran.code, Some(1), "{offset:#x}: {ran:?}");
        assert!(ran.stderr.contains("bad.bin"), "{}", ran.stderr);
    }
    assert!(lab.flashes() == before);
}

#[test]
fn a_damaged_file_in_a_folder_stops_the_update_and_other_files_do_not() {
    let lab = TestLab::new();
    let folder = lab.beside("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("README.txt"), "not firmware").unwrap();
    fs::copy(lab.bundle(), folder.join("good.mfa")).unwrap();
    let ran = lab.run(&[
        "query",
        "-d",
        "mlx5_0",
        "--image-dir",
        folder.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("Status:           Update required"),
        "{}",
        ran.stdout
    );

    let mut bad = fs::read(lab.bundle()).unwrap();
    bad.pop();
    fs::write(folder.join("bad.mfa"), bad).unwrap();
    let ran = update_with(&lab, "--image-dir", &folder, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("bad.mfa"), "{}", ran.stderr);
}

#[test]
fn an_older_image_is_burned_only_by_consent() {
    let lab = TestLab::new();
    // The image the card comes with is the older one once the card is updated.
    let old = lab.beside("old.bin");
    fs::write(&old, cli_common::old_lx_image(BOARD)).unwrap();
    assert_eq!(lab.run(&["update", "--yes", "-d", "mlx5_0"]).code, Some(0));
    lab.reset();

    let before = lab.flashes();
    let ran = update_with(&lab, "--image", &old, &["-d", "mlx5_0"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("--allow-downgrade"), "{}", ran.stderr);
    assert!(lab.flashes() == before);

    let args = ["-d", "mlx5_0", "--allow-downgrade", "--format", "json"];
    let ran = update_with(&lab, "--image", &old, &args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(card(&ran.json(), LX)["result"], "burned");
    assert_eq!(card(&ran.json(), LX)["activation"], "cold_boot");
}

#[test]
fn a_newer_image_takes_the_place_of_a_staged_one() {
    let lab = TestLab::new();
    let old = lab.beside("old.bin");
    fs::write(&old, cli_common::old_lx_image(BOARD)).unwrap();
    let args = ["-d", "mlx5_0", "--allow-downgrade"];
    assert_eq!(update_with(&lab, "--image", &old, &args).code, Some(0));
    let staged = lab.card(LX);
    assert_eq!(staged["firmware"]["stored"], "14.20.1030");
    assert_eq!(staged["firmware"]["running"], "14.25.1020");

    let ran = lab.run(&["update", "--yes", "-d", "mlx5_0"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(lab.card(LX)["firmware"]["stored"], "14.32.1010");
    lab.reset();
    assert_eq!(lab.card(LX)["firmware"]["running"], "14.32.1010");
}

#[test]
fn an_update_goes_on_when_nobody_reads_about_it() {
    let lab = TestLab::new();
    let mut update = lab
        .command(&["update", "--yes", "-d", "mlx5_0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(update.stdout.take());
    assert_eq!(update.wait().unwrap().code(), Some(0));
    assert_eq!(lab.card(LX)["firmware"]["stored"], "14.32.1010");
}

#[test]
fn the_same_version_is_burned_again_only_by_consent() {
    let lab = TestLab::new();
    let image = extracted(&lab, "MT_0000000359", "dx.bin");
    let ran = update_with(&lab, "--image", &image, &["-d", "mlx5_3"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.ends_with("Summary: 1 already current\n"),
        "{}",
        ran.stdout
    );
    let ran = update_with(&lab, "--image", &image, &["-d", "mlx5_3", "--reinstall"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .contains("Status:           Forced update required\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.ends_with("Summary: 1 burned\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_bundle_is_listed_checked_and_taken_apart() {
    let lab = TestLab::new();
    let bundle = lab.bundle();
    let bundle = bundle.to_str().unwrap();
    let listed = run(&["list", bundle]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(
        listed
            .stdout
            .starts_with("PN                        PSID               Version"),
        "{}",
        listed.stdout
    );
    assert!(
        listed.stdout.contains(
            "\nMCX4121A-ACA_Ax           MT_2420110034      FW 14.32.1010                "
        ),
        "{}",
        listed.stdout
    );
    let listed = run(&["list", bundle, "--format", "json"]).json();
    assert_eq!(listed["schema"], "cxfw.list/1");
    let entries = listed["files"][0]["entries"].as_array().unwrap();
    let lx = entries.iter().find(|entry| entry["psid"] == BOARD).unwrap();
    assert_eq!(lx["part_number"], "MCX4121A-ACA_Ax");
    assert_eq!(lx["versions"][0]["version"], "14.32.1010");

    let checked = run(&["verify", bundle]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(
        checked.stdout.contains("FW image verification succeeded"),
        "{}",
        checked.stdout
    );
    let checked = run(&["verify", bundle, "--format", "json"]).json();
    assert_eq!(checked["files"][0]["ok"], true);
    assert!(
        !checked["files"][0]["images"][0]["sections"]
            .as_array()
            .unwrap()
            .is_empty()
    );

    let image = extracted(&lab, "mt_2420110034", "fw.bin");
    let listed = run(&["list", image.to_str().unwrap(), "--format", "json"]).json();
    assert_eq!(listed["files"][0]["entries"][0]["psid"], BOARD);
    let again = run(&[
        "extract",
        bundle,
        "--psid",
        BOARD,
        "-o",
        image.to_str().unwrap(),
    ]);
    assert_eq!(again.code, Some(1), "an existing file was overwritten");
    let unknown = run(&["extract", bundle, "--psid", "MT_0000000000"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains(BOARD), "{}", unknown.stderr);
}

#[test]
fn verify_shows_the_broken_section() {
    let lab = TestLab::new();
    let image = extracted(&lab, BOARD, "fw.bin");
    let mut bytes = fs::read(&image).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&image, bytes).unwrap();
    let ran = run(&["verify", image.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("wrong CRC"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("-E- FW image verification failed"),
        "{}",
        ran.stdout
    );
}

#[test]
fn verify_shows_the_lines_of_an_image_that_no_query_would_take() {
    let lab = TestLab::new();
    let image = extracted(&lab, BOARD, "fw.bin");
    let mut bytes = fs::read(&image).unwrap();
    // A byte of the image info section, which every query reads.
    let psid = bytes
        .windows(BOARD.len())
        .position(|at| at == BOARD.as_bytes());
    bytes[psid.unwrap()] ^= 1;
    fs::write(&image, bytes).unwrap();
    let ran = run(&["verify", image.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.contains("wrong CRC in IMAGE_INFO"),
        "{}",
        ran.stdout
    );
}
