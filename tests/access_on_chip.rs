//! The ways into a card, on simulated chips: what is read is what is there, what it costs in
//! config cycles, and nothing is done that a card would not forgive.

#![expect(
    clippy::expect_used,
    reason = "a test ends where something is not as it should be"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use cxfw::access::vsec::Vsec;
use cxfw::access::{
    AccessError, Device, GatewayError, Patience, RecoveryState, Way, post_register, read_register,
};
use cxfw::bytes::ByteSource;
use cxfw::identity::Psid;
use cxfw::image;
use cxfw::lab::build::{ImageSpec, Slot, flash_contents};
use cxfw::lab::chip::{
    Boot, BootRule, Chip, ChipSpec, FunctionSpec, LinkSpec, ReadBack, Violations, VpdSpec,
};
use cxfw::model::{self, ImageFormat};
use cxfw::registers::mqis::InfoType;
use cxfw::registers::{Mcam, Mcc, Mcda, Mgir, Mqis, Register};
use cxfw::version::FwVersion;

const PSID: &str = "MT_0000000013";
const FLASH_SIZE: u32 = 0x100_0000;

/// The chip whose state is in `folder`.
fn chip(hw_id: u16, folder: &Path) -> Arc<Chip> {
    let spec = ChipSpec {
        hw_id,
        revision: 0,
        functions: vec![FunctionSpec {
            address: "0000:03:00.0".to_owned(),
            device: model::by_hw_id(hw_id).expect("a known chip").pci_ids[0],
            subsystem_vendor: 0x15b3,
            subsystem_device: 0x0003,
            class: 0x02_0000,
        }],
        link: LinkSpec::default(),
        vpd: VpdSpec {
            identifier: "Test adapter".to_owned(),
            keywords: Vec::new(),
        },
        flash_size: FLASH_SIZE,
        jedec_id: 0xef_4018,
        secure: false,
        read_back: ReadBack::default(),
        boot_rule: BootRule::default(),
        oldest_version: None,
        icmd_busy_polls: 1,
        cycle_delay_ns: 0,
    };
    Chip::open(folder, &spec).expect("a chip")
}

/// Opens a chip as every command does.
fn open(chip: &Arc<Chip>, folder: &Path) -> Device {
    let config = chip.function(0).expect("a function");
    Device::open_shared(config, None, &folder.join("locks")).expect("opened")
}

/// A simulated card: chip, its folder, and a way to open it.
struct Card {
    chip: Arc<Chip>,
    folder: tempfile::TempDir,
}

impl Card {
    /// Firmware `version` on the flash of a chip, booted.
    fn running(hw_id: u16, version: FwVersion) -> Self {
        let card = Self::unbooted(hw_id);
        let model = model::by_hw_id(hw_id).expect("a known chip");
        let mut spec = ImageSpec::new(model, Psid::new(PSID).expect("a PSID"), version);
        spec.slot_log2 = spec.slot_log2.min(23);
        let contents = flash_contents(&spec, FLASH_SIZE.into(), Slot::First).expect("an image");
        for (address, bytes) in contents.runs {
            let address = u32::try_from(address).expect("a flash address");
            card.chip.write_flash(address, &bytes).expect("written");
        }
        let boot = card.chip.boot().expect("boot");
        assert!(matches!(boot, Boot::Running(_)), "{boot:?}");
        card
    }

    /// A chip that found nothing to boot; its flash still holds something to read.
    fn in_recovery(hw_id: u16) -> Self {
        let card = Self::unbooted(hw_id);
        let noise: Vec<u8> = (0..0x2_0000u32)
            .map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24).to_le_bytes()[0])
            .collect();
        card.chip.write_flash(0x1000, &noise).expect("written");
        assert!(matches!(card.chip.boot().expect("boot"), Boot::Recovery));
        card
    }

    fn unbooted(hw_id: u16) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let chip = chip(hw_id, folder.path());
        Self { chip, folder }
    }

    fn open(&self) -> Device {
        open(&self.chip, self.folder.path())
    }

    fn cycles(&self) -> u32 {
        let counters = self.chip.counters();
        counters.config_reads + counters.config_writes
    }

    /// What `work` costs in config cycles.
    fn cost<T>(&self, work: impl FnOnce() -> T) -> (T, u32) {
        let before = self.cycles();
        let result = work();
        (result, self.cycles() - before)
    }

    fn assert_no_violation(&self) {
        assert_eq!(self.chip.violations(), Violations::default());
        assert_eq!(self.chip.counters().unknown_cr_accesses, 0);
    }
}

const CONNECTX_3: u16 = 0x1f5;
const CONNECTX_4_LX: u16 = 0x20b;
const CONNECTX_5: u16 = 0x20d;
const CONNECTX_6_DX: u16 = 0x212;
const CONNECTX_7: u16 = 0x218;
const CONNECTX_8: u16 = 0x21e;

#[test]
fn a_running_card_says_what_it_is_and_what_it_runs() {
    let version = FwVersion::new(14, 32, 1010);
    let card = Card::running(CONNECTX_4_LX, version);
    let device = card.open();
    assert_eq!(device.way(), Way::Vsec);
    assert_eq!(device.hw_id().expect("an id").id, CONNECTX_4_LX);
    assert_eq!(
        device.recovery_state().expect("a state"),
        RecoveryState::Running
    );
    let registers = device.registers().expect("firmware runs");
    let mgir = read_register(registers, &Mgir::default()).expect("MGIR");
    assert_eq!(mgir.fw_version(), Some(version));
    assert_eq!(mgir.psid().expect("a PSID").as_str(), PSID);
    let mcam = read_register(registers, &Mcam::default()).expect("MCAM");
    assert!(mcam.has_register(Mcc::ID) && mcam.has_register(Mcda::ID));
    card.assert_no_violation();
}

#[test]
fn registers_cost_what_their_size_says() {
    let card = Card::running(CONNECTX_5, FwVersion::new(16, 35, 2000));
    let (device, opening) = card.cost(|| card.open());
    assert!(opening < 60, "opening: {opening}");
    let registers = device.registers().expect("firmware runs");
    read_register(registers, &Mcc::default()).expect("MCC");

    let (_, mgir) = card.cost(|| read_register(registers, &Mgir::default()).expect("MGIR"));
    assert!(mgir < 320, "MGIR: {mgir}");
    let (_, text) = card
        .cost(|| read_register(registers, &Mqis::request(InfoType::ModelName, 0)).expect("MQIS"));
    assert!(text < 115, "MQIS: {text}");

    // a block of a burn, refused here since nothing was begun: the cost is the same
    let block = Mcda {
        data: vec![0x5a; 128],
        ..Mcda::default()
    };
    let (outcome, mcda) = card.cost(|| post_register(registers, &block));
    assert!(outcome.expect_err("no update goes on").status().is_some());
    assert!(mcda < 175, "MCDA: {mcda}");
    card.assert_no_violation();
}

#[test]
fn the_flash_of_every_generation_in_recovery_reads_as_it_is() {
    for hw_id in [
        CONNECTX_4_LX,
        CONNECTX_5,
        CONNECTX_6_DX,
        CONNECTX_7,
        CONNECTX_8,
    ] {
        let card = Card::in_recovery(hw_id);
        let device = card.open();
        let name = device.model().expect("a known chip").name;
        assert_eq!(
            device.recovery_state().expect("a state"),
            RecoveryState::Recovery,
            "{name}"
        );
        assert!(device.registers().is_none(), "{name}");
        compare_flash(&card, &device);
    }
}

#[test]
fn the_flash_of_a_running_connectx_3_reads_as_it_is() {
    let card = Card::running(CONNECTX_3, FwVersion::new(2, 42, 5000));
    let device = card.open();
    assert_eq!(device.way(), Way::LegacyGateway);
    compare_flash(&card, &device);
}

/// Reads across beats, pieces and the end, and compares with the part itself.
fn compare_flash(card: &Card, device: &Device) {
    let model = device.model().expect("a known chip");
    let flash = device.flash(model).expect("flash");
    assert_eq!(flash.size(), u64::from(FLASH_SIZE), "{}", model.name);
    for (address, len) in [(0, 64), (0xffd, 7), (0x1ff0, 0x2020), (0xff_fff0, 16)] {
        let read = flash.read(address.into(), len.into()).expect("read");
        let there = card.chip.read_flash(address, len).expect("the part");
        assert_eq!(*read, there, "{} at {address:#x}", model.name);
    }
    assert!(flash.read(FLASH_SIZE.into(), 1).is_err());
    card.assert_no_violation();
}

#[test]
fn the_flash_is_left_to_firmware_that_works_from_it() {
    let card = Card::running(CONNECTX_5, FwVersion::new(16, 35, 2000));
    let device = card.open();
    let error = device
        .flash(device.model().expect("a known chip"))
        .expect_err("firmware runs");
    assert!(
        matches!(error, GatewayError::FirmwareRuns { .. }),
        "{error}"
    );
    assert_eq!(card.chip.counters().gateway_commands, 0);
    card.assert_no_violation();
}

#[test]
fn the_image_of_a_connectx_3_is_queried_with_few_cycles() {
    let version = FwVersion::new(2, 42, 5000);
    let card = Card::running(CONNECTX_3, version);
    let (info, cost) = card.cost(|| {
        let device = card.open();
        let flash = device
            .flash(device.model().expect("a known chip"))
            .expect("flash");
        image::query_flash(&flash, ImageFormat::Fs2).expect("an image")
    });
    assert_eq!(info.version, Some(version));
    assert!(cost < 900, "{cost}");
    card.assert_no_violation();
}

/// Names the folder of the chip to the process that will be killed.
const VICTIM: &str = "CXFW_TEST_VICTIM";
/// What that process prints once it holds everything.
const READY: &str = "holding";

/// Holds the capability and the flash semaphore until it is killed.
#[test]
#[ignore = "run, and killed, by the test below"]
fn victim() {
    let folder = std::env::var(VICTIM).expect("run by the test below only");
    let folder = Path::new(&folder);
    let chip = chip(CONNECTX_5, folder);
    let device = open(&chip, folder);
    let _flash = device.flash_semaphore().expect("free");
    let config = chip.function(0).expect("a function");
    let vsec = Vsec::open(config, Some(&folder.join("locks")), Patience::USUAL)
        .expect("opened")
        .expect("a capability");
    let _session = vsec.hold().expect("free");
    println!("\n{READY}");
    loop {
        std::thread::park();
    }
}

#[test]
fn what_a_killed_process_held_does_not_block_the_next_one() {
    let card = Card::running(CONNECTX_5, FwVersion::new(16, 35, 2000));
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "victim", "--ignored", "--nocapture"])
        .env(VICTIM, card.folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the victim starts");
    let output = BufReader::new(child.stdout.take().expect("piped"));
    let ready = output
        .lines()
        .map_while(Result::ok)
        .any(|line| line == READY);
    assert!(ready, "the victim ended early");

    // alive, it is respected
    let config = card.chip.function(0).expect("a function");
    let locks = card.folder.path().join("locks");
    let error = Device::open_shared(config, None, &locks).expect_err("held");
    assert!(
        matches!(error, AccessError::SemaphoreHeld { .. }),
        "{error}"
    );

    child.kill().expect("killed");
    child.wait().expect("reaped");
    let device = card.open();
    let registers = device.registers().expect("firmware runs");
    read_register(registers, &Mgir::default()).expect("MGIR");
    drop(device.flash_semaphore().expect("freed"));
    drop(device);
    card.open();
    let left = std::fs::read_dir(locks).expect("a folder").count();
    assert_eq!(left, 0, "claims of nobody are left");
    card.assert_no_violation();
}
