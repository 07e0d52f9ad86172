//! A card of a lab is burned through its running firmware: which card, which image, what
//! happened.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "in a test, a panic is the report of a failure"
)]

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cxfw::access::{read_register, write_register};
use cxfw::card::{self, Card, CardReport, UpdatePath};
use cxfw::flash::component::{
    Boots, BurnError, BurnOptions, Burned, StagedUpdate, Step, burn, plan, release_stuck_handle,
    stuck_handle,
};
use cxfw::flash::lock::{self, CardLock};
use cxfw::flash::{Activation, Cancel};
use cxfw::lab::Lab;
use cxfw::lab::build::build_image;
use cxfw::lab::chip::Violations;
use cxfw::lab::host::{HostSpec, OfferSpec};
use cxfw::pci;
use cxfw::progress::{Event, Phase, Sink};
use cxfw::registers::Mcc;
use cxfw::registers::mcc::Instruction;
use cxfw::version::FwVersion;

/// A ConnectX-4 Lx at 14.25.1020.
const OPEN_CARD: &str = "cx4lx";
/// A ConnectX-6 Dx with secure firmware, whose boot image is not the first component.
const SECURE_CARD: &str = "cx6dx";

/// Code in the images burned here, bytes: enough for a thousand transfers.
const CODE_SIZE: u64 = 0x2_0000;

/// Code in the image of the burn that gets killed: enough to be killed in.
const LARGE_CODE_SIZE: u64 = 0x10_0000;

/// A lab of one card of the default host.
struct Bench {
    dir: tempfile::TempDir,
    lab: Lab,
    host: HostSpec,
    name: &'static str,
}

impl Bench {
    fn new(name: &'static str) -> Self {
        let host = HostSpec::default_host().unwrap();
        let mut small = host.clone();
        small.cards.retain(|card| card.name == name);
        small.adapters.clear();
        for card in &mut small.cards {
            card.firmware.code_size = CODE_SIZE;
        }
        small.offers.clear();
        let dir = tempfile::tempdir().unwrap();
        let lab = Lab::create(&dir.path().join("lab"), &small).unwrap();
        Self {
            dir,
            lab,
            host,
            name,
        }
    }

    fn card(&self) -> Card {
        read_card(&self.lab)
    }

    fn report(&self) -> CardReport {
        self.card().report
    }

    /// The image of the card's own board on offer, as `version` if it is given.
    fn image(&self, version: Option<FwVersion>) -> Vec<u8> {
        image(&self.host, self.name, version, CODE_SIZE)
    }

    /// The chip has seen nothing that a tool must never do.
    fn assert_well_behaved(&self) {
        let chip = self.lab.chip(self.name).unwrap();
        assert_eq!(chip.violations(), Violations::default());
    }

    fn burn(&self, image: &[u8]) -> Result<Burned, Box<BurnError>> {
        self.burn_with(image, |_| ())
    }

    fn burn_with(
        &self,
        image: &[u8],
        change: impl FnOnce(&mut BurnOptions<'_>),
    ) -> Result<Burned, Box<BurnError>> {
        burn_in(&self.lab, image, change, &Cancel::new(), &mut |_| ())
    }
}

fn image(host: &HostSpec, name: &str, version: Option<FwVersion>, code_size: u64) -> Vec<u8> {
    let card = host.cards.iter().find(|card| card.name == name).unwrap();
    let offer: &OfferSpec = host
        .offers
        .iter()
        .find(|offer| offer.psid == card.psid)
        .unwrap();
    let mut spec = offer.image_spec().unwrap();
    spec.code_size = code_size;
    if let Some(version) = version {
        spec.version = version;
    }
    build_image(&spec).unwrap()
}

fn read_card(lab: &Lab) -> Card {
    let cards = pci::enumerate(&lab.roots()).unwrap();
    let mut cards = card::survey(&cards, &*lab.config_source(), &lab.roots());
    assert_eq!(cards.len(), 1);
    cards.remove(0)
}

fn burn_in(
    lab: &Lab,
    image: &[u8],
    change: impl FnOnce(&mut BurnOptions<'_>),
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<Burned, Box<BurnError>> {
    let card = read_card(lab);
    let key = lock::key(card.report.serial.as_deref(), &card.report.device);
    let lock = CardLock::take(&lab.roots(), &key, Duration::from_secs(10)).unwrap();
    let device = card.device.as_ref().expect("the card opens");
    let mut options = BurnOptions::under(&lock);
    change(&mut options);
    burn(device, image, &options, cancel, sink).map_err(Box::new)
}

fn versions(report: &CardReport) -> (String, String) {
    (
        report.firmware.running.unwrap().to_string(),
        report.firmware.stored.unwrap().to_string(),
    )
}

fn both(running: &str, stored: &str) -> (String, String) {
    (running.to_owned(), stored.to_owned())
}

#[test]
fn a_burned_image_waits_for_the_reset_and_then_runs() {
    let bench = Bench::new(OPEN_CARD);
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.25.1020"));

    let burned = bench.burn(&bench.image(None)).unwrap();
    assert_eq!(burned.from.unwrap().to_string(), "14.25.1020");
    assert_eq!(burned.to.to_string(), "14.32.1010");
    assert_eq!(burned.activation, Activation::Reset);
    let waiting = bench.report();
    assert_eq!(versions(&waiting), both("14.25.1020", "14.32.1010"));

    bench.lab.reset().unwrap();
    let after = bench.report();
    assert_eq!(versions(&after), both("14.32.1010", "14.32.1010"));
    assert_eq!(after.psid, waiting.psid);
    assert_eq!(after.base_mac, waiting.base_mac);
    assert_eq!(after.base_guid, waiting.base_guid);
    assert_eq!(after.error, None);
    bench.assert_well_behaved();
}

#[test]
fn secure_firmware_with_its_boot_image_elsewhere_in_the_table_takes_a_secure_image() {
    let bench = Bench::new(SECURE_CARD);
    let before = bench.report();
    assert_eq!(before.update_path, Some(UpdatePath::Component));
    let newer = FwVersion::new(22, 43, 2566);
    bench.burn(&bench.image(Some(newer))).unwrap();
    assert_eq!(bench.report().firmware.stored, Some(newer));
    bench.lab.reset().unwrap();
    assert_eq!(bench.report().firmware.running, Some(newer));
}

#[test]
fn a_plan_touches_nothing() {
    let bench = Bench::new(OPEN_CARD);
    let card = bench.card();
    let lock = CardLock::take(&bench.lab.roots(), "dry-run", Duration::ZERO).unwrap();
    let options = BurnOptions::under(&lock);
    let plan = plan(card.device.as_ref().unwrap(), &bench.image(None), &options).unwrap();
    assert_eq!(plan.to.to_string(), "14.32.1010");
    assert!(
        plan.to_string().contains("14.25.1020 stays bootable"),
        "{plan}"
    );
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.25.1020"));
}

#[test]
fn an_image_for_another_board_or_with_a_flipped_bit_is_refused_and_nothing_is_sent() {
    let bench = Bench::new(OPEN_CARD);
    let foreign = image(&bench.host, "cx4", None, CODE_SIZE);
    let error = bench.burn(&foreign).expect_err("another board");
    assert!(error.is_refusal(), "{error}");

    let mut damaged = bench.image(None);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let error = bench.burn(&damaged).expect_err("damaged");
    assert_eq!(error.reason(), "image_invalid");
    assert_eq!(error.failed, Step::CheckImage);
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.25.1020"));
    bench.lab.reset().unwrap();
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.25.1020"));
}

#[test]
fn a_second_update_before_the_reset_is_told_that_one_is_pending() {
    let bench = Bench::new(OPEN_CARD);
    bench.burn(&bench.image(None)).unwrap();
    let later = bench.image(Some(FwVersion::new(14, 32, 1912)));
    let error = bench.burn(&later).expect_err("pending");
    assert_eq!(error.reason(), "pending_reset");
    assert_eq!(error.left_open, None);
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.32.1010"));
    bench.lab.reset().unwrap();
    bench.burn(&later).unwrap();
    assert_eq!(versions(&bench.report()), both("14.32.1010", "14.32.1912"));
}

#[test]
fn a_staged_update_is_taken_back_on_request_and_another_one_burned() {
    let bench = Bench::new(OPEN_CARD);
    bench.burn(&bench.image(None)).unwrap();
    let later = FwVersion::new(14, 32, 1912);
    bench
        .burn_with(&bench.image(Some(later)), |options| {
            options.staged_update = StagedUpdate::TakeBack;
        })
        .unwrap();
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.32.1912"));
    bench.lab.reset().unwrap();
    assert_eq!(versions(&bench.report()), both("14.32.1912", "14.32.1912"));
}

#[test]
fn a_tool_that_holds_the_update_handle_is_named_and_its_handle_taken_only_on_request() {
    let bench = Bench::new(OPEN_CARD);
    let card = bench.card();
    let registers = card.device.as_ref().unwrap().registers().unwrap();
    let fresh = read_register(registers, &Mcc::default()).unwrap();
    let lock = Mcc {
        instruction: Instruction::LockUpdateHandle,
        update_handle: fresh.update_handle,
        ..Mcc::default()
    };
    write_register(registers, &lock).unwrap();

    let error = bench.burn(&bench.image(None)).expect_err("busy");
    assert_eq!(error.reason(), "update_in_progress");
    assert!(error.to_string().contains("tool (ICMD)"), "{error}");
    let device = card.device.as_ref().unwrap();
    let stuck = stuck_handle(device, &[]).unwrap().unwrap();
    assert!(
        stuck.to_string().starts_with(
            "the update handle is held by tool (ICMD) of host 0, state locked, without a change for"
        ),
        "{stuck}"
    );
    assert!(release_stuck_handle(device).unwrap());
    assert!(!release_stuck_handle(device).unwrap(), "nothing is left");
    bench.burn(&bench.image(None)).unwrap();
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.32.1010"));
}

#[test]
fn the_handle_of_an_owner_that_goes_on_is_not_stuck() {
    let bench = Bench::new(OPEN_CARD);
    let card = bench.card();
    let device = card.device.as_ref().unwrap();
    let registers = device.registers().unwrap();
    let fresh = read_register(registers, &Mcc::default()).unwrap();
    let own = |instruction| Mcc {
        instruction,
        update_handle: fresh.update_handle,
        ..Mcc::default()
    };
    write_register(registers, &own(Instruction::LockUpdateHandle)).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                read_register(registers, &own(Instruction::None)).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
        });
        assert_eq!(stuck_handle(device, &[]).unwrap(), None);
        assert!(!release_stuck_handle(device).unwrap());
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    write_register(registers, &own(Instruction::CheckUpdateHandle)).unwrap();
}

#[test]
fn stopped_in_the_middle_of_the_data_the_card_boots_the_old_image_and_the_next_burn_succeeds() {
    let bench = Bench::new(OPEN_CARD);
    let cancel = Cancel::new();
    let mut stop = |event: Event| {
        if let Event::Progress {
            phase: Phase::Write,
            done,
            total,
        } = event
            && done * 2 > total
        {
            cancel.request();
        }
    };
    let error =
        burn_in(&bench.lab, &bench.image(None), |_| (), &cancel, &mut stop).expect_err("stopped");
    assert!(error.is_interrupted());
    assert_eq!(error.failed, Step::Write);
    assert_eq!(error.boots, Boots::Old(Some(FwVersion::new(14, 25, 1020))));
    assert_eq!(error.left_open, None);

    bench.lab.reset().unwrap();
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.25.1020"));
    bench.burn(&bench.image(None)).unwrap();
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.32.1010"));
}

/// Where the child process of a test finds its lab.
const CHILD_LAB: &str = "CXFW_TEST_CHILD_LAB";

/// Not a test by itself: the burn that gets killed, in a process of its own.
#[test]
#[ignore = "run as a child process by a_killed_burn_…"]
fn child_burns() {
    let dir = std::env::var_os(CHILD_LAB).expect("run by another test");
    let dir = Path::new(&dir);
    let lab = Lab::open(dir).unwrap();
    let host = HostSpec::default_host().unwrap();
    let image = image(&host, OPEN_CARD, None, LARGE_CODE_SIZE);
    let marker = dir.with_extension("writing");
    let mut tell = |event: Event| {
        if let Event::Progress {
            phase: Phase::Write,
            done,
            total,
        } = event
            && done * 10 > total
        {
            std::fs::write(&marker, "").unwrap();
        }
    };
    burn_in(&lab, &image, |_| (), &Cancel::new(), &mut tell).unwrap();
}

/// Burns in another process and kills it, as `kill -9` does, while the image is being written.
fn killed_burn(bench: &Bench) {
    let lab = bench.dir.path().join("lab");
    let marker = lab.with_extension("writing");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_burns", "--ignored", "--nocapture"])
        .env(CHILD_LAB, &lab)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !marker.exists() && child.try_wait().unwrap().is_none() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "the child hangs"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    assert_eq!(
        child.wait().unwrap().signal(),
        Some(9),
        "it was not done yet"
    );
    std::fs::remove_file(marker).unwrap();
}

#[test]
fn a_killed_burn_leaves_the_old_image_bootable_and_the_next_burn_succeeds_at_once() {
    let bench = Bench::new(OPEN_CARD);
    for _ in 0..3 {
        killed_burn(&bench);
        assert_eq!(versions(&bench.report()), both("14.25.1020", "14.25.1020"));
    }
    bench.burn(&bench.image(None)).unwrap();
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.32.1010"));
    bench.lab.reset().unwrap();
    assert_eq!(versions(&bench.report()), both("14.32.1010", "14.32.1010"));
    bench.assert_well_behaved();
}

#[test]
fn a_killed_burn_and_a_reset_leave_the_old_firmware_running() {
    let bench = Bench::new(OPEN_CARD);
    killed_burn(&bench);
    bench.lab.reset().unwrap();
    assert_eq!(versions(&bench.report()), both("14.25.1020", "14.25.1020"));
    bench.burn(&bench.image(None)).unwrap();
}

#[test]
fn two_burns_of_one_card_do_not_meet() {
    let bench = Bench::new(OPEN_CARD);
    let image = bench.image(None);
    let results: Vec<_> = std::thread::scope(|scope| {
        let burns: Vec<_> = (0..2).map(|_| scope.spawn(|| bench.burn(&image))).collect();
        burns.into_iter().map(|burn| burn.join().unwrap()).collect()
    });
    let good = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(
        good, 1,
        "the second one finds the first one's image pending"
    );
    let refusals: Vec<&str> = results
        .iter()
        .filter_map(|result| Some(result.as_ref().err()?.reason()))
        .collect();
    assert_eq!(refusals, ["pending_reset"]);
}
