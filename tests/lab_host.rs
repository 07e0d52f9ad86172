//! A lab as its users meet it: made, opened, enumerated, reset.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic is the report of a failure"
)]

use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cxfw::bytes::{ByteSource, ReadError};
use cxfw::flash::lock::CardLock;
use cxfw::image;
use cxfw::lab::chip::{Boot, Chip};
use cxfw::lab::host::HostSpec;
use cxfw::lab::{Lab, LabError};
use cxfw::pci::{self, CardKind};

/// The default lab, made anew for each run of the tests, which only look at it.
static DEFAULT: LazyLock<Lab> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("default-lab");
    if dir.exists() {
        fs::remove_dir_all(&dir).unwrap();
    }
    let (lab, created) = Lab::open_or_create(&dir).unwrap();
    assert!(created);
    lab
});

/// The flash part of a card, as a programmer clipped to it reads it.
struct Part<'a>(&'a Chip);

impl ByteSource for Part<'_> {
    fn size(&self) -> u64 {
        self.0.spec().flash_size.into()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        let failed = |reason: String| ReadError::Failed {
            offset,
            reason: reason.into(),
        };
        let address = u32::try_from(offset).map_err(|error| failed(error.to_string()))?;
        let count = u32::try_from(len).map_err(|error| failed(error.to_string()))?;
        let bytes = self
            .0
            .read_flash(address, count)
            .map_err(|error| failed(error.to_string()))?;
        Ok(Cow::Owned(bytes))
    }
}

/// A lab of one card, the ConnectX-4 Lx.
fn small_host() -> HostSpec {
    let mut host = HostSpec::default_host().unwrap();
    host.cards.retain(|card| card.name == "cx4lx");
    host.offers.clear();
    host
}

fn small_lab() -> (tempfile::TempDir, Lab) {
    let dir = tempfile::tempdir().unwrap();
    let lab = Lab::create(&dir.path().join("lab"), &small_host()).unwrap();
    (dir, lab)
}

#[test]
fn the_default_host_enumerates_as_its_cards_and_nothing_else() {
    let lab = &*DEFAULT;
    let cards = pci::enumerate(&lab.roots()).unwrap();
    let found: Vec<(String, usize, CardKind)> = cards
        .iter()
        .map(|card| {
            let first = card.functions.first().unwrap().address;
            (first.to_string(), card.functions.len(), card.kind)
        })
        .collect();
    let functional = CardKind::Functional;
    let expected = [
        ("0000:01:00.0", 1, functional),
        ("0000:02:00.0", 1, functional),
        ("0000:03:00.0", 2, functional),
        ("0000:04:00.0", 1, functional),
        ("0000:05:00.0", 1, functional),
        ("0000:41:00.0", 2, functional),
        ("0000:81:00.0", 1, CardKind::Recovery),
    ]
    .map(|(address, functions, kind)| (address.to_owned(), functions, kind));
    assert_eq!(found, expected);
}

#[test]
fn the_connectx_4_lx_looks_as_the_kernel_shows_one() {
    let (_dir, lab) = small_lab();
    let cards = pci::enumerate(&lab.roots()).unwrap();
    let card = pci::find(&cards, "mlx5_0").unwrap();
    let function = card.functions.first().unwrap();
    assert_eq!(function.device, 0x1015);
    assert_eq!(function.driver.as_deref(), Some("mlx5_core"));
    assert_eq!(function.net, ["enp3s0f0np0"]);
    assert_eq!(function.class, 0x02_0000);
    let vpd = pci::Vpd::read(function).unwrap();
    assert_eq!(vpd.part_number().as_deref(), Some("MCX4121A-ACAT"));
    assert_eq!(vpd.serial().as_deref(), Some("MT1903K04712"));
    let class = lab.roots().sysfs.join("class/infiniband/mlx5_0");
    let read = |name: &str| fs::read_to_string(class.join(name)).unwrap();
    assert_eq!(read("fw_ver"), "14.25.1020\n");
    assert_eq!(read("board_id"), "MT_2420110034\n");
    assert_eq!(read("hca_type"), "MT4117\n");
    assert_eq!(read("device/current_link_width"), "4\n");
    assert_eq!(read("device/max_link_width"), "8\n");
    assert_eq!(read("device/../max_link_width"), "4\n");
}

#[test]
fn the_pci_x_adapter_sits_behind_its_bridge() {
    let devices = DEFAULT.roots().sysfs.join("bus/pci/devices");
    let adapter = devices.join("0000:09:01.0");
    let place = fs::read_link(&adapter).unwrap();
    assert!(
        place.ends_with("devices/pci0000:00/0000:00:1c.6/0000:08:00.0/0000:09:01.0"),
        "{}",
        place.display()
    );
    // PCI-X has no PCIe link, but its own capability.
    assert!(!adapter.join("current_link_speed").exists());
    let config = fs::read(adapter.join("config")).unwrap();
    assert_eq!(config.len(), 256);
    assert_eq!(config[usize::from(config[0x34])], 0x07);
    // Primary, secondary and last bus of the port above both.
    let port = fs::read(devices.join("0000:00:1c.6/config")).unwrap();
    assert_eq!(port[0x18..0x1b], [0, 8, 9]);
}

#[test]
fn every_card_s_flash_holds_the_firmware_of_its_description() {
    let lab = &*DEFAULT;
    for card in &lab.host().cards {
        let model = card.model().unwrap();
        let part = Part(lab.chip(&card.name).unwrap());
        let queried = image::query_flash(&part, model.format);
        if card.recovery {
            assert!(queried.is_err(), "{}", card.name);
            continue;
        }
        let info = queried.unwrap();
        assert_eq!(info.version, Some(card.firmware.version), "{}", card.name);
        assert_eq!(info.date, Some(card.firmware.date), "{}", card.name);
        assert_eq!(info.psid.as_ref(), Some(&card.psid), "{}", card.name);
        let roms: Vec<String> = info
            .roms
            .iter()
            .map(cxfw::image::RomInfo::version_text)
            .collect();
        let described: Vec<String> = card
            .firmware
            .roms
            .iter()
            .map(|rom| rom.version.to_string())
            .collect();
        assert_eq!(roms, described, "{}", card.name);
    }
}

#[test]
fn every_card_boots_what_its_flash_holds() {
    let lab = &*DEFAULT;
    for (status, card) in lab.status().unwrap().iter().zip(&lab.host().cards) {
        match &status.boot {
            Some(Boot::Running(running)) => {
                assert!(!card.recovery);
                let version = card.firmware.version;
                assert_eq!(
                    running.version,
                    [version.major, version.minor, version.subminor]
                );
            }
            Some(Boot::Recovery) => assert!(card.recovery, "{}", card.name),
            None => panic!("{} has no power", card.name),
        }
    }
}

#[test]
fn the_bundle_offers_every_image_of_the_description() {
    let lab = &*DEFAULT;
    let file = fs::read_dir(lab.bundle_dir())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let bundle = cxfw::bundle::Bundle::open(&file).unwrap();
    assert_eq!(bundle.entries().len(), lab.host().offers.len());
    for (entry, offer) in bundle.entries().iter().zip(&lab.host().offers) {
        assert_eq!(entry.psid.as_ref(), Some(&offer.psid));
        assert_eq!(entry.firmware(), Some(offer.firmware.version));
        assert_eq!(entry.part_number.as_ref(), Some(&offer.part_number));
        assert_eq!(entry.versions.len(), 1 + offer.firmware.roms.len());
        let bytes = bundle.read(entry.index).unwrap();
        let info = image::query(&bytes).unwrap();
        assert_eq!(info.psid.as_ref(), Some(&offer.psid));
        assert_eq!(info.version, Some(offer.firmware.version));
        assert!(image::verify(&bytes).failure.is_none(), "{}", offer.psid);
    }
}

#[test]
fn a_reset_takes_a_broken_card_off_its_driver_and_a_repaired_one_back() {
    let (_dir, lab) = small_lab();
    let chip = lab.chip("cx4lx").unwrap();
    let pattern = chip.read_flash(0, 4).unwrap();
    chip.write_flash(0, &[0; 4]).unwrap();
    let device = || {
        let cards = pci::enumerate(&lab.roots()).unwrap();
        let card = pci::find(&cards, "0000:03:00.0").unwrap().clone();
        let first = card.functions.first().unwrap();
        (
            card.functions.len(),
            first.device,
            first.driver.clone(),
            first.net.len(),
        )
    };
    assert_eq!(device().1, 0x1015);
    lab.reset().unwrap();
    assert_eq!(device(), (1, 0x20b, None, 0));
    chip.write_flash(0, &pattern).unwrap();
    lab.reset().unwrap();
    assert_eq!(device(), (2, 0x1015, Some("mlx5_core".to_owned()), 1));
}

#[test]
fn configuration_space_is_that_of_the_tree() {
    let (_dir, lab) = small_lab();
    let source = lab.config_source();
    for card in pci::enumerate(&lab.roots()).unwrap() {
        for function in &card.functions {
            let live = source.open(function.address).unwrap();
            let ids = live.read(0).unwrap();
            assert_eq!(ids & 0xffff, u32::from(function.vendor));
            assert_eq!(ids >> 16, u32::from(function.device));
        }
    }
    let foreign = source.open("0000:06:00.0".parse().unwrap());
    let message = foreign.err().unwrap().to_string();
    assert!(
        message.contains("sys/bus/pci/devices/0000:06:00.0/config"),
        "{message}"
    );
}

#[test]
fn erased_flash_takes_no_room_on_disk() {
    let lab = &*DEFAULT;
    for card in &lab.host().cards {
        let file = lab.dir().join("cards").join(&card.name).join("flash.bin");
        let metadata = fs::metadata(file).unwrap();
        assert_eq!(metadata.len(), u64::from(card.flash.size));
        assert!(metadata.blocks() * 512 < card.firmware.code_size + 0x4_0000);
    }
}

#[test]
fn what_is_no_lab_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), "years of work").unwrap();
    let host = HostSpec::default_host().unwrap();
    assert!(matches!(
        Lab::create(dir.path(), &host),
        Err(LabError::NotALab(_))
    ));
    assert!(matches!(
        Lab::open_or_create(dir.path()),
        Err(LabError::NotALab(_))
    ));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    let missing = dir.path().join("missing");
    assert!(matches!(Lab::open(&missing), Err(LabError::Missing(_))));
}

#[test]
fn a_lab_is_made_once_and_lasts() {
    let dir = tempfile::tempdir().unwrap();
    let host = small_host();
    drop(Lab::create(dir.path(), &host).unwrap());
    let (lab, created) = Lab::open_or_create(dir.path()).unwrap();
    assert!(!created);
    assert_eq!(lab.host(), &host);
    assert!(matches!(
        Lab::create(dir.path(), &host),
        Err(LabError::Exists(_))
    ));
}

#[test]
fn of_makers_at_the_same_time_one_wins_and_nothing_is_left_of_the_others() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("lab");
    let host = small_host();
    let made: Vec<Result<Lab, LabError>> = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| Lab::create(&dir, &host)))
            .collect();
        makers
            .into_iter()
            .map(|maker| maker.join().unwrap())
            .collect()
    });
    assert_eq!(made.iter().filter(|lab| lab.is_ok()).count(), 1);
    for lost in made.into_iter().filter_map(Result::err) {
        assert!(matches!(lost, LabError::Exists(_)), "{lost}");
    }
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    Lab::open(&dir).unwrap();
}

#[test]
fn a_lab_in_use_is_not_replaced() {
    let (_dir, lab) = small_lab();
    let held = CardLock::take(&lab.roots(), "serial-X", Duration::ZERO).unwrap();
    let path = lab.dir().to_owned();
    let refused = Lab::replace(&path, &HostSpec::default_host().unwrap()).unwrap_err();
    assert!(
        refused.to_string().contains("is in use: ")
            && refused.to_string().contains("locks/serial-X.lock"),
        "{refused}"
    );
    assert_eq!(Lab::open(&path).unwrap().host(), &small_host());
    drop(held);
    Lab::replace(&path, &small_host()).unwrap();
}

#[test]
fn a_lab_stands_until_the_one_that_replaces_it_is_whole() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("lab");
    drop(Lab::create(&dir, &small_host()).unwrap());
    let mut too_large = small_host();
    too_large.cards[0].firmware.code_size = 14 << 20;
    let refused = Lab::replace(&dir, &too_large).unwrap_err();
    assert!(matches!(refused, LabError::Image { .. }), "{refused}");
    assert_eq!(Lab::open(&dir).unwrap().host(), &small_host());

    let mut other = small_host();
    other.cards[0].serial = "MT1900X00009".to_owned();
    let (file, done) = (dir.join("lab.json"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(file.exists());
            }
        });
        Lab::replace(&dir, &other).unwrap();
        done.store(true, Ordering::Relaxed);
        watcher.join().unwrap();
    });
    assert_eq!(Lab::open(&dir).unwrap().host(), &other);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
}

#[test]
fn a_damaged_lab_can_be_replaced_but_never_what_is_none() {
    let (_dir, lab) = small_lab();
    let path = lab.dir().to_owned();
    drop(lab);
    fs::write(path.join("cards/cx4lx/flash.bin"), "short").unwrap();
    assert!(matches!(Lab::open(&path), Err(LabError::Chip(_))));
    drop(Lab::replace(&path, &small_host()).unwrap());
    fs::remove_file(path.join("lab.json")).unwrap();
    assert!(matches!(
        Lab::replace(&path, &small_host()),
        Err(LabError::NotALab(_))
    ));
}

#[test]
fn names_in_a_lab_file_that_lead_out_of_the_lab_are_refused() {
    let (_dir, lab) = small_lab();
    let path = lab.dir().join("lab.json");
    let text = fs::read_to_string(&path).unwrap();
    let net = &lab.host().cards[0].functions[0].net[0];
    assert!(text.contains(net.as_str()));
    fs::write(&path, text.replace(net.as_str(), "../../../../../evil")).unwrap();
    let refused = Lab::open(lab.dir()).unwrap_err().to_string();
    assert!(
        refused.contains("lab.json: network interface `../../../../../evil`"),
        "{refused}"
    );
}

#[test]
fn a_link_to_an_empty_folder_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, link) = (dir.path().join("folder"), dir.path().join("link"));
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    Lab::create(&link, &small_host()).unwrap();
    assert!(folder.join("lab.json").exists());
}

#[test]
fn a_lab_file_of_another_form_is_named() {
    let (dir, lab) = small_lab();
    drop(lab);
    let path = dir.path().join("lab");
    fs::write(path.join("lab.json"), "{\"schema\":\"cxfw.lab/0\"}").unwrap();
    let message = Lab::open(&path).unwrap_err().to_string();
    assert!(message.contains("lab.json"), "{message}");
}
