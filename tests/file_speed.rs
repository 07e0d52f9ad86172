//! What list, verify and extract may take, in time and memory, as runs of the whole program.
//!
//! The promises are for a release build (`cargo test --release --test file_speed`); a debug build
//! is given twenty times as long. Published packages are taken from the shared vectors, where
//! there are any.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make its files or run the program has failed"
)]

mod pace;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cxfw::identity::Psid;
use cxfw::lab::build::{ImageSpec, build_image};
use cxfw::model;
use pace::{allowed, shortest};
use serde_json::Value;

/// A job is run this often.
const RUNS: usize = 7;
const MIB: u64 = 1 << 20;

fn cxfw(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cxfw"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// The most memory the program had resident at once, in bytes. Its standard output is a pipe that
/// is full, so that it is still there, with all work done, when its writing is waited for.
fn peak_memory(arguments: &[&str]) -> u64 {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b' '; 1 << 16]).unwrap();
    let mut child = cxfw(arguments).stdout(writer).spawn().unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let (mut peak, mut since) = (0, Instant::now());
    while since.elapsed() < Duration::from_millis(500) {
        let now = high_water(&fs::read_to_string(&status).unwrap()).unwrap_or(peak);
        if now > peak {
            (peak, since) = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut output = Vec::new();
    reader.read_to_end(&mut output).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(output.len() > 1 << 16, "the program wrote something");
    peak
}

/// `VmHWM` of a status file, in bytes.
fn high_water(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

/// The published packages with the PSIDs of their devices.
fn published() -> Vec<(String, Vec<String>)> {
    let root = std::env::var_os("CXFW_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors"),
        PathBuf::from,
    );
    let Ok(expected) = fs::read(root.join("real/expected.json")) else {
        println!("skipped: no published packages");
        return Vec::new();
    };
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let packages = expected.as_object().unwrap().iter();
    let psid = |device: &Value| device["psid"].as_str().unwrap().to_owned();
    packages
        .map(|(name, package)| {
            let path = root.join("real").join(name).to_str().unwrap().to_owned();
            let devices = package["devices"].as_array().unwrap();
            (path, devices.iter().map(psid).collect())
        })
        .collect()
}

#[test]
fn a_published_package_is_listed_in_ten_milliseconds_and_sixteen_mebibytes() {
    for (path, psids) in published() {
        let took = shortest(RUNS, || {
            let output = cxfw(&["list", &path]).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(
                psids.iter().all(|psid| text.contains(psid.as_str())),
                "{text}"
            );
        });
        let peak = peak_memory(&["list", &path]);
        println!("list of {path}: {took:?}, {} KiB", peak / 1024);
        assert!(took < allowed(Duration::from_millis(10)), "{took:?}");
        // The program itself is larger where it is not optimized.
        let most = if cfg!(debug_assertions) { 24 } else { 16 };
        assert!(peak < most * MIB, "{peak}");
    }
}

/// The streams of these packages declare a dictionary of 64 MiB and use it, so that much and
/// little else is needed.
#[test]
fn the_last_image_of_a_published_package_takes_little_more_than_the_dictionary() {
    for (path, psids) in published() {
        let psid = psids.last().unwrap();
        let took = shortest(RUNS, || {
            let command = ["extract", &path, "--psid", psid, "--output", "-"];
            let output = cxfw(&command).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        });
        let peak = peak_memory(&["extract", &path, "--psid", psid, "--output", "-"]);
        println!("extract from {path}: {took:?}, {} KiB", peak / 1024);
        assert!(took < allowed(Duration::from_millis(800)), "{took:?}");
        let most = if cfg!(debug_assertions) { 88 } else { 80 };
        assert!(peak < most * MIB, "{peak}");
    }
}

#[test]
fn verify_agrees_with_mstflint_in_a_fifth_of_its_time() {
    if Command::new("mstflint").arg("-v").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "no mstflint");
        println!("skipped: no mstflint");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let connectx5 = model::by_pci_id(0x1017).unwrap();
    let board = Psid::new("MT_0000000008").unwrap();
    let mut spec = ImageSpec::new(connectx5, board, "16.35.4030".parse().unwrap());
    spec.slot_log2 = 24;
    spec.code_size = 14 << 20;
    let good = build_image(&spec).unwrap();
    let mut damaged = good.clone();
    damaged[good.len() / 2] ^= 1;
    for (name, bytes, passes) in [("good.bin", good, true), ("damaged.bin", damaged, false)] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let path = path.to_str().unwrap();
        let mut ours = cxfw(&["verify", path]);
        let mut theirs = Command::new("mstflint");
        theirs.args(["-i", path, "verify"]);
        assert_eq!(ours.output().unwrap().status.success(), passes);
        assert_eq!(theirs.output().unwrap().status.success(), passes);
        // Taken in turn, so that both find the machine equally busy.
        let mut times = [Duration::MAX; 2];
        for _ in 0..RUNS {
            for (command, least) in [&mut ours, &mut theirs].into_iter().zip(&mut times) {
                let start = Instant::now();
                command.output().unwrap();
                *least = start.elapsed().min(*least);
            }
        }
        let [ours, theirs] = times;
        println!("verify of 16 MiB, {name}: {ours:?}, mstflint {theirs:?}");
        assert!(
            cfg!(debug_assertions) || ours * 5 <= theirs,
            "{ours:?}, {theirs:?}"
        );
    }
}
