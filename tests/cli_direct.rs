//! Burns past the firmware's update interface: ConnectX-3, `--method direct`, cards in recovery and
//! changes of the board, by the whole program.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program has failed"
)]

mod cli_common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Stdio;

use cli_common::{Ran, TestLab, schema};
use cxfw::identity::Psid;
use cxfw::lab::Lab;
use cxfw::lab::build::build_image;
use cxfw::lab::host::{CardSpec, HostSpec};
use cxfw::version::FwVersion;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Bytes of code in the images here.
const SMALL_CODE: u64 = 0x4000;

const CX3: &str = "01:00.0";
const CX3_40G: &str = "02:00.0";
const LX: &str = "03:00.0";
const CX6DX: &str = "41:00.0";
const CX5: &str = "81:00.0";

/// The default host with small images; its ConnectX-5 runs.
fn small_host() -> HostSpec {
    let mut host = HostSpec::default_host().unwrap();
    for card in &mut host.cards {
        card.firmware.code_size = SMALL_CODE;
        card.recovery = false;
    }
    for offer in &mut host.offers {
        offer.firmware.code_size = SMALL_CODE;
    }
    host
}

fn small() -> TestLab {
    TestLab::of(&small_host())
}

/// The small host with its ConnectX-5 in recovery.
fn with_recovery() -> TestLab {
    let mut host = small_host();
    card_at(&mut host, CX5).recovery = true;
    TestLab::of(&host)
}

fn card_at<'h>(host: &'h mut HostSpec, address: &str) -> &'h mut CardSpec {
    let at = |card: &&mut CardSpec| card.address.to_string().ends_with(address);
    host.cards.iter_mut().find(at).unwrap()
}

impl TestLab {
    /// An update of one card, as JSON, that ends with this code.
    fn update(&self, device: &str, args: &[&str], code: i32) -> Value {
        let ran = self.update_text(device, &[args, &["--yes", "--format", "json"]].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let document = ran.json();
        schema::check(&document, "update.json");
        document["cards"][0].clone()
    }

    /// Without the copy of the old firmware, which has tests of its own.
    fn update_text(&self, device: &str, args: &[&str]) -> Ran {
        let ran = self.run(&[&["update", "--no-backup", "-d", device], args].concat());
        self.assert_well_behaved();
        ran
    }

    fn one(&self, device: &str) -> Value {
        let ran = self.run(&["query", "--format", "json", "-d", device]);
        ran.json()["cards"][0].clone()
    }

    /// Restarts the host and says what the card runs.
    fn restart(&self, device: &str) -> Value {
        assert_eq!(self.run(&["lab", "reset"]).code, Some(0));
        let card = self.one(device);
        assert_eq!(card["recovery"], false, "{card}");
        card["firmware"]["running"].clone()
    }

    fn status(&self) -> Vec<Value> {
        let ran = self.run(&["lab", "status", "--format", "json"]);
        ran.json()["cards"].as_array().unwrap().clone()
    }

    /// No card has seen what a tool must never do.
    fn assert_well_behaved(&self) {
        for card in self.status() {
            let violations = card["violations"].as_object().unwrap();
            assert!(violations.values().all(|count| *count == 0), "{card}");
        }
    }

    /// Flash operations on a card since the lab was made.
    fn flash_operations(&self, device: &str) -> u64 {
        let cards = self.status();
        let at = |card: &&Value| card["device"].as_str().unwrap().ends_with(device);
        let counters = &cards.iter().find(at).unwrap()["counters"];
        let count = |name: &str| counters[name].as_u64().unwrap();
        count("flash_erases") + count("flash_programs")
    }

    /// An image in a file, for a board of the chip of the card called `name`.
    fn image(&self, name: &str, psid: &str, version: FwVersion) -> PathBuf {
        let mut host = small_host();
        let card = host
            .cards
            .iter_mut()
            .find(|card| card.name == name)
            .unwrap();
        card.psid = Psid::new(psid).unwrap();
        card.firmware.version = version;
        let path = self.beside(&format!("{psid}-{version}.bin"));
        fs::write(&path, build_image(&card.image_spec().unwrap()).unwrap()).unwrap();
        path
    }

    /// The image of the lab's bundle for a board, in a file.
    fn extracted(&self, psid: &str) -> PathBuf {
        let path = self.beside(&format!("{psid}.bin"));
        let bundle = self.bundle();
        let ran = self.run(&[
            "extract",
            bundle.to_str().unwrap(),
            "--psid",
            psid,
            "-o",
            path.to_str().unwrap(),
        ]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        path
    }
}

/// What must be the same before and after.
fn identity(card: &Value) -> Vec<Value> {
    let fields = [
        "base_mac",
        "base_guid",
        "port_macs",
        "port_guids",
        "serial",
        "original_base_mac",
    ];
    fields.iter().map(|&field| card[field].clone()).collect()
}

#[test]
fn a_connectx_3_is_updated_by_writing_its_flash() {
    let lab = small();
    let before = lab.one(CX3);
    assert_eq!(before["status"], "update_required");
    let card = lab.update(CX3, &[], 0);
    assert_eq!(card["result"], "burned");
    assert_eq!(card["method"], "direct");
    assert_eq!(
        (&card["from"], &card["to"]),
        (&"2.36.5150".into(), &"2.42.5000".into())
    );
    assert_eq!(card["activation"], "reboot");
    let staged = lab.one(CX3);
    assert_eq!(staged["firmware"]["stored"], "2.42.5000");
    assert_eq!(staged["status"], "activation_pending");
    assert_eq!(lab.restart(CX3), "2.42.5000");
    let after = lab.one(CX3);
    assert_eq!(after["status"], "up_to_date");
    assert_eq!(identity(&after), identity(&before));
    assert_eq!(after["psid"], before["psid"]);
    assert_eq!(lab.update(CX3, &[], 0)["result"], "already_current");
}

#[test]
fn cards_with_firmware_control_are_burned_directly_on_request() {
    for device in [LX, CX5] {
        let lab = small();
        let before = lab.one(device);
        let card = lab.update(device, &["--method", "direct"], 0);
        assert_eq!(
            (&card["result"], &card["method"]),
            (&"burned".into(), &"direct".into())
        );
        assert_eq!(lab.restart(device), before["firmware"]["available"]);
        let after = lab.one(device);
        assert_eq!(identity(&after), identity(&before));
        // and through the firmware again, which finds a card in order
        let card = lab.update(device, &["--reinstall"], 0);
        assert_eq!(
            (&card["result"], &card["method"]),
            (&"burned".into(), &"component".into())
        );
        assert_eq!(lab.restart(device), before["firmware"]["available"]);
        assert_eq!(identity(&lab.one(device)), identity(&before));
    }
}

#[test]
fn a_way_that_the_card_does_not_have_is_refused_and_nothing_is_written() {
    let lab = small();
    let told = |device, args: &[&str]| {
        let ran = lab.update_text(device, &[args, &["--yes", "--no-progress"]].concat());
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert_eq!(lab.flash_operations(device), 0);
        ran.stderr
    };
    insta::assert_snapshot!(told(CX3, &["--method", "component"]), @r"
    error: 0000:01:00.0: the card's firmware takes no updates by itself

    advice: leave --method out; its flash is then written directly
    ");
    insta::assert_snapshot!(told(CX6DX, &["--method", "direct", "--reinstall"]), @r"
    error: 0000:41:00.0: the card runs secure firmware, which lets no tool at its flash

    advice: such a card takes images for its own board, through its firmware (--method component)
    ");
    let image = lab.image("cx6dx", "MT_0000000999", FwVersion::new(22, 40, 1000));
    let image = image.to_str().unwrap();
    insta::assert_snapshot!(told(CX6DX, &["--allow-psid-change", "--image", image]), @r"
    error: 0000:41:00.0: the card runs secure firmware, which lets no tool at its flash

    advice: such a card takes images for its own board, through its firmware (--method component)
    ");
}

#[test]
fn a_dry_run_shows_every_step_and_writes_nothing() {
    let lab = small();
    let text = lab.update_text(CX3, &["--dry-run"]).stdout;
    let (_, steps) = text.split_once("Found 1 device(s)").unwrap();
    insta::assert_snapshot!(steps, @r"
     requiring firmware update...

    Device #1 (0000:01:00.0): dry run; 2.42.5000 is newer than 2.36.5150
      1. make no backup of the old firmware (--no-backup)
      2. taking the flash: through the flash gateway; no firmware works from the flash
      3. keeping 2.36.5150 at 0x0 bootable
      4. erasing the free slot: 0x80000 to 0x8ffff (1 units of 64 KiB, 0 of 4 KiB)
      5. writing the image: 35548 bytes at 0x80010
      6. reading the image back: 35548 bytes
      7. writing the start pattern: 16 bytes at 0x80000
      8. setting the boot address: 0x80000
      9. retiring the old image: 4 zero bytes at 0x0
      10. reading back what is stored: 2.42.5000 expected
    Summary: 1 skipped
    ");
    for (device, args) in [(CX3, &[][..]), (LX, &["--method", "direct"])] {
        let card = lab.update(device, &[args, &["--dry-run"]].concat(), 0);
        assert_eq!(
            (&card["result"], &card["method"]),
            (&"skipped".into(), &"direct".into())
        );
        let steps = card["steps"].as_array().unwrap();
        let first = steps[1].as_str().unwrap();
        assert!(first.starts_with("taking the flash: "), "{first}");
        assert_eq!(lab.flash_operations(device), 0);
    }
}

#[test]
fn a_card_in_recovery_whose_flash_still_says_who_it_is_takes_the_named_image() {
    let lab = with_recovery();
    let image = lab.extracted("MT_0000000010");
    let image = image.to_str().unwrap();
    let ran = lab.update_text(CX5, &["--image", image, "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let kept =
        "the card has GUID 506b4b03002fe7a8 and MAC 506b4b2fe7a8, which its flash still holds";
    assert!(ran.stdout.contains(kept), "{}", ran.stdout);
    assert_eq!(lab.flash_operations(CX5), 0);

    let ran = lab.update_text(CX5, &["--image", image, "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains(kept), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("A cold boot is needed"),
        "{}",
        ran.stdout
    );
    assert_eq!(lab.restart(CX5), "16.35.4506");
    let after = lab.one(CX5);
    assert_eq!(after["base_guid"], "506b4b03002fe7a8");
    assert_eq!(after["base_mac"], "506b4b2fe7a8");
    assert_eq!(after["psid"], "MT_0000000010");
}

#[test]
fn a_blank_card_gets_the_addresses_of_its_label() {
    let lab = with_recovery();
    let image = lab.extracted("MT_0000000010");
    let opened = Lab::open(&lab.path()).unwrap();
    let chip = opened.find_chip("cx5-recovery").unwrap();
    let size = usize::try_from(chip.spec().flash_size).unwrap();
    chip.write_flash(0, &vec![0xff; size]).unwrap();
    let image = image.to_str().unwrap();

    let ran = lab.update_text(CX5, &["--image", image, "--yes", "--no-progress"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(lab.flash_operations(CX5), 0);
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:81:00.0: the flash holds no readable GUIDs and MACs of this card (stopped at checking the image (last done: taking the flash); the card has no firmware to boot and stays in recovery)

    advice: give them with --guid and --mac; they are printed on the board's label
    ");

    let label = ["--guid", "506b4b03002fe7a8", "--mac", "506b4b2fe7a8"];
    let half = lab.update_text(CX5, &[&["--image", image], &label[..2]].concat());
    assert_eq!(half.code, Some(2), "{half:?}");
    let card = lab.update(
        CX5,
        &[&["--image", image, "--addresses", "4"], &label[..]].concat(),
        0,
    );
    assert_eq!(
        (&card["result"], &card["method"]),
        (&"burned".into(), &"direct".into())
    );
    assert_eq!(card["activation"], "cold_boot");
    assert_eq!(lab.restart(CX5), "16.35.4506");
    let after = lab.one(CX5);
    assert_eq!(after["base_guid"], "506b4b03002fe7a8");
    assert_eq!(after["base_mac"], "506b4b2fe7a8");
    assert_eq!(lab.update(CX5, &["--reinstall"], 0)["method"], "component");
    assert_eq!(lab.restart(CX5), "16.35.4506");
}

#[test]
fn a_held_capability_is_named_when_a_card_in_recovery_is_to_be_burned() {
    let lab = with_recovery();
    let image = lab.extracted("MT_0000000010");
    let image = image.to_str().unwrap();
    let fault = ["lab", "fault", "cx5-recovery", "hold", "capability"];
    assert_eq!(lab.run(&fault).code, Some(0));
    let ran = lab.update_text(CX5, &["--image", image, "--yes", "--no-progress"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("was held by ticket"), "{}", ran.stderr);
    let command = "`cxfw query -d 0000:81:00.0 --release-lock`";
    assert!(ran.stderr.contains(command), "{}", ran.stderr);
    let freed = lab.run(&["query", "-d", CX5, "--release-lock", "--yes"]);
    assert_eq!(freed.code, Some(0), "{freed:?}");
    assert_eq!(lab.update(CX5, &["--image", image], 0)["result"], "burned");
}

#[test]
fn addresses_for_a_card_that_keeps_its_own_are_refused() {
    let lab = small();
    let label = [
        "--guid",
        "50:6b:4b:03:00:2f:e7:a8",
        "--mac",
        "50-6b-4b-2f-e7-a8",
    ];
    let ran = lab.update_text(LX, &[&["--yes"], &label[..]].concat());
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let told = "--guid and --mac are not for 0000:03:00.0";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(lab.flash_operations(LX), 0);
}

#[test]
fn a_card_in_recovery_that_was_burned_waits_for_its_cold_boot() {
    let lab = with_recovery();
    let image = lab.extracted("MT_0000000010");
    let image = image.to_str().unwrap();
    let named = ["--image", image];
    assert_eq!(lab.update(CX5, &named, 0)["result"], "burned");
    let card = lab.one(CX5);
    assert_eq!(
        (&card["status"], &card["recovery"]),
        (&"activation_pending".into(), &true.into())
    );
    let error = card["error"].to_string();
    assert!(!error.contains("--image FILE"), "{error}");
    assert!(error.contains("switch the machine off and on"), "{error}");
    let written = lab.flash_operations(CX5);
    let card = lab.update(CX5, &named, 0);
    assert_eq!(
        (&card["result"], &card["activation"]),
        (&"already_staged".into(), &"cold_boot".into())
    );
    assert_eq!(lab.flash_operations(CX5), written);
    let again = [&named[..], &["--reinstall"]].concat();
    assert_eq!(lab.update(CX5, &again, 0)["result"], "burned");
    assert_eq!(lab.restart(CX5), "16.35.4506");
}

#[test]
fn addresses_are_given_to_one_named_card_only() {
    let lab = small();
    let label = ["--guid", "506b4b03002fe7a8", "--mac", "506b4b2fe7a8"];
    for device in [&[][..], &["-d", CX3, "-d", LX]] {
        let ran = lab.run(&[&["update", "--yes"], device, &label].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("--guid and --mac belong to one card"));
        assert!(ran.stderr.contains("advice: name it with -d DEV"));
    }
    assert_eq!(lab.flash_operations(CX3), 0);
}

#[test]
fn a_card_in_recovery_never_takes_one_of_several_boards() {
    let mut host = small_host();
    card_at(&mut host, CX5).recovery = true;
    let mut other = host.offers.iter().find(|offer| offer.model == "ConnectX-5");
    let mut other = other.take().unwrap().clone();
    other.psid = Psid::new("LNV0000000049").unwrap();
    host.offers.push(other);
    let lab = TestLab::of(&host);
    let opened = Lab::open(&lab.path()).unwrap();
    let chip = opened.find_chip("cx5-recovery").unwrap();
    let size = usize::try_from(chip.spec().flash_size).unwrap();
    chip.write_flash(0, &vec![0xff; size]).unwrap();
    let bundle = lab.bundle();
    let ran = lab.update_text(CX5, &["--image", bundle.to_str().unwrap(), "--yes"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:81:00.0: there are images for 2 boards of this chip (LNV0000000049 and MT_0000000010), and none of them is chosen for you

    advice: take the board from the card's label, then `cxfw extract FILE --psid PSID -o OUT` and --image OUT
    ");
    let other_chip = lab.extracted("MT_2420110034");
    let ran = lab.update_text(CX5, &["--image", other_chip.to_str().unwrap(), "--yes"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(lab.flash_operations(CX5), 0);
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:81:00.0: the image is version 14.32.1010, but firmware of a ConnectX-5 starts with 16.

    advice: give the image made for this chip
    ");
}

#[test]
fn a_card_becomes_another_board_and_stays_itself() {
    let boards = [
        (CX3, "cx3-10g", "MT_1060110018", FwVersion::new(2, 42, 5000)),
        (LX, "cx4lx", "MT_2420110099", FwVersion::new(14, 32, 1010)),
        (
            CX5,
            "cx5-recovery",
            "MT_0000000023",
            FwVersion::new(16, 35, 4506),
        ),
    ];
    for (device, name, psid, version) in boards {
        let lab = small();
        let before = lab.one(device);
        let image = lab.image(name, psid, version);
        let image = image.to_str().unwrap();
        let refused = lab.update_text(device, &["--image", image, "--yes"]);
        assert_eq!(refused.code, Some(4), "{refused:?}");
        assert_eq!(lab.flash_operations(device), 0);

        let change = ["--image", image, "--allow-psid-change"];
        let asked = lab.update_text(device, &change);
        assert_eq!(asked.code, Some(2), "{asked:?}");
        let old = before["psid"].as_str().unwrap();
        let said = format!("the PSID changes from {old} to {psid}, as asked; port types");
        assert!(asked.stdout.contains(&said), "{}", asked.stdout);

        let card = lab.update(device, &change, 0);
        assert_eq!(
            (&card["result"], &card["method"]),
            (&"burned".into(), &"direct".into())
        );
        assert_eq!(lab.restart(device), version.to_string());
        let after = lab.one(device);
        assert_eq!(after["psid"], psid);
        // the simulated driver says the same
        assert_eq!(after["error"], Value::Null, "{device}");
        assert_eq!(identity(&after), identity(&before), "{device}");
    }
}

#[test]
fn flash_that_cannot_be_written_is_found_out_before_anything_is() {
    let lab = small();
    assert_eq!(
        lab.run(&["lab", "fault", "cx3-10g", "write-protect"]).code,
        Some(0)
    );
    let ran = lab.update_text(CX3, &["--yes", "--no-progress"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:01:00.0: the flash is write protected: block protection of the upper end is on (status register 1 is 0x9c; the status register is locked too) (stopped at checking the image (last done: taking the flash); the card still boots its old firmware)

    advice: remove the write protection with the tool that set it, then run the update again
    ");
    assert_eq!(lab.flash_operations(CX3), 0);

    let mut host = small_host();
    card_at(&mut host, CX3).flash.jedec = Some(0xabcd);
    let lab = TestLab::of(&host);
    let ran = lab.update_text(CX3, &["--yes", "--no-progress"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:01:00.0: the flash part with JEDEC id 0xabcd15 is of no known family, so it is not written (stopped at taking the flash (last done: reading the card); the card still boots its old firmware)

    advice: a newer cxfw may know the part; please report its id
    ");
    assert_eq!(lab.flash_operations(CX3), 0);
}

#[test]
fn a_flash_semaphore_of_a_dead_tool_is_named_with_the_way_to_free_it() {
    let lab = small();
    let held = lab.run(&["lab", "fault", "cx4lx", "hold", "flash"]);
    assert_eq!(held.code, Some(0));
    let ran = lab.update_text(LX, &["--yes", "--method", "direct"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("the flash semaphore was held by token 0x5ead0001"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("still boots 14.25.1020"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("`cxfw query -d 0000:03:00.0 --release-lock`"),
        "{}",
        ran.stderr
    );
    let freed = lab.run(&["query", "-d", LX, "--release-lock", "--yes"]);
    assert_eq!(freed.code, Some(0), "{freed:?}");
    let card = lab.update(LX, &["--method", "direct"], 0);
    assert_eq!(card["result"], "burned");
}

#[test]
fn power_lost_in_the_middle_leaves_the_old_firmware_and_words_about_it() {
    let lab = small();
    let fault = [
        "lab",
        "fault",
        "cx3-10g",
        "power-loss",
        "--of",
        "flash",
        "--at",
        "40",
    ];
    assert_eq!(lab.run(&fault).code, Some(0));
    let card = lab.update(CX3, &[], 1);
    assert_eq!(
        (&card["result"], &card["code"]),
        (&"failed".into(), &"gone".into())
    );
    let state = card["state"].as_str().unwrap();
    assert!(state.contains("the card still boots 2.36.5150"), "{state}");
    let advice = card["advice"].as_str().unwrap();
    assert!(advice.contains("fell off the bus"), "{advice}");
    assert_eq!(lab.restart(CX3), "2.36.5150");
    assert_eq!(lab.update(CX3, &[], 0)["result"], "burned");
    assert_eq!(lab.restart(CX3), "2.42.5000");
}

#[test]
fn ctrl_c_stops_a_direct_burn_and_the_card_boots_its_old_firmware() {
    let lab = small();
    let args = ["--no-backup", "--yes", "--progress", "json", "-d", CX3];
    let mut child = lab
        .command(&[&["update"], &args[..]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"phase\":\"write\"") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "no write begun");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("the card still boots 2.36.5150"), "{rest}");
    lab.assert_well_behaved();
    assert_eq!(lab.restart(CX3), "2.36.5150");
    assert_eq!(lab.update(CX3, &[], 0)["result"], "burned");
    assert_eq!(lab.restart(CX3), "2.42.5000");
}

#[test]
fn several_cards_are_burned_at_once_and_every_line_says_whose_it_is() {
    let mut host = small_host();
    card_at(&mut host, CX3_40G).firmware.version = FwVersion::new(2, 36, 5150);
    let lab = TestLab::of(&host);
    let cards = ["-d", CX3, "-d", CX3_40G, "-d", LX];
    let ran = lab.run(&[&["update", "--no-backup", "--yes"], &cards[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    lab.assert_well_behaved();
    for (number, device) in [(1, CX3), (2, CX3_40G)] {
        for phase in ["Erasing flash", "Writing Boot image component"] {
            let line = format!("Device #{number} (0000:{device}): {phase} -   OK          \n");
            assert!(ran.stderr.contains(&line), "{line}: {}", ran.stderr);
        }
        assert_eq!(lab.one(device)["firmware"]["stored"], "2.42.5000");
    }
    assert!(
        ran.stdout.ends_with("Summary: 3 burned\n"),
        "{}",
        ran.stdout
    );
}

/// Firmware that runs believes the slot free that the direct burn has filled, and would erase the
/// one image that boots.
#[test]
fn no_update_goes_through_firmware_that_does_not_know_its_flash() {
    for device in [LX, CX5] {
        let lab = small();
        let before = lab.one(device);
        let direct = lab.update(device, &["--method", "direct", "--reinstall"], 0);
        assert_eq!(direct["result"], "burned", "{direct}");
        assert_eq!(direct["method"], "direct");
        let operations = lab.flash_operations(device);
        let refused = lab.update(device, &["--method", "component", "--reinstall"], 4);
        assert_eq!(refused["result"], "refused", "{refused}");
        assert_eq!(refused["code"], "restart_pending", "{refused}");
        assert!(
            refused["advice"]
                .as_str()
                .unwrap()
                .starts_with("restart the machine")
        );
        assert_eq!(lab.flash_operations(device), operations);
        lab.restart(device);
        let again = lab.update(device, &["--method", "component", "--reinstall"], 0);
        assert_eq!(again["result"], "burned", "{again}");
        lab.restart(device);
        let after = lab.one(device);
        for fact in ["base_mac", "base_guid", "psid", "serial"] {
            assert_eq!(after[fact], before[fact], "{fact} of {device}");
        }
    }
}
