//! `list`, `verify` and `extract` on what users have: packages, archives, folders, pipes.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make its files has failed"
)]

mod cli_common;
mod made;

use std::collections::BTreeMap;
use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cli_common::{Ran, old_lx_image, run, run_in, run_with_input, schema};
use cxfw::image;
use made::{Mfa2, within, zip};
use rustix::fs::inotify;

const BOARD: &str = "MT_2420110034";

/// A package whose descriptor exchanges minor and sub-minor of 14.20.1030 and cuts both.
fn package(board: &'static str) -> Vec<u8> {
    let package = Mfa2 {
        board,
        stored: [14, 0x06, 0, 20],
        image: image::component(&old_lx_image(BOARD)).unwrap(),
    };
    package.bytes()
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The JSON of a run, which follows its schema.
fn document(ran: &Ran, name: &str) -> serde_json::Value {
    let document = ran.json();
    schema::check(&document, name);
    document
}

#[test]
fn a_version_that_a_package_may_have_cut_is_marked_and_read_from_the_image_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let file = put(folder.path(), "fw.mfa2", &package(BOARD));
    let listed = run(&["list", &file]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stdout.contains("FW 14.6.0020 (?)"), "{listed:?}");
    assert!(
        listed.stdout.contains("list --deep reads them"),
        "{listed:?}"
    );
    let listed = document(&run(&["list", &file, "--format", "json"]), "list.json");
    let version = &listed["files"][0]["entries"][0]["versions"][0];
    assert_eq!(version["trusted"], false, "{listed}");

    let deep = run(&["list", "--deep", &file]);
    assert_eq!(deep.code, Some(0), "{deep:?}");
    assert!(deep.stdout.contains("FW 14.20.1030 "), "{deep:?}");
    assert!(!deep.stdout.contains("(?)"), "{deep:?}");
    let deep = document(
        &run(&["list", "--deep", &file, "--format", "json"]),
        "list.json",
    );
    let version = &deep["files"][0]["entries"][0]["versions"][0];
    assert_eq!(version["version"], "14.20.1030");
    assert_eq!(version["trusted"], true);
}

#[test]
fn a_pipe_serves_as_a_file() {
    let bytes = package(BOARD);
    let listed = run_with_input(&["list", "-"], &bytes);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stdout.contains(BOARD), "{listed:?}");
    let checked = run_with_input(&["verify", "-", "--format", "json"], &bytes);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let checked = document(&checked, "verify.json");
    assert_eq!(checked["files"][0]["file"], "standard input");
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("fw.bin");
    let output = output.to_str().unwrap();
    let args = ["extract", "-", "--psid", BOARD, "-o", output];
    let extracted = run_with_input(&args, &bytes);
    assert_eq!(extracted.code, Some(0), "{extracted:?}");
    let sent = image::component(&old_lx_image(BOARD)).unwrap();
    assert!(fs::read(output).unwrap() == sent);

    let empty = run_with_input(&["list", "-"], b"");
    assert_eq!(empty.code, Some(1), "{empty:?}");
    assert!(
        empty.stderr.contains("standard input: the file is empty"),
        "{empty:?}"
    );
}

#[test]
fn a_damaged_image_from_a_pipe_shows_the_lines_a_file_shows() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = old_lx_image(BOARD);
    // A byte of the image info section, which every query reads.
    let psid = bytes
        .windows(BOARD.len())
        .position(|at| at == BOARD.as_bytes());
    bytes[psid.unwrap()] ^= 1;
    let file = put(folder.path(), "fw.bin", &bytes);
    let of_file = run(&["verify", &file]);
    let piped = run_with_input(&["verify", "-"], &bytes);
    assert_eq!((of_file.code, piped.code), (Some(1), Some(1)), "{piped:?}");
    let lines = of_file.stdout.replace(&file, "standard input");
    assert_eq!(piped.stdout, lines);
    assert!(
        piped.stdout.contains("wrong CRC in IMAGE_INFO"),
        "{piped:?}"
    );
    let piped = run_with_input(&["verify", "-", "--format", "json"], &bytes);
    assert_eq!(
        document(&piped, "verify.json")["files"][0]["file"],
        "standard input"
    );
}

#[test]
fn a_damaged_file_in_a_folder_is_named_and_the_others_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.bin", &old_lx_image(BOARD));
    put(folder.path(), "b.mfa", b"MFAR but not an archive at all");
    let mut cut = package(BOARD);
    cut.truncate(cut.len() / 2);
    put(folder.path(), "c.mfa2", &cut);
    put(folder.path(), "d.mfa2", &package(BOARD));
    put(folder.path(), "notes.txt", b"of the last release");
    let path = folder.path().to_str().unwrap();
    let ran = run(&["list", path]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let listed = |name: &str| ran.stdout.contains(&format!("{name}:\n"));
    assert!(listed("a.bin") && listed("d.mfa2"), "{ran:?}");
    assert!(
        ran.stderr.contains("b.mfa: ") && ran.stderr.contains("c.mfa2: "),
        "{ran:?}"
    );
    assert_eq!(ran.stderr.matches("error: ").count(), 2, "{ran:?}");

    let ran = run(&["list", path, "--format", "json"]);
    let listed = document(&ran, "list.json");
    assert_eq!(listed["errors"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(
        listed["files"][0]["entries"].as_array().unwrap().len(),
        2,
        "{listed}"
    );
}

#[test]
fn verify_shows_every_image_of_every_file_and_fails_if_any_of_them_does() {
    let folder = tempfile::tempdir().unwrap();
    let good = put(folder.path(), "good.mfa2", &package(BOARD));
    let misfiled = put(folder.path(), "misfiled.mfa2", &package("MT_2420110004"));
    let mut bytes = old_lx_image(BOARD);
    let last = bytes.len() - 0x1_0000;
    bytes[last / 2] ^= 1;
    let two = zip(&[("a.bin", &old_lx_image(BOARD)), ("b.bin", &bytes)]);
    let two = put(folder.path(), "two.zip", &two);

    let ran = run(&["verify", &good]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains(&format!("{good} ({BOARD}):")),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("(BOOT2) - OK"), "{ran:?}");

    let ran = run(&["verify", &misfiled, &two, &good]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let wrong = "the image is for MT_2420110034";
    assert!(ran.stderr.contains("MT_2420110004"), "{ran:?}");
    assert!(
        ran.stderr.contains(wrong) || ran.stderr.contains(BOARD),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains(&format!("{two} (a.bin, {BOARD}):")),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("wrong CRC"), "{ran:?}");
    assert!(
        ran.stdout.contains(&format!("{good} ({BOARD}):")),
        "{ran:?}"
    );

    let ran = run(&["verify", &misfiled, &good, "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let checked = document(&ran, "verify.json");
    assert_eq!(checked["files"][0]["ok"], false);
    assert_eq!(checked["errors"][0]["code"], "wrong_board");
    assert_eq!(checked["files"][1]["ok"], true);
}

#[test]
fn an_extracted_image_gets_a_name_of_its_own_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = put(folder.path(), "fw.mfa2", &package(BOARD));
    let args = ["extract", &file, "--psid", "mt_2420110034"];
    let ran = run_in(folder.path(), &args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let name = ran.stdout.trim().to_owned();
    assert!(name.starts_with("fw-ConnectX4LX-rel-14.20.1030-"), "{name}");
    assert!(
        Path::new(&name).extension().is_some_and(|e| e == "bin"),
        "{name}"
    );
    let written = folder.path().join(&name);
    assert!(written.is_file());

    let again = run_in(folder.path(), &args);
    assert_eq!(again.code, Some(1), "{again:?}");
    fs::remove_file(&written).unwrap();
    let elsewhere = folder.path().join("elsewhere");
    symlink(&elsewhere, &written).unwrap();
    let linked = run_in(folder.path(), &args);
    assert_eq!(linked.code, Some(1), "{linked:?}");
    assert!(!elsewhere.exists(), "a link was followed");

    let json = run_in(
        folder.path(),
        &[
            "extract", &file, "--psid", BOARD, "-o", "x.bin", "--format", "json",
        ],
    );
    assert_eq!(json.json()["files"][0]["file"], "x.bin", "{json:?}");
}

#[test]
fn images_that_are_all_meant_are_named_and_one_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let image = old_lx_image(BOARD);
    let file = put(
        folder.path(),
        "two.zip",
        &zip(&[("a.bin", &image), ("b/c.bin", &image)]),
    );
    let ran = run(&["extract", &file, "--psid", BOARD, "-o", "-"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("a.bin 14.20.1030, b/c.bin 14.20.1030"),
        "{ran:?}"
    );
    let output = folder.path().join("fw.bin");
    let output = output.to_str().unwrap();
    let args = [
        "extract", &file, "--psid", BOARD, "--member", "b/c.bin", "-o", output,
    ];
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(fs::read(output).unwrap() == image);
}

/// How often each file of a folder is opened while `job` runs.
fn opens_during(folder: &Path, job: impl FnOnce()) -> BTreeMap<PathBuf, usize> {
    let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
    let watch = inotify::init(flags).unwrap();
    inotify::add_watch(&watch, folder, inotify::WatchFlags::OPEN).unwrap();
    job();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut buffer);
    let mut opens = BTreeMap::new();
    while let Ok(event) = events.next() {
        if let Some(name) = event.file_name() {
            let name = name.to_str().unwrap();
            *opens.entry(folder.join(name)).or_default() += 1;
        }
    }
    opens
}

#[test]
fn a_folder_of_two_hundred_images_is_read_once_and_quickly() {
    let folder = tempfile::tempdir().unwrap();
    let image = old_lx_image(BOARD);
    for number in 0..200 {
        put(folder.path(), &format!("{number:03}.bin"), &image);
    }
    let path = folder.path().to_str().unwrap();
    let mut took = Duration::MAX;
    let opens = opens_during(folder.path(), || {
        let start = Instant::now();
        let listed = run(&["list", path, "--format", "json"]);
        took = start.elapsed();
        let listed = document(&listed, "list.json");
        let entries = listed["files"][0]["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 200);
        assert!(entries.iter().all(|entry| entry["psid"] == BOARD));
    });
    assert_eq!(opens.len(), 200);
    assert!(opens.values().all(|&count| count == 1), "{opens:?}");
    // The promise is for a release build; unoptimized ones on a busy machine get more.
    let most = if cfg!(debug_assertions) { 20 } else { 1 };
    assert!(took < Duration::from_secs(most), "{took:?}");
}

#[test]
fn a_bomb_ends_in_its_error_within_a_second() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bundle");
    for (name, command, code) in [
        ("xz_bomb_map.mfa", "list", "limit_exceeded"),
        ("bomb.mfa2", "verify", "limit_exceeded"),
        ("size_lies.zip", "list", "zip_corrupt"),
    ] {
        let file = fixtures.join(name);
        let soon = within(Duration::from_secs(1), || {
            let ran = run(&[command, file.to_str().unwrap(), "--format", "json"]);
            assert_eq!(ran.code, Some(1), "{ran:?}");
            assert_eq!(ran.json()["errors"][0]["code"], code, "{ran:?}");
        });
        assert!(soon, "{name}");
    }
}
