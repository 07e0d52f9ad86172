//! Cards that other tools wrote past their firmware, and what is left of those: by the whole program.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program has failed"
)]

mod cli_common;

use std::fs;
use std::path::PathBuf;

use cli_common::{TestLab, identity, schema};
use cxfw::lab::Lab;
use cxfw::lab::build::build_image;
use cxfw::lab::host::{CardSpec, HostSpec};
use cxfw::version::FwVersion;
use serde_json::Value;

const LX: &str = "03:00.0";
const CX5: &str = "81:00.0";

/// Bytes of code in the images here.
const SMALL_CODE: u64 = 0x4000;

/// A lab of the default host's ConnectX-4 Lx and ConnectX-5 with small images, both running.
struct Bench {
    lab: TestLab,
    host: HostSpec,
}

impl Bench {
    fn new() -> Self {
        let mut host = HostSpec::default_host().unwrap();
        host.cards
            .retain(|card| ["cx4lx", "cx5-recovery"].contains(&card.name.as_str()));
        host.adapters.clear();
        for card in &mut host.cards {
            card.firmware.code_size = SMALL_CODE;
            card.recovery = false;
            card.flash.size = 0x20_0000;
            card.flash.slot_log2 = Some(19);
        }
        for offer in &mut host.offers {
            offer.firmware.code_size = SMALL_CODE;
        }
        let lab = TestLab::of(&host);
        Self { lab, host }
    }

    fn spec(&self, device: &str) -> &CardSpec {
        let at = |card: &&CardSpec| card.address.to_string().ends_with(device);
        self.host.cards.iter().find(at).unwrap()
    }

    /// The version a card was made with, and ones after it.
    fn version(&self, device: &str, later: u16) -> FwVersion {
        let made = self.spec(device).firmware.version;
        FwVersion::new(made.major, made.minor + later, made.subminor)
    }

    /// An image for the card's board, in a file.
    fn image(&self, device: &str, version: FwVersion) -> PathBuf {
        let mut spec = self.spec(device).image_spec().unwrap();
        spec.version = version;
        let path = self.lab.beside(&format!("{version}.bin"));
        fs::write(&path, build_image(&spec).unwrap()).unwrap();
        path
    }

    /// A run for one card, as JSON, that ends with this code.
    fn run(&self, command: &str, device: &str, args: &[&str], code: i32) -> Value {
        let usual = [command, "--yes", "--format", "json", "-d", device];
        let ran = self.lab.run(&[&usual[..], args].concat());
        self.lab.assert_well_behaved();
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let document = ran.json();
        schema::check(&document, &format!("{command}.json"));
        document["cards"][0].clone()
    }

    fn update(&self, device: &str, image: &std::path::Path, args: &[&str], code: i32) -> Value {
        let image = ["--no-backup", "--image", image.to_str().unwrap()];
        self.run("update", device, &[&image[..], args].concat(), code)
    }

    /// Burns directly and leaves no note of it, as another tool does.
    fn burn_as_another_tool(&self, device: &str, image: &std::path::Path) {
        let burned = self.update(device, image, &["--method", "direct", "--reinstall"], 0);
        assert_eq!(burned["result"], "burned", "{burned}");
        let locks = fs::read_dir(self.lab.path().join("locks")).unwrap();
        let notes: Vec<PathBuf> = locks
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "unbooted"))
            .collect();
        assert_eq!(notes.len(), 1, "{notes:?}");
        fs::remove_file(&notes[0]).unwrap();
    }

    fn one(&self, device: &str) -> Value {
        let ran = self.lab.run(&["query", "--format", "json", "-d", device]);
        ran.json()["cards"][0].clone()
    }

    /// Restarts the host and says what the card runs.
    fn restart(&self, device: &str) -> String {
        self.lab.reset();
        let card = self.one(device);
        assert_eq!(card["recovery"], false, "{card}");
        card["firmware"]["running"].as_str().unwrap().to_owned()
    }

    fn open(&self) -> Lab {
        Lab::open(&self.lab.path()).unwrap()
    }
}

#[test]
fn what_another_tool_burned_past_the_firmware_is_not_written_over() {
    for device in [LX, CX5] {
        let bench = Bench::new();
        let before = bench.one(device);
        let foreign = bench.version(device, 1);
        bench.burn_as_another_tool(device, &bench.image(device, foreign));
        let flashes = bench.lab.flashes();
        let next = bench.image(device, bench.version(device, 2));
        let refused = bench.update(device, &next, &[], 4);
        assert_eq!(refused["code"], "restart_pending", "{refused}");
        let text = bench.lab.run(&[
            "update",
            "--no-backup",
            "--yes",
            "--no-progress",
            "-d",
            device,
            "--image",
            next.to_str().unwrap(),
        ]);
        if device == LX {
            insta::assert_snapshot!(text.stderr, @r"
            error: 0000:03:00.0: the flash boots 14.26.1020 at 0x80000, of which the firmware that runs (14.25.1020) does not know: another tool wrote past it, and it would write over the image that boots (stopped at looking at the flash (last done: checking the image); the card still boots 14.26.1020)

            advice: restart the machine, so that what the flash boots runs, then run the update again
            ");
        }
        assert_eq!(bench.lab.flashes(), flashes);
        // as advised
        assert_eq!(bench.restart(device), foreign.to_string());
        bench.update(device, &next, &[], 0);
        assert_eq!(bench.restart(device), bench.version(device, 2).to_string());
        assert_eq!(identity(&bench.one(device)), identity(&before));
    }
}

#[test]
fn a_burn_of_another_tool_that_broke_off_with_two_good_images_stops_nobody() {
    for device in [LX, CX5] {
        let bench = Bench::new();
        let before = bench.one(device);
        let image = bench.image(device, bench.version(device, 1));
        bench.burn_as_another_tool(device, &image);
        // before it retired the image that runs
        let lab = bench.open();
        let chip = lab.find_chip(&bench.spec(device).name).unwrap();
        chip.write_flash(0, b"MTFW").unwrap();
        let next = bench.image(device, bench.version(device, 2));
        assert_eq!(
            bench.update(device, &next, &["--method", "component"], 0)["result"],
            "burned"
        );
        assert_eq!(bench.restart(device), bench.version(device, 2).to_string());
        assert_eq!(identity(&bench.one(device)), identity(&before));
    }
}

/// Firmware works from the slot that such a burn would take for the free one.
#[test]
fn a_direct_burn_does_not_go_over_what_runs_though_the_version_waits_that_runs() {
    for (device, first) in [
        (LX, "component"),
        (LX, "direct"),
        (CX5, "component"),
        (CX5, "direct"),
    ] {
        let bench = Bench::new();
        let runs = bench.image(device, bench.version(device, 0));
        let backup = bench.lab.beside("before.bin");
        if first == "component" {
            let made = ["backup", "-d", device, "-o", backup.to_str().unwrap()];
            assert_eq!(bench.lab.run(&made).code, Some(0));
        }
        bench.update(device, &runs, &["--reinstall", "--method", first], 0);
        let flashes = bench.lab.flashes();
        let directly = ["--reinstall", "--method", "direct"];
        let refused = bench.update(device, &runs, &directly, 4);
        assert_eq!(refused["code"], "pending_activation", "{refused}");
        let said = refused["reason"].as_str().unwrap();
        assert!(said.contains("another copy of it is stored"), "{said}");
        let args = [backup.to_str().unwrap(), "--no-backup"];
        if first == "component" {
            let refused = bench.run("restore", device, &args, 4);
            assert_eq!(refused["code"], "pending_activation", "{refused}");
        }
        assert_eq!(bench.lab.flashes(), flashes);
        bench.restart(device);
        bench.update(device, &runs, &directly, 0);
        assert_eq!(bench.restart(device), bench.version(device, 0).to_string());
        if first == "component" {
            bench.run("restore", device, &args, 0);
            assert_eq!(bench.restart(device), bench.version(device, 0).to_string());
        }
    }
}

/// What keeps this tool from reading a flash is no reason to let its firmware do nothing.
#[test]
fn a_flash_that_reads_wrong_is_still_updated_by_its_firmware() {
    let bench = Bench::new();
    let broken = bench.lab.run(&["lab", "fault", LX, "bit-errors"]);
    assert_eq!(broken.code, Some(0), "{broken:?}");
    let image = bench.image(LX, bench.version(LX, 1));
    assert_eq!(bench.update(LX, &image, &[], 0)["result"], "burned");
    assert_eq!(bench.restart(LX), bench.version(LX, 1).to_string());
}

#[test]
fn updates_the_firmware_took_are_burned_over_as_ever() {
    for device in [LX, CX5] {
        let bench = Bench::new();
        let before = bench.one(device);
        for later in [1, 2, 2] {
            let image = bench.image(device, bench.version(device, later));
            bench.update(device, &image, &["--reinstall"], 0);
        }
        assert_eq!(bench.restart(device), bench.version(device, 2).to_string());
        assert_eq!(identity(&bench.one(device)), identity(&before));
    }
}

/// Bytes of flash here.
const FLASH: usize = 0x20_0000;

/// What a card in recovery is, and what its flash boots.
fn without_device_table(bench: &Bench, all_of_it: bool) {
    let lab = bench.open();
    let chip = lab.find_chip("cx5-recovery").unwrap();
    let from = if all_of_it {
        FLASH - 0x7_0000
    } else {
        FLASH - 0x1000
    };
    chip.write_flash(u32::try_from(from).unwrap(), &vec![0xff; FLASH - from])
        .unwrap();
    bench.lab.reset();
    let card = bench.one(CX5);
    assert_eq!(card["recovery"], true, "{card}");
    let told = card["warnings"].as_array().unwrap();
    let told = told
        .iter()
        .any(|text| text.as_str().unwrap().starts_with("device data: "));
    assert!(told, "{card}");
}

#[test]
fn a_connectx_5_without_its_device_table_comes_back_by_every_way() {
    let bench = Bench::new();
    let before = bench.one(CX5);
    let backup = bench.lab.beside("before.bin");
    let backup = backup.to_str().unwrap();
    let made = ["backup", "-d", CX5, "-o", backup];
    assert_eq!(bench.lab.run(&made).code, Some(0));
    let image = bench.image(CX5, bench.version(CX5, 1));
    let is_back = |runs: FwVersion, what: &str| {
        assert_eq!(bench.restart(CX5), runs.to_string(), "{what}");
        let after = bench.one(CX5);
        assert_eq!(identity(&after), identity(&before), "{what}");
        assert_eq!(after["warnings"], before["warnings"], "{what}");
    };
    let old = bench.version(CX5, 0);
    let new = bench.version(CX5, 1);

    without_device_table(&bench, false);
    bench.update(CX5, &image, &[], 0);
    is_back(new, "found where it lies");

    without_device_table(&bench, false);
    bench.run("restore", CX5, &[backup, "--no-backup"], 0);
    is_back(old, "table of the backup");

    without_device_table(&bench, true);
    let refused = bench.update(CX5, &image, &[], 4);
    assert_eq!(refused["code"], "no_identity", "{refused}");
    let refused = bench.run("restore", CX5, &[backup, "--no-backup"], 4);
    assert_eq!(refused["code"], "other_card", "{refused}");
    bench.run("restore", CX5, &[backup, "--no-backup", "--other-card"], 0);
    is_back(old, "backup");

    without_device_table(&bench, true);
    let [guid, mac] = ["base_guid", "base_mac"].map(|fact| before[fact].as_str().unwrap());
    bench.update(CX5, &image, &["--guid", guid, "--mac", mac], 0);
    is_back(new, "label");
}

/// What is saved before a burn leads back to who the card is, though what boots does not say.
#[test]
fn the_backup_before_the_burn_of_a_card_that_lost_its_table_knows_it() {
    let bench = Bench::new();
    let before = bench.one(LX);
    // an older image knows, the one that boots does not
    let image = bench.image(LX, bench.version(LX, 1));
    bench.burn_as_another_tool(LX, &image);
    let lab = bench.open();
    let chip = lab.find_chip("cx4lx").unwrap();
    let flash = chip.read_flash(0, u32::try_from(FLASH).unwrap()).unwrap();
    let layout =
        cxfw::image::flash_layout(&flash.as_slice(), cxfw::model::ImageFormat::Fs3).unwrap();
    for section in layout.sections.iter().filter(|section| section.device_data) {
        let entry = u32::try_from(section.entry).unwrap();
        chip.write_flash(entry, &[0xff; 0x20]).unwrap();
    }
    let nobody = chip.read_flash(0, u32::try_from(FLASH).unwrap()).unwrap();
    bench.restart(LX);
    let folder = bench.lab.beside("kept");
    let next = bench.image(LX, bench.version(LX, 2));
    let args = [
        "--backup",
        folder.to_str().unwrap(),
        "--method",
        "direct",
        "--image",
    ];
    let burned = bench.run(
        "update",
        LX,
        &[&args[..], &[next.to_str().unwrap()]].concat(),
        0,
    );
    assert_eq!(bench.restart(LX), bench.version(LX, 2).to_string());
    assert_eq!(identity(&bench.one(LX)), identity(&before));
    // the card forgets again, everything
    let mut gone = nobody;
    gone[..0x8_0000].fill(0xff);
    gone[FLASH - 0x4_0000..].fill(0xff);
    chip.write_flash(0, &gone).unwrap();
    assert_eq!(bench.restart(LX), bench.version(LX, 1).to_string());
    assert_eq!(bench.one(LX)["base_mac"], Value::Null);
    let file = burned["backup"].as_str().unwrap();
    let args = ["--no-backup", "--other-card", file];
    bench.run("restore", LX, &args, 0);
    assert_eq!(bench.restart(LX), bench.version(LX, 1).to_string());
    assert_eq!(identity(&bench.one(LX)), identity(&before));
}

/// Destroys the sections of this type among the device data, and restarts: nothing boots.
fn destroy(bench: &Bench, device: &str, kind: u8) {
    let spec = bench.spec(device);
    let lab = bench.open();
    let chip = lab.find_chip(&spec.name).unwrap();
    let flash = chip.read_flash(0, u32::try_from(FLASH).unwrap()).unwrap();
    let format = if device == LX {
        cxfw::model::ImageFormat::Fs3
    } else {
        cxfw::model::ImageFormat::Fs4
    };
    let layout = cxfw::image::flash_layout(&flash.as_slice(), format).unwrap();
    let sections = layout.sections.iter();
    for section in sections.filter(|s| s.device_data && s.kind == u32::from(kind)) {
        let at = u32::try_from(section.physical).unwrap();
        let size = usize::try_from(section.size).unwrap();
        chip.write_flash(at, &vec![0; size]).unwrap();
    }
    bench.lab.reset();
    assert_eq!(bench.one(device)["recovery"], true, "{device}");
}

#[test]
fn a_card_in_recovery_with_one_section_destroyed_comes_back_by_its_label() {
    for device in [LX, CX5] {
        for (kind, name) in [(0xe1, "DEV_INFO"), (0xe0, "MFG_INFO")] {
            let what = format!("{device} {name}");
            let bench = Bench::new();
            let before = bench.one(device);
            let label = ["base_guid", "base_mac"].map(|fact| before[fact].as_str().unwrap());
            let label = ["--guid", label[0], "--mac", label[1]];
            destroy(&bench, device, kind);
            let flashes = bench.lab.flashes();
            let next = bench.image(device, bench.version(device, 1));
            let refused = bench.update(device, &next, &[], 4);
            assert_eq!(refused["code"], "no_identity", "{what}: {refused}");
            let advice = refused["advice"].as_str().unwrap();
            let restore = format!("`cxfw restore -d 0000:{device} BACKUP`");
            assert!(advice.contains("--guid and --mac"), "{what}: {advice}");
            assert!(advice.contains(&restore), "{what}: {advice}");
            assert_eq!(bench.lab.flashes(), flashes, "{what}");
            bench.update(device, &next, &label, 0);
            assert_eq!(bench.restart(device), bench.version(device, 1).to_string());
            let after = bench.one(device);
            assert_eq!(identity(&after), identity(&before), "{what}");
            assert_eq!(after["warnings"], before["warnings"], "{what}");
        }
    }
}

#[test]
fn the_factorys_addresses_say_whose_backup_it_is() {
    for device in [LX, CX5] {
        let bench = Bench::new();
        let before = bench.one(device);
        let backup = bench.lab.beside("before.bin");
        let backup = backup.to_str().unwrap();
        let made = bench.lab.run(&["backup", "-d", device, "-o", backup]);
        assert_eq!(made.code, Some(0), "{made:?}");
        destroy(&bench, device, 0xe1);
        bench.run("restore", device, &[backup, "--no-backup"], 0);
        assert_eq!(bench.restart(device), bench.version(device, 0).to_string());
        assert_eq!(identity(&bench.one(device)), identity(&before));
    }
}

#[test]
fn the_image_on_the_flash_of_a_card_in_recovery_is_burned_when_addresses_are_given() {
    for device in [LX, CX5] {
        let bench = Bench::new();
        let before = bench.one(device);
        let label = ["base_guid", "base_mac"].map(|fact| before[fact].as_str().unwrap());
        let own = bench.image(device, bench.version(device, 0));
        destroy(&bench, device, 0xe1);
        let card = bench.one(device);
        assert_eq!(card["status"], "recovery", "{card}");
        let advice = card["error"]["advice"].as_str().unwrap();
        let command = format!(
            "`cxfw update -d 0000:{device} --image FILE --reinstall --guid GUID --mac MAC`"
        );
        assert!(advice.contains(&command), "{advice}");
        let refused = bench.update(device, &own, &[], 4);
        assert_eq!(refused["code"], "no_identity", "{refused}");
        let label = ["--guid", label[0], "--mac", label[1]];
        let burned = bench.update(device, &own, &label, 0);
        assert_eq!(burned["result"], "burned", "{burned}");
        // it waits now, and what is said of it names it
        let card = bench.one(device);
        assert_eq!(card["status"], "activation_pending", "{card}");
        let advice = card["error"]["advice"].as_str().unwrap();
        let command = format!("`cxfw update -d 0000:{device} --image FILE --reinstall`");
        assert!(advice.contains(&command), "{advice}");
        assert_eq!(bench.restart(device), bench.version(device, 0).to_string());
        assert_eq!(identity(&bench.one(device)), identity(&before));
    }
}
