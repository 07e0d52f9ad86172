//! A lab of one card with small images, which is put back into its first state before every run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cxfw::card::{self, Card};
use cxfw::image;
use cxfw::lab::Lab;
use cxfw::lab::build::{ImageSpec, Slot, build_image, flash_contents};
use cxfw::lab::chip::{Boot, BootRule, Chip, Running, Violations};
use cxfw::lab::host::{CardSpec, HostSpec};
use cxfw::pci::{self, ConfigSource};
use cxfw::version::FwVersion;
use tempfile::TempDir;

use super::path::BurnPath;
use super::run::Failure;
use super::state::Slots;

/// A generation of cards.
#[derive(Debug)]
pub struct Generation {
    /// Chip and image format, for people.
    pub name: &'static str,
    /// Its card in the default host.
    card: &'static str,
    /// Ways to burn it.
    pub paths: &'static [BurnPath],
}

/// The generation whose card in the default host is `card`.
pub fn generation(card: &str) -> &'static Generation {
    let mut all = GENERATIONS.iter();
    all.find(|generation| generation.card == card).unwrap()
}

/// Firmware that takes images and gives its flash away.
const EVERY_PATH: &[BurnPath] = &[
    BurnPath::Component,
    BurnPath::Gateway,
    BurnPath::FlashRegisters,
    BurnPath::Restore,
];

/// The generations of the matrix.
pub const GENERATIONS: &[Generation] = &[
    Generation {
        name: "ConnectX-3 (FS2)",
        card: "cx3-10g",
        paths: &[BurnPath::Gateway, BurnPath::Restore],
    },
    Generation {
        name: "ConnectX-4 Lx (FS3)",
        card: "cx4lx",
        paths: EVERY_PATH,
    },
    Generation {
        name: "ConnectX-5 (FS4)",
        card: "cx5-recovery",
        paths: EVERY_PATH,
    },
    Generation {
        name: "ConnectX-6 Dx (FS4, secure)",
        card: "cx6dx",
        paths: &[BurnPath::Component],
    },
];

/// Bytes of flash: the least the builder lays out, so that a run is short.
const FLASH: u32 = 0x20_0000;
/// log2 of the slot size of FS3 and FS4: half the flash.
const SLOT_LOG2: u8 = 20;
/// Bytes of code in an image.
const CODE: u64 = 0x800;

/// What a card is and has whatever it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    psid: String,
    addresses: [u64; 4],
    vsd: String,
    /// Contents of the sections that belong to the card: addresses, manufacturing data, VPD,
    /// configuration.
    device_data: Vec<(u64, Vec<u8>)>,
}

/// What was burned, by whether it is a backup and by its number.
type Files = HashMap<(bool, u16), Arc<[u8]>>;

/// One card and what it was like at first.
pub struct Bench {
    lab: Lab,
    card: CardSpec,
    cards: Vec<pci::Card>,
    source: Arc<dyn ConfigSource>,
    factory: Vec<u8>,
    kept: Kept,
    slots: Slots,
    dir: TempDir,
    /// What was burned so far.
    files: Mutex<Files>,
}

impl Bench {
    /// A card of `generation` whose image is in `slot`; the other slot holds an old image that
    /// lost its start pattern, as every update leaves one.
    pub fn new(generation: &Generation, rule: BootRule, slot: Slot) -> Self {
        let host = host(generation.card, rule, slot);
        let card = host.cards[0].clone();
        let dir = tempfile::tempdir_in(memory()).unwrap();
        let lab = Lab::create(&dir.path().join("lab"), &host).unwrap();
        let chip = lab.chip(&card.name).unwrap();
        leave_old_image(chip, &card, slot);
        let running = running(chip);
        let factory = chip.read_flash(0, FLASH).unwrap();
        let mut bench = Self {
            cards: pci::enumerate(&lab.roots()).unwrap(),
            source: lab.config_source(),
            kept: Kept::default(),
            slots: slots(&card, &factory),
            factory,
            card,
            lab,
            dir,
            files: Mutex::default(),
        };
        bench.kept = Kept::of(&running, bench.device_data());
        bench
    }

    pub fn chip(&self) -> &Arc<Chip> {
        self.lab.chip(&self.card.name).unwrap()
    }

    pub fn roots(&self) -> cxfw::sys::Roots {
        self.lab.roots()
    }

    /// The lab's folder.
    pub fn lab_dir(&self) -> &Path {
        self.lab.dir()
    }

    /// The card's name in the lab.
    pub fn card_name(&self) -> &str {
        &self.card.name
    }

    /// The file of the chip's volatile state.
    pub fn cells(&self) -> PathBuf {
        let cards = self.lab.dir().join("cards");
        cards.join(&self.card.name).join("chip.bin")
    }

    pub fn config_source(&self) -> Arc<dyn ConfigSource> {
        Arc::clone(&self.source)
    }

    /// The card's address as administrators type it (`03:00.0`).
    pub fn address(&self) -> String {
        let address = self.card.address.to_string();
        address.trim_start_matches("0000:").to_owned()
    }

    pub fn psid(&self) -> &str {
        self.card.psid.as_str()
    }

    pub fn boots_first_pattern(&self) -> bool {
        self.card.boot_rule == BootRule::FirstPattern
    }

    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// A path beside the lab.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The flash, seen past every lock.
    pub fn flash(&self) -> Vec<u8> {
        self.chip().read_flash(0, FLASH).unwrap()
    }

    /// The card powered on with this flash, nothing counted yet.
    pub fn put_back(&self, flash: &[u8]) {
        let chip = self.chip();
        chip.write_flash(0, flash).unwrap();
        chip.boot().unwrap();
        chip.reset_counters().unwrap();
    }

    /// Nothing was done to the card that no tool may do.
    pub fn well_behaved(&self) -> Result<(), Failure> {
        let violations = self.chip().violations();
        if violations == Violations::default() {
            Ok(())
        } else {
            Err(Failure::Violation(format!("{violations:?}")))
        }
    }

    /// The card as it left the factory, powered on.
    pub fn restore(&self) {
        let chip = self.chip();
        chip.clear_faults().unwrap();
        chip.write_flash(0, &self.factory).unwrap();
        let Boot::Running(running) = chip.boot().unwrap() else {
            panic!("the factory image does not boot");
        };
        assert_eq!(version_of(&running), self.version(0));
        chip.reset_counters().unwrap();
    }

    /// The version of the `number`-th image; 0 is what the card was shipped with.
    pub fn version(&self, number: u16) -> FwVersion {
        let FwVersion { major, minor, .. } = self.card.firmware.version;
        FwVersion::new(major, minor, 1000 + number)
    }

    /// The `number`-th image, as the vendor publishes it.
    pub fn image(&self, number: u16) -> Vec<u8> {
        build_image(&image_spec(&self.card, self.version(number))).unwrap()
    }

    /// What `path` burns to have the `number`-th image run. Made once.
    pub fn file(&self, path: BurnPath, number: u16) -> Arc<[u8]> {
        let key = (path == BurnPath::Restore, number);
        let mut files = self.files.lock().unwrap();
        let file = files.entry(key).or_insert_with(|| match path {
            BurnPath::Restore => self.backup(number).into(),
            _ => self.image(number).into(),
        });
        Arc::clone(file)
    }

    /// A backup of the card as it would be with the `number`-th image.
    fn backup(&self, number: u16) -> Vec<u8> {
        let mut spec = self.card.image_spec().unwrap();
        spec.version = self.version(number);
        let backup = flash_contents(&spec, FLASH.into(), Slot::First).unwrap();
        backup.to_bytes()
    }

    /// Reads the card as cxfw does.
    pub fn survey(&self) -> Card {
        card::survey(&self.cards, &*self.source, &self.roots()).remove(0)
    }

    /// What is not as it was at first, now that `running` runs; `None` when all is.
    pub fn lost(&self, running: &Running) -> Option<String> {
        let now = Kept::of(running, self.device_data());
        (now != self.kept).then(|| format!("{now:x?} instead of {:x?}", self.kept))
    }

    /// What the card's report shows wrong.
    pub fn wrong_in(&self, card: &Card, running: FwVersion) -> Option<String> {
        let report = &card.report;
        let wrong = |what: &str| Some(format!("the query shows {what}: {report:?}"));
        if let Some(error) = &report.error {
            return Some(format!("the query fails: {error:?}"));
        }
        if report.psid.as_ref() != Some(&self.card.psid) {
            return wrong("another PSID");
        }
        let addresses = [report.base_mac, report.port_macs[0]];
        if !addresses.contains(&Some(self.card.mac)) {
            return wrong("another MAC");
        }
        let shown = [report.firmware.running, report.firmware.stored];
        if !shown.contains(&Some(running)) {
            return wrong("another version");
        }
        if report.serial.as_ref() != Some(&self.card.serial) {
            return wrong("another serial number");
        }
        None
    }

    /// The sections of the flash that belong to the card, as the factory laid them out.
    fn device_data(&self) -> Vec<(u64, Vec<u8>)> {
        let format = self.card.model().unwrap().format;
        let layout = image::flash_layout(&self.factory, format).unwrap();
        layout
            .sections
            .iter()
            .filter(|section| section.device_data)
            .map(|section| {
                let address = u32::try_from(section.physical).unwrap();
                let size = u32::try_from(section.size).unwrap();
                let bytes = self.chip().read_flash(address, size).unwrap();
                (section.physical, bytes)
            })
            .collect()
    }
}

/// What runs on a chip that must run something.
fn running(chip: &Chip) -> Running {
    match chip.boot().unwrap() {
        Boot::Running(running) => *running,
        Boot::Recovery => panic!("the factory image does not boot"),
    }
}

/// Version of what runs.
pub fn version_of(running: &Running) -> FwVersion {
    let [major, minor, subminor] = running.version;
    FwVersion::new(major, minor, subminor)
}

impl Default for Kept {
    fn default() -> Self {
        Self::of(&Running::default(), Vec::new())
    }
}

impl Kept {
    fn of(running: &Running, device_data: Vec<(u64, Vec<u8>)>) -> Self {
        let all = [
            running.guid,
            running.mac,
            running.original_guid,
            running.original_mac,
        ];
        Self {
            psid: running.psid.clone(),
            addresses: all.map(|base| base.value),
            vsd: running.device_vsd.clone(),
            device_data,
        }
    }
}

fn host(name: &str, rule: BootRule, slot: Slot) -> HostSpec {
    let mut host = HostSpec::default_host().unwrap();
    host.cards.retain(|card| card.name == name);
    host.adapters.clear();
    host.offers.clear();
    for card in &mut host.cards {
        card.recovery = false;
        card.boot_rule = rule;
        card.firmware.code_size = CODE;
        card.firmware.roms.clear();
        card.firmware.version.subminor = 1000;
        card.flash.size = FLASH;
        card.flash.slot = slot;
        if card.flash.slot_log2 != Some(19) {
            card.flash.slot_log2 = Some(SLOT_LOG2);
        }
    }
    host
}

/// Where this card's images lie.
fn slots(card: &CardSpec, factory: &[u8]) -> Slots {
    let format = card.model().unwrap().format;
    let layout = image::flash_layout(&factory, format).unwrap();
    let size = 1usize << layout.slot_log2.unwrap();
    let device = layout.sections.iter().filter(|one| one.device_data);
    let owned: Vec<usize> = device
        .map(|section| section.physical)
        .chain(layout.dtoc)
        .map(|at| usize::try_from(at).unwrap())
        .collect();
    let range = |start: usize| {
        let above = owned.iter().copied().filter(|&at| at >= start);
        (start, above.chain([start + size]).min().unwrap())
    };
    Slots {
        format,
        ranges: [range(0), range(size)],
    }
}

/// The image of a board as it is published, without the card's own data.
fn image_spec(card: &CardSpec, version: FwVersion) -> ImageSpec {
    let published = ImageSpec::new(card.model().unwrap(), card.psid.clone(), version);
    ImageSpec {
        version,
        device: published.device,
        ..card.image_spec().unwrap()
    }
}

/// Writes an image without start pattern into the slot that `slot` is not.
fn leave_old_image(chip: &Chip, card: &CardSpec, slot: Slot) {
    let other = match slot {
        Slot::First => Slot::Second,
        Slot::Second => Slot::First,
    };
    let mut spec = card.image_spec().unwrap();
    spec.version.subminor = 999;
    let contents = flash_contents(&spec, FLASH.into(), other).unwrap();
    let (address, mut bytes) = contents.runs[0].clone();
    bytes[..4].fill(0);
    chip.write_flash(u32::try_from(address).unwrap(), &bytes)
        .unwrap();
}

/// A folder in memory where there is one, for the labs are written again and again.
fn memory() -> std::path::PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}
