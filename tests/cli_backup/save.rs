//! `cxfw backup`: what it copies, what it says of the copy, and what it refuses to touch.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli_common::{TestLab, schema};
use crate::{Bench, files};

#[test]
fn a_backup_says_what_it_is_and_how_it_is_put_back() {
    let bench = Bench::new("cx4lx");
    let folder = bench.file("copies/");
    fs::create_dir(&folder).unwrap();
    let ran = bench.run("backup", &["-o", &folder]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let [file] = files(Path::new(&folder)).try_into().unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("MT_2420110034_14.25.1020_0c42a1000000_20"),
        "{name}"
    );
    let digest = sha256(&file);
    let lab = bench.lab.path();
    let (file, lab) = (file.display(), lab.display());
    assert_eq!(
        ran.stdout,
        format!(
            "Device:   0000:03:00.0\n\
             File:     {file}\n\
             Size:     2097152 bytes\n\
             SHA-256:  {digest}\n\
             Of:       MT_2420110034, 14.25.1020, MAC 0c42a1000000, GUID 0c42a10300000000\n\
             Sound:    yes: every checksum of the image and of the device data in it is right\n\
             Restore:  cxfw --lab={lab} restore -d 0000:03:00.0 {file}\n"
        )
    );
    assert_eq!(ran.stderr, "Reading flash -   OK          \n");
    let ran = bench.run("backup", &["-o", &bench.file("x.bin"), "--format", "json"]);
    let document = ran.json();
    schema::check(&document, "backup.json");
    let card = &document["cards"][0];
    assert_eq!(card["sha256"], digest);
    assert_eq!(card["size"], 0x20_0000);
    assert_eq!(card["sound"], true);
    assert_eq!(card["firmware"], "14.25.1020");
    let restore = card["restore"].as_str().unwrap();
    assert!(restore.ends_with("/x.bin"), "{restore}");
}

fn sha256(file: &Path) -> String {
    let output = Command::new("sha256sum").arg(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split(' ').next().unwrap().to_owned()
}

#[test]
fn a_backup_never_replaces_a_file_and_is_of_one_card() {
    let bench = Bench::new("cx3-10g");
    let file = bench.file("mine.bin");
    fs::write(&file, "precious").unwrap();
    let ran = bench.run("backup", &["-o", &file]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.stderr,
        format!(
            "error: 0000:01:00.0: no backup was made: {file} is there already\n\n\
             advice: name another file\n"
        )
    );
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    let json = bench.run("backup", &["-o", &file, "--format", "json"]);
    assert_eq!(json.code, Some(1));
    let document = json.json();
    schema::check(&document, "backup.json");
    assert_eq!(document["errors"][0]["code"], "backup_exists");

    let lab = TestLab::new();
    let ran = lab.run(&["backup", "-o", &bench.file("other.bin")]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(
        ran.stderr,
        "error: `backup` works on one card, which has to be named\n\n\
         advice: name it with -d DEV\n"
    );
}

#[test]
fn a_named_folder_that_is_not_there_is_made() {
    let bench = Bench::new("cx4lx");
    let folder = bench.file("new/folder/");
    let ran = bench.run("backup", &["-o", &folder]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(files(Path::new(&folder)).len(), 1);
    let ran = bench.run("backup", &["-o", "/proc/no/such/"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("cannot make /proc/no/such/"), "{ran:?}");
}

#[test]
fn ctrl_c_during_a_backup_leaves_no_file() {
    let bench = Bench::with("cx4lx", |card| card.cycle_delay_ns = 2000);
    let folder = bench.file("copies/");
    fs::create_dir(&folder).unwrap();
    let mut child = bench
        .lab
        .command(&[
            "backup",
            "-d",
            &bench.device,
            "-o",
            &folder,
            "--progress",
            "json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("\"read\""), "{line}");
    assert_eq!(
        files(Path::new(&folder)).len(),
        1,
        "under a name of its own"
    );
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest = std::io::read_to_string(stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("no backup was made: Interrupted"), "{rest}");
    assert!(files(Path::new(&folder)).is_empty());
    bench.lab.assert_well_behaved();
}

#[test]
fn a_card_in_recovery_is_saved_as_it_is_and_the_copy_is_called_not_sound() {
    let bench = Bench::with("cx5-recovery", |card| card.recovery = true);
    let file = bench.file("as-it-is.bin");
    let ran = bench.run("backup", &["-o", &file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains(
            "\nSound:    no: it is the flash as it is, but no image in it checks out as a whole\n"
        ),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("Restore:"), "{ran:?}");
    assert!(fs::read(&file).unwrap() == bench.flash());
    let ran = bench.run("restore", &[&file, "--yes", "--no-backup"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let told = "there was none on the flash it was copied from";
    assert!(ran.stderr.contains(told), "{ran:?}");
    assert!(
        ran.advice()
            .contains("`cxfw update -d 0000:81:00.0 --image FILE`"),
        "{ran:?}"
    );
}
