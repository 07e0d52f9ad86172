//! The cards of the default lab host, as a query reads them.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic is the report of a failure"
)]

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use cxfw::access::Way;
use cxfw::card::{self, Card, CardReport, UpdatePath};
use cxfw::image::SecurityAttribute;
use cxfw::lab::Lab;
use cxfw::lab::chip::Violations;
use cxfw::model::ImageFormat;
use cxfw::pci::{self, Address, ConfigError, ConfigSource, ConfigSpace};

/// Config cycles the reference tool spends on the query of a ConnectX-5 (witness).
const REFERENCE_CYCLES: u32 = 6900;

fn default_lab() -> (tempfile::TempDir, Lab) {
    let dir = tempfile::tempdir().unwrap();
    let (lab, _) = Lab::open_or_create(&dir.path().join("lab")).unwrap();
    (dir, lab)
}

fn survey(lab: &Lab, source: &dyn ConfigSource) -> Vec<Card> {
    let cards = pci::enumerate(&lab.roots()).unwrap();
    card::survey(&cards, source, &lab.roots())
}

/// Config cycles a chip has seen.
fn cycles(lab: &Lab, name: &str) -> u32 {
    let counters = lab.chip(name).unwrap().counters();
    counters.config_reads + counters.config_writes
}

fn at<'a>(cards: &'a [Card], address: &str) -> &'a CardReport {
    let found = cards.iter().find(|card| card.report.device == address);
    &found.unwrap().report
}

/// What happens to one card of a host when it is opened.
#[derive(Clone, Copy)]
enum Trouble {
    Lockdown,
    NotRoot,
    Gone,
    Panic,
}

/// Opens every card but one, which is in trouble.
struct Troubled {
    source: Arc<dyn ConfigSource>,
    address: Address,
    trouble: Trouble,
}

impl ConfigSource for Troubled {
    fn open(&self, address: Address) -> Result<Arc<dyn ConfigSpace>, ConfigError> {
        if address != self.address {
            return self.source.open(address);
        }
        let not_writable = |lockdown: Option<&str>| ConfigError::NotWritable {
            path: PathBuf::from(format!("/sys/bus/pci/devices/{address}/config")),
            source: io::Error::from(io::ErrorKind::PermissionDenied),
            lockdown: lockdown.map(str::to_owned),
        };
        match self.trouble {
            Trouble::Lockdown => Err(not_writable(Some("integrity"))),
            Trouble::NotRoot => Err(not_writable(None)),
            Trouble::Gone => Ok(Arc::new(AllOnes)),
            Trouble::Panic => panic!("the reader of {address} breaks down"),
        }
    }
}

/// A function that left the bus.
struct AllOnes;

impl ConfigSpace for AllOnes {
    fn read(&self, _offset: u16) -> Result<u32, ConfigError> {
        Ok(u32::MAX)
    }

    fn write(&self, _offset: u16, _value: u32) -> Result<(), ConfigError> {
        Ok(())
    }

    fn device(&self) -> String {
        "0000:03:00.0".to_owned()
    }
}

const CONNECTX_4_LX: &str = "0000:03:00.0";

#[test]
fn a_connectx_4_lx_is_read_through_its_firmware() {
    let (_dir, lab) = default_lab();
    let cards = survey(&lab, &*lab.config_source());
    let card = at(&cards, CONNECTX_4_LX);
    assert_eq!(card.functions, ["0000:03:00.0", "0000:03:00.1"]);
    assert_eq!(card.net, ["enp3s0f0np0", "enp3s0f1np1"]);
    assert_eq!(card.rdma, ["mlx5_0", "mlx5_1"]);
    assert_eq!(card.mst.as_deref(), Some("mt4117_pciconf0"));
    assert_eq!(
        (card.pci_id, card.subsystem_id),
        ((0x15b3, 0x1015), (0x15b3, 3))
    );
    assert_eq!(card.model.unwrap().name, "ConnectX4LX");
    assert_eq!(card.part_number.as_deref(), Some("MCX4121A-ACA_Ax"));
    assert!(
        card.description
            .as_deref()
            .unwrap()
            .starts_with("ConnectX-4 Lx EN")
    );
    assert_eq!(card.serial.as_deref(), Some("MT1903K04712"));
    assert_eq!(card.psid.as_ref().unwrap().as_str(), "MT_2420110034");
    assert_eq!(card.base_mac.unwrap().to_string(), "0c42a1000000");
    assert_eq!(card.firmware.running.unwrap().to_string(), "14.25.1020");
    assert_eq!(card.firmware.stored, card.firmware.running);
    assert_eq!(card.firmware.date.unwrap().to_string(), "2019-02-05");
    let roms: Vec<String> = card
        .roms
        .iter()
        .map(|rom| format!("{} {}", rom.kind, rom.version_text()))
        .collect();
    assert_eq!(roms, ["PXE 3.5.0701", "UEFI 14.18.0019"]);
    assert_eq!(card.format, Some(ImageFormat::Fs3));
    assert_eq!(card.access, Some(Way::Vsec));
    assert_eq!(card.update_path, Some(UpdatePath::Component));
    assert_eq!(card.link.as_ref().unwrap().width, Some(4));
    assert_eq!(card.error, None);
}

#[test]
fn a_connectx_3_is_read_from_its_flash_and_runs_what_the_driver_says() {
    let (_dir, lab) = default_lab();
    let cards = survey(&lab, &*lab.config_source());
    let card = at(&cards, "0000:04:00.0");
    assert_eq!(card.psid.as_ref().unwrap().as_str(), "HP_0280210019");
    assert_eq!(card.firmware.stored.unwrap().to_string(), "2.35.5100");
    assert_eq!(card.firmware.running.unwrap().to_string(), "2.35.5100");
    assert_eq!(card.firmware.date.unwrap().to_string(), "2015-09-15");
    assert_eq!(card.port_macs[0].unwrap().to_string(), "24be05b0f3c1");
    assert_eq!(card.port_guids[0].unwrap().to_string(), "24be05ffffb0f3c1");
    assert_eq!((card.base_mac, card.base_guid), (None, None));
    assert_eq!(card.format, Some(ImageFormat::Fs2));
    assert_eq!(card.access, Some(Way::LegacyGateway));
    assert_eq!(card.update_path, Some(UpdatePath::Direct));
    assert_eq!(card.error, None);
}

#[test]
fn secure_firmware_says_so() {
    let (_dir, lab) = default_lab();
    let cards = survey(&lab, &*lab.config_source());
    let card = at(&cards, "0000:41:00.0");
    assert_eq!(card.security, [SecurityAttribute::SecureFw]);
    assert_eq!(card.firmware.stored.unwrap().to_string(), "22.39.1002");
    assert_eq!(card.error, None);
}

#[test]
fn a_card_in_recovery_is_flagged_and_says_what_its_flash_still_tells() {
    let (_dir, lab) = default_lab();
    let cards = survey(&lab, &*lab.config_source());
    let card = at(&cards, "0000:81:00.0");
    assert!(card.recovery);
    assert_eq!(card.model.unwrap().long_name, "ConnectX-5");
    assert_eq!(
        (card.firmware.running, card.firmware.stored, &card.roms),
        (None, None, &Vec::new())
    );
    // what a broken-off burn left on the flash still says who the card is
    let told = |text: Option<String>| text.unwrap();
    assert_eq!(
        told(card.psid.as_ref().map(ToString::to_string)),
        "MT_0000000010"
    );
    assert_eq!(
        told(card.base_mac.map(|mac| mac.to_string())),
        "506b4b2fe7a8"
    );
    let error = card.error.as_ref().unwrap();
    assert_eq!(error.code, "recovery");
    let advice = error.advice.as_ref().unwrap();
    assert!(advice.contains("`cxfw update -d 0000:81:00.0 --image FILE`"));
    assert!(cards.iter().filter(|card| card.report.recovery).count() == 1);
}

#[test]
fn a_query_through_firmware_takes_a_third_of_the_reference_tools_config_cycles() {
    let (_dir, lab) = default_lab();
    let before = ["cx4lx", "cx4", "cx6dx"].map(|name| (name, cycles(&lab, name)));
    survey(&lab, &*lab.config_source());
    for (name, before) in before {
        let spent = cycles(&lab, name) - before;
        assert!(spent <= REFERENCE_CYCLES / 3, "{name}: {spent}");
    }
}

#[test]
fn a_query_does_nothing_a_tool_must_never_do() {
    let (_dir, lab) = default_lab();
    survey(&lab, &*lab.config_source());
    for card in &lab.host().cards {
        let chip = lab.chip(&card.name).unwrap();
        assert_eq!(chip.violations(), Violations::default(), "{}", card.name);
        assert_eq!(chip.counters().flash_programs, 0, "{}", card.name);
        assert_eq!(chip.counters().flash_erases, 0, "{}", card.name);
    }
}

#[test]
fn a_card_that_cannot_be_read_says_why_and_never_stops_the_others() {
    let (_dir, lab) = default_lab();
    for (trouble, code) in [
        (Trouble::Lockdown, "lockdown"),
        (Trouble::NotRoot, "not_root"),
        (Trouble::Gone, "gone"),
        (Trouble::Panic, "internal"),
    ] {
        let source = Troubled {
            source: lab.config_source(),
            address: CONNECTX_4_LX.parse().unwrap(),
            trouble,
        };
        let cards = survey(&lab, &source);
        assert_eq!(cards.len(), 7);
        let card = at(&cards, CONNECTX_4_LX);
        let error = card.error.as_ref().unwrap();
        assert_eq!(error.code, code, "{}", error.message);
        assert!(error.advice.is_some(), "{code}");
        assert_eq!(card.update_path, None, "{code}");
        let read = cards
            .iter()
            .filter(|card| card.report.error.is_none())
            .count();
        assert_eq!(read, 5, "{code}: all but this one and the one in recovery");
    }
}

#[test]
fn version_and_psid_of_a_card_that_cannot_be_opened_come_from_the_driver() {
    let (_dir, lab) = default_lab();
    let source = Troubled {
        source: lab.config_source(),
        address: CONNECTX_4_LX.parse().unwrap(),
        trouble: Trouble::Lockdown,
    };
    let cards = survey(&lab, &source);
    let card = at(&cards, CONNECTX_4_LX);
    assert_eq!(card.psid.as_ref().unwrap().as_str(), "MT_2420110034");
    assert_eq!(card.firmware.running.unwrap().to_string(), "14.25.1020");
    assert_eq!(card.firmware.stored, None, "only the card knows");
    assert_eq!(card.base_mac, None);
    let error = card.error.as_ref().unwrap();
    assert!(error.message.contains("integrity"), "{}", error.message);
}

#[test]
fn a_psid_the_driver_contradicts_is_not_burned() {
    let (_dir, lab) = default_lab();
    let cards = pci::enumerate(&lab.roots()).unwrap();
    let functions = cards.iter().flat_map(|card| &card.functions);
    let function = functions
        .clone()
        .find(|function| function.address.to_string() == CONNECTX_4_LX)
        .unwrap();
    let board_id = function.path.join("infiniband/mlx5_0/board_id");
    std::fs::write(board_id, "MT_2410110034\n").unwrap();
    let cards = survey(&lab, &*lab.config_source());
    let card = at(&cards, CONNECTX_4_LX);
    assert_eq!(card.psid.as_ref().unwrap().as_str(), "MT_2420110034");
    assert_eq!(card.update_path, None);
    assert_eq!(card.error.as_ref().unwrap().code, "psid_conflict");
}
