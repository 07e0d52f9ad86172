//! Backups and the way back, with the whole program on simulated cards of every image format.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program has failed"
)]

mod cli_common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cli_common::{Ran, TestLab, schema};
use cxfw::image::{self, CrcPlace, Extent};
use cxfw::lab::Lab;
use cxfw::lab::build::{ImageSpec, build_image};
use cxfw::lab::chip::Violations;
use cxfw::lab::host::{CardSpec, HostSpec};
use cxfw::version::FwVersion;
use serde_json::Value;

const FLASH: u32 = 0x20_0000;

/// A lab of one card with a small flash.
struct Bench {
    lab: TestLab,
    card: CardSpec,
    device: String,
}

impl Bench {
    fn new(name: &str) -> Self {
        Self::with(name, |_| ())
    }

    fn with(name: &str, change: impl FnOnce(&mut CardSpec)) -> Self {
        let mut host = HostSpec::default_host().unwrap();
        host.cards.retain(|card| card.name == name);
        host.adapters.clear();
        host.offers.truncate(1);
        let card = &mut host.cards[0];
        card.firmware.code_size = 0x2000;
        card.flash.size = FLASH;
        card.flash.slot_log2 = Some(19);
        card.recovery = false;
        change(card);
        let card = card.clone();
        Self {
            lab: TestLab::of(&host),
            device: format!("{}", card.address),
            card,
        }
    }

    /// `command -d DEV args`.
    fn run(&self, command: &str, args: &[&str]) -> Ran {
        self.lab
            .run(&[&[command, "-d", &self.device], args].concat())
    }

    fn query(&self) -> Value {
        let document = self.lab.query();
        assert_eq!(
            document["errors"].as_array().unwrap().len(),
            0,
            "{document}"
        );
        document["cards"][0].clone()
    }

    fn reset(&self) {
        assert_eq!(self.lab.run(&["lab", "reset"]).code, Some(0));
    }

    /// A file beside the lab.
    fn file(&self, name: &str) -> String {
        self.lab.beside(name).to_str().unwrap().to_owned()
    }

    /// Saves the whole flash into a file beside the lab.
    fn backup(&self, name: &str) -> String {
        let file = self.file(name);
        let ran = self.run("backup", &["-o", &file]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        file
    }

    /// An image of this board that is `minor` newer, in a file.
    fn image(&self, minor: u16) -> String {
        let mut spec = self.card.image_spec().unwrap();
        spec.version = FwVersion::new(spec.version.major, spec.version.minor + minor, 0);
        spec.device = ImageSpec::new(spec.model, spec.psid.clone(), spec.version).device;
        let file = self.file(&format!("image-{minor}.bin"));
        fs::write(&file, build_image(&spec).unwrap()).unwrap();
        file
    }

    /// Burns a newer firmware and restarts into it.
    fn update(&self) {
        if self.card.name.starts_with("cx3") {
            burn_directly(&self.lab, &self.card, &fs::read(self.image(1)).unwrap());
        } else {
            let image = self.image(1);
            let ran = self.run("update", &["--yes", "--no-backup", "--image", &image]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
        self.reset();
    }

    fn flash(&self) -> Vec<u8> {
        let lab = Lab::open(&self.lab.path()).unwrap();
        let chip = lab.chip(&self.card.name).unwrap();
        chip.read_flash(0, FLASH).unwrap()
    }

    /// The bytes of the image that boots from a flash.
    fn image_on(&self, flash: &[u8]) -> Vec<u8> {
        let format = self.card.image_spec().unwrap().model.format;
        let layout = image::flash_layout(&flash, format).unwrap();
        image::whole_at(&flash, layout.start).unwrap().bytes
    }

    fn automatic(&self) -> Vec<PathBuf> {
        files(&self.lab.path().join("backups"))
    }

    fn assert_well_behaved(&self) {
        let status = self.lab.run(&["lab", "status", "--format", "json"]).json();
        let counts = status["cards"][0]["violations"].as_object().unwrap();
        assert!(counts.values().all(|count| *count == 0), "{counts:?}");
    }
}

/// As `cxfw update` does not burn a ConnectX-3 through its firmware.
fn burn_directly(lab: &TestLab, card: &CardSpec, image: &[u8]) {
    use cxfw::flash::direct::{BurnOptions, burn};
    use cxfw::flash::lock::{self, CardLock};
    let lab = Lab::open(&lab.path()).unwrap();
    let roots = lab.roots();
    let cards = cxfw::pci::enumerate(&roots).unwrap();
    let mut cards = cxfw::card::survey(&cards, &*lab.config_source(), &roots);
    let found = cards.remove(0);
    let key = lock::key(found.report.serial.as_deref(), &found.report.device);
    let lock = CardLock::take(&roots, &key, std::time::Duration::ZERO).unwrap();
    let options = BurnOptions::under(&lock);
    let cancel = cxfw::flash::Cancel::new();
    let device = found.device.unwrap();
    burn(&device, image, &options, &cancel, &mut |_| ()).unwrap();
    let chip = lab.chip(&card.name).unwrap();
    assert_eq!(chip.violations(), Violations::default());
}

/// What is in a folder, hidden or not; nothing where there is none.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// One card of each image format.
const CARDS: [&str; 3] = ["cx3-10g", "cx4lx", "cx5-recovery"];

/// Who a card is, in the JSON of a query.
fn identity(card: &Value) -> Vec<Value> {
    let fields = [
        "psid",
        "base_mac",
        "base_guid",
        "port_macs",
        "port_guids",
        "original_base_mac",
        "serial",
        "part_number",
    ];
    fields.map(|field| card[field].clone()).to_vec()
}

fn stored(card: &Value) -> String {
    card["firmware"]["stored"].as_str().unwrap().to_owned()
}

/// The advice of a run as text.
fn advice(ran: &Ran) -> &str {
    let at = ran.stderr.find("advice: ");
    ran.stderr[at.unwrap_or_else(|| panic!("no advice: {ran:?}"))..].trim_end()
}

#[test]
fn a_card_goes_back_to_the_firmware_of_its_backup_and_stays_the_same_card() {
    for name in CARDS {
        let bench = Bench::new(name);
        let before = bench.query();
        let file = bench.backup("old.bin");
        assert!(fs::read(&file).unwrap() == bench.flash(), "{name}");
        bench.update();
        assert_ne!(stored(&bench.query()), stored(&before));

        let ran = bench.run("restore", &[&file, "--yes"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("\nDone\n"), "{ran:?}");
        assert!(
            ran.stdout
                .ends_with("\nNeeded to run it: a cold boot (the machine without power)\n"),
            "{ran:?}"
        );
        let old = fs::read(&file).unwrap();
        assert!(
            bench.image_on(&bench.flash()) == bench.image_on(&old),
            "{name}"
        );
        bench.reset();
        let after = bench.query();
        assert_eq!(stored(&after), stored(&before), "{name}");
        assert_eq!(after["firmware"]["running"], before["firmware"]["running"]);
        assert_eq!(identity(&after), identity(&before), "{name}");
        bench.assert_well_behaved();
    }
}

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
fn secure_firmware_keeps_its_flash_to_itself() {
    let lab = TestLab::new();
    let file = lab.beside("x.bin");
    let file = file.to_str().unwrap();
    let ran = lab.run(&["backup", "-d", "41:00.0", "-o", file]);
    assert_eq!(ran.code, Some(4));
    assert_eq!(
        ran.stderr,
        "error: 0000:41:00.0: no backup was made: the card runs secure firmware, which lets no \
         tool at its flash\n\n\
         advice: no tool can copy such a flash: keep the image file of the version it runs; the \
         way back is `cxfw update --image FILE --allow-downgrade`\n"
    );
    assert!(!Path::new(file).exists());

    // its burn goes on: the firmware keeps the old image until it has verified the new one
    let burn = ["update", "-d", "41:00.0", "--yes", "--reinstall"];
    let ran = lab.run(&burn);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.starts_with(
            "warning: 0000:41:00.0: no backup: the card runs secure firmware, which lets no tool \
             at its flash; the card's firmware keeps the old image until the new one is verified\n"
        ),
        "{}",
        ran.stderr
    );
    assert_eq!(lab.run(&["lab", "reset"]).code, Some(0));
    let document = lab.run(&[&burn[..], &["--format", "json"]].concat()).json();
    schema::check(&document, "update.json");
    let card = cli_common::card(&document, "ConnectX6DX");
    assert_eq!(
        (&card["result"], &card["backup"]),
        (&"burned".into(), &Value::Null)
    );
    let reason = card["no_backup"].as_str().unwrap();
    assert!(reason.contains("secure firmware"), "{reason}");
}

#[test]
fn the_backup_of_another_card_needs_consent_and_never_gives_its_addresses_away() {
    for name in CARDS {
        let theirs = Bench::with(name, |card| {
            card.mac = "0002c9aabbcc".parse().unwrap();
            card.guid = "0002c90300aabbcc".parse().unwrap();
            card.firmware.version.minor += 5;
        });
        let file = theirs.backup("theirs.bin");
        let bench = Bench::new(name);
        let before = bench.query();
        let flash = bench.flash();
        let ran = bench.run("restore", &[&file, "--yes"]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        let told = format!(
            "the backup is of the card with MAC 0002c9aabbcc, this is the card with MAC {}",
            bench.card.mac
        );
        assert!(ran.stderr.contains(&told), "{ran:?}");
        assert!(advice(&ran).contains("--other-card"), "{ran:?}");
        assert!(bench.flash() == flash, "{name}");

        let ran = bench.run("restore", &[&file, "--yes", "--other-card"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.contains(
                "Note:     the backup is of the card with MAC 0002c9aabbcc; this card keeps its \
                 own GUIDs and MACs\n"
            ),
            "{ran:?}"
        );
        bench.reset();
        let after = bench.query();
        assert_eq!(identity(&after), identity(&before), "{name}");
        assert_eq!(stored(&after), theirs.card.firmware.version.to_string());
        bench.assert_well_behaved();
    }
}

#[test]
fn the_backup_of_another_board_needs_a_consent_of_its_own() {
    let theirs = Bench::with("cx4lx", |card| {
        card.psid = cxfw::identity::Psid::new("MT_0000000099").unwrap();
    });
    let file = theirs.backup("theirs.bin");
    let bench = Bench::new("cx4lx");
    let ran = bench.run("restore", &[&file, "--yes"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.stderr
            .contains("Device PSID (MT_2420110034) differs from image PSID (MT_0000000099)"),
        "{ran:?}"
    );
    assert!(advice(&ran).contains("--allow-psid-change"), "{ran:?}");
    let dry = ["--dry-run", "--allow-psid-change"];
    let ran = bench.run("restore", &[&[file.as_str()], &dry[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .contains("the PSID changes from MT_2420110034 to MT_0000000099"),
        "{ran:?}"
    );
}

#[test]
fn the_backup_of_another_chip_is_refused_whatever_is_consented() {
    let theirs = Bench::new("cx5-recovery");
    let file = theirs.backup("theirs.bin");
    let bench = Bench::new("cx4lx");
    let consents = ["--yes", "--other-card", "--allow-psid-change"];
    let ran = bench.run("restore", &[&[file.as_str()], &consents[..]].concat());
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.stderr
            .contains("no good image for this chip in the file"),
        "{ran:?}"
    );
}

#[test]
fn a_blank_card_becomes_the_card_of_its_backup_again() {
    for name in CARDS {
        let bench = Bench::new(name);
        let before = bench.query();
        let file = bench.backup("old.bin");
        let lab = Lab::open(&bench.lab.path()).unwrap();
        let chip = lab.chip(name).unwrap();
        chip.write_flash(0, &vec![0xff; FLASH as usize]).unwrap();
        drop(lab);
        bench.reset();
        let ran = bench.run("restore", &[&file, "--yes"]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(
            ran.stderr
                .contains("this is a card that does not say who it is"),
            "{ran:?}"
        );
        let ran = bench.run("restore", &[&file, "--yes", "--other-card", "--no-backup"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.contains(
                "Note:     the card's own GUIDs and MACs cannot be read; it takes those of the \
                 backup\n"
            ),
            "{ran:?}"
        );
        bench.reset();
        let after = bench.query();
        assert_eq!(after["recovery"], false, "{name}");
        assert_eq!(identity(&after), identity(&before), "{name}");
        bench.assert_well_behaved();
    }
}

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
            assert!(!advice(&ran).is_empty());
        }
        assert!(bench.flash() == flash, "{name}");
        bench.assert_well_behaved();
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
    let told = advice(&ran);
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

/// The `n`-th text between backquotes.
fn quoted(text: &str, n: usize) -> String {
    text.split('`').nth(2 * n + 1).unwrap().to_owned()
}

/// Runs a command as a user types it.
fn shell(bench: &Bench, command: &str, more: &str) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_cxfw")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("{command} {more}")])
        .env("PATH", path)
        .current_dir(bench.lab.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_restore_asks_first_and_a_dry_run_writes_nothing() {
    let bench = Bench::new("cx4lx");
    let file = bench.backup("old.bin");
    bench.update();
    let flash = bench.flash();
    let ran = bench.run("restore", &[&file]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("there is no terminal to ask on"),
        "{ran:?}"
    );
    let ran = bench.run("restore", &[&file, "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let backups = bench.lab.path().join("backups");
    let step = format!(
        "\ndry run\n  1. save the old firmware and the device data into {}, in a file named by PSID, \
         version, MAC and date\n  2. ",
        backups.display()
    );
    assert!(ran.stdout.contains(&step), "{ran:?}");
    let ran = bench.run("restore", &[&file, "--dry-run", "--format", "json"]);
    let document = ran.json();
    schema::check(&document, "restore.json");
    let card = &document["cards"][0];
    assert_eq!(
        (&card["result"], &card["to"]),
        (&"skipped".into(), &"14.25.1020".into())
    );
    assert_eq!(card["backup_of"]["psid"], "MT_2420110034");
    assert!(bench.flash() == flash);
    assert!(bench.automatic().is_empty());
}

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
    bench.reset();

    let document = bench.run("update", &burn).json();
    schema::check(&document, "update.json");
    let card = &document["cards"][0];
    assert_eq!(card["result"], "burned");
    let [file] = bench.automatic().try_into().unwrap();
    assert_eq!(card["backup"], file.to_str().unwrap());
    assert_eq!(fs::metadata(&file).unwrap().len(), u64::from(FLASH));
    bench.reset();

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
    bench.assert_well_behaved();
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
    bench.reset();
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
        advice(&ran),
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

/// A file system that is too small for a flash; `None` where none can be mounted.
struct Small(PathBuf);

impl Small {
    fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
            .arg(&at)
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Self(at)),
            _ => {
                println!("skipped: no file system can be mounted here");
                None
            }
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // a test that has failed already says more than this
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_seen_before_anything_is_read_or_written() {
    let bench = Bench::new("cx4lx");
    let Some(disk) = Small::mount(bench.lab.beside("small")) else {
        return;
    };
    let folder = disk.0.to_str().unwrap();
    let ran = bench.run("backup", &["-o", folder]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains(&format!("{folder}: the backup needs 2097152 bytes, ")),
        "{ran:?}"
    );
    let image = bench.image(1);
    let flash = bench.flash();
    let ran = bench.run("update", &["--yes", "--backup", folder, "--image", &image]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.stderr.contains("the backup needs 2097152 bytes"),
        "{ran:?}"
    );
    assert!(advice(&ran).contains("--no-backup"), "{ran:?}");
    assert!(files(&disk.0).is_empty());
    assert!(bench.flash() == flash);
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
    bench.assert_well_behaved();
}

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
        bench.reset();
        assert_eq!(stored(&bench.query()), stored(&before));
        let newest = bench.automatic().pop().unwrap();
        let told = match form {
            "json" => ran.json()["cards"][0]["advice"]
                .as_str()
                .unwrap()
                .to_owned(),
            _ => advice(&ran).to_owned(),
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
        bench.reset();
        let after = bench.query();
        assert_eq!(stored(&after), stored(&before));
        assert_eq!(identity(&after), identity(&before));
    }
    bench.assert_well_behaved();
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
    assert!(fs::read(&file).unwrap() == bench.flash());
    let ran = bench.run("restore", &[&file, "--yes", "--no-backup"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let told = "there was none on the flash it was copied from";
    assert!(ran.stderr.contains(told), "{ran:?}");
    assert!(
        advice(&ran).contains("`cxfw update -d 0000:81:00.0 --image FILE`"),
        "{ran:?}"
    );
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
                advice(&ran).contains("--no-backup burns all the same"),
                "{ran:?}"
            );
        }
    }
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
