//! Reading all cards of a host at once, one thread a card: a card that fails, or breaks the
//! thread that reads it, never stops the others.

use crate::access::{Device, RecoveryState};
use crate::bytes::{ByteSource, ReadError};
use crate::image::ImageError;
use crate::model::{self, Model};
use crate::pci::inventory::is_serial;
use crate::pci::vpd::Vpd;
use crate::pci::{self, CardKind, ConfigSource, Link};
use crate::sys::Roots;

use super::error::CardError;
use super::from_sysfs::{self, KernelFacts};
use super::report::{CardReport, Firmware, UpdatePath};
use super::{from_flash, live};

/// Bytes that are read twice of a flash that seems to hold nothing.
const LOOKED_AT: u64 = 0x1000;

/// One card: where it is, the way to its insides if there is one, and what it says of itself.
pub struct Card {
    /// Its functions.
    pub pci: pci::Card,
    /// Open way to the chip; `None` when it could not be opened.
    pub device: Option<Device>,
    /// What was read.
    pub report: CardReport,
}

/// Reads every card, in the order given.
///
/// `roots` says where lock files are: what a dead process left held on a card is found and freed
/// by them.
#[must_use]
pub fn survey(cards: &[pci::Card], source: &dyn ConfigSource, roots: &Roots) -> Vec<Card> {
    std::thread::scope(|scope| {
        let readers: Vec<_> = cards
            .iter()
            .map(|card| scope.spawn(move || read(card, source, roots)))
            .collect();
        readers
            .into_iter()
            .zip(cards)
            .map(|(reader, card)| reader.join().unwrap_or_else(|_| broken(card)))
            .collect()
    })
}

/// A card whose reader broke down.
fn broken(card: &pci::Card) -> Card {
    let mut report = outside(card);
    report.note(CardError::internal(&report.device));
    Card {
        pci: card.clone(),
        device: None,
        report,
    }
}

fn read(card: &pci::Card, source: &dyn ConfigSource, roots: &Roots) -> Card {
    let mut report = outside(card);
    vpd(card, &mut report);
    let device = match open(card, source, roots, report.model) {
        Ok(device) => {
            inside(&device, &mut report);
            Some(device)
        }
        Err(error) => {
            report.note(error);
            None
        }
    };
    second_witness(&from_sysfs::read(card), &mut report);
    Card {
        pci: card.clone(),
        device,
        report,
    }
}

/// The report as far as enumeration tells.
fn outside(card: &pci::Card) -> CardReport {
    let first = card.functions.first();
    let names = |list: fn(&pci::Function) -> &Vec<String>| {
        card.functions.iter().flat_map(list).cloned().collect()
    };
    let device_id = first.map_or(0, |function| function.device);
    CardReport {
        device: first.map_or_else(String::new, |function| function.address.to_string()),
        functions: card
            .functions
            .iter()
            .map(|function| function.address.to_string())
            .collect(),
        net: names(|function| &function.net),
        rdma: names(|function| &function.rdma),
        mst: Some(card.mst.clone()),
        pci_id: first.map_or((0, 0), |function| (function.vendor, function.device)),
        subsystem_id: first.map_or((0, 0), |function| {
            (function.subsystem_vendor, function.subsystem_device)
        }),
        model: model::by_pci_id(device_id).or_else(|| model::by_recovery_id(device_id)),
        hw_id: None,
        recovery: card.kind == CardKind::Recovery,
        part_number: None,
        description: None,
        serial: None,
        psid: None,
        original_psid: None,
        base_mac: None,
        original_base_mac: None,
        base_guid: None,
        port_macs: [None; 2],
        port_guids: [None; 2],
        port_types: [None; 2],
        firmware: Firmware::default(),
        roms: Vec::new(),
        security: Vec::new(),
        format: None,
        access: None,
        update_path: None,
        link: first.and_then(Link::read),
        warnings: Vec::new(),
        error: None,
    }
}

/// A report of nothing, for tests.
#[cfg(test)]
pub(super) fn blank() -> CardReport {
    outside(&pci::Card {
        functions: Vec::new(),
        kind: CardKind::Functional,
        mst: String::new(),
    })
}

/// Part number, serial number and description from VPD. A card without is nothing special.
fn vpd(card: &pci::Card, report: &mut CardReport) {
    let Some(vpd) = card.functions.first().and_then(|f| Vpd::read(f).ok()) else {
        return;
    };
    report.part_number = vpd.part_number().filter(|text| is_serial(text));
    report.serial = vpd.serial().filter(|text| is_serial(text));
    report.description = Some(vpd.identifier.trim().to_owned()).filter(|text| !text.is_empty());
}

fn open(
    card: &pci::Card,
    source: &dyn ConfigSource,
    roots: &Roots,
    model: Option<&'static Model>,
) -> Result<Device, CardError> {
    let function = card
        .functions
        .first()
        .ok_or_else(|| CardError::new("cannot_open", "the card has no function to open", ""))?;
    let config = source
        .open(function.address)
        .map_err(|error| CardError::from(&error))?;
    Device::open_shared(config, model, &roots.locks).map_err(|error| CardError::from(&error))
}

/// What the chip itself says.
fn inside(device: &Device, report: &mut CardReport) {
    report.access = Some(device.way());
    match device.hw_id() {
        Ok(hw_id) => {
            report.hw_id = Some(hw_id);
            report.model = report.model.or_else(|| model::by_hw_id(hw_id.id));
        }
        Err(error) => report.note(&error),
    }
    match device.recovery_state() {
        Ok(state) => report.recovery |= state != RecoveryState::Running,
        Err(error) => report.note(&error),
    }
    if report.recovery {
        let chip = report.model.map_or("the chip", |model| model.long_name);
        report.note(CardError::recovery(&report.device, chip));
        flash(device, report);
        if let Some(version) = report.firmware.stored {
            let waits = if report.says_who_it_is() {
                CardError::not_booted
            } else {
                CardError::unknown_card
            };
            let device = &report.device;
            report.error = report.error.take().map(|error| match error.code {
                CardError::RECOVERY => waits(device, chip, version),
                _ => error,
            });
        }
    } else if let Some(registers) = device.registers() {
        live::read(registers, report);
    } else {
        flash(device, report);
    }
}

/// What the flash says. Burning such a card takes direct flash access.
fn flash(device: &Device, report: &mut CardReport) {
    let Some(model) = report.model else {
        return report.note(CardError::new(
            "unknown_chip",
            "the chip is unknown and no firmware answers, so its flash cannot be read",
            "a newer cxfw may know it",
        ));
    };
    report.update_path = Some(UpdatePath::Direct);
    match device.flash(model) {
        Ok(flash) => {
            if let Err(error) = contents(&flash, model, report) {
                flash_unread(report, error);
            }
        }
        Err(error) => flash_unread(report, (&error).into()),
    }
}

/// What the flash holds. One that seems to hold nothing is looked at once more: a wrong bit on
/// reading is no empty flash.
fn contents(
    flash: &dyn ByteSource,
    model: &'static Model,
    report: &mut CardReport,
) -> Result<(), CardError> {
    let warnings = report.warnings.len();
    let failed = match from_flash::read(flash, model.format, report) {
        Ok(()) => return Ok(()),
        Err(error @ ImageError::Read { .. }) => return Err((&error).into()),
        Err(error) => error,
    };
    if let Some(at) = wavers(flash).map_err(|error| CardError::from(&error))? {
        return Err(CardError::unsteady(at));
    }
    report.warnings.truncate(warnings);
    match from_flash::read(flash, model.format, report) {
        Ok(()) => {
            report.warnings.push(CardError::misread(&failed));
            Ok(())
        }
        Err(error) => Err((&error).into()),
    }
}

/// The first place at the beginning of the flash that does not read twice the same.
fn wavers(flash: &dyn ByteSource) -> Result<Option<u64>, ReadError> {
    let len = LOOKED_AT.min(flash.size());
    let (first, second) = (flash.read(0, len)?, flash.read(0, len)?);
    let pairs = (0..).zip(first.iter().zip(second.iter()));
    Ok(pairs
        .into_iter()
        .find_map(|(at, (a, b))| (a != b).then_some(at)))
}

/// The flash of a card in recovery is expected to hold no image; that it cannot be read is another
/// matter, and not the card's state.
fn flash_unread(report: &mut CardReport, error: CardError) {
    if report.recovery && error.code != "no_valid_image" {
        let error = error.clone().of(&report.device);
        report.warnings.push(error.with_advice());
    }
    report.note(error);
}

/// What the kernel says fills in what the card did not, and must not contradict it: a card whose
/// PSID is in doubt is not burned.
fn second_witness(kernel: &KernelFacts, report: &mut CardReport) {
    if report.recovery {
        return;
    }
    report.firmware.running = report.firmware.running.or(kernel.running);
    report.port_types = kernel.ports;
    match (&report.psid, &kernel.psid) {
        (None, Some(psid)) => report.psid = Some(psid.clone()),
        (Some(card), Some(psid)) if card != psid => {
            report.update_path = None;
            report.note(CardError::new(
                "psid_conflict",
                format!("the card says its PSID is {card}, the driver says {psid}"),
                "reload the driver or restart the machine, then query again",
            ));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::build::{ImageSpec, build_image};
    use crate::version::FwVersion;
    use std::borrow::Cow;
    use std::cell::Cell;

    /// A flash of which some of the first readings have a wrong bit.
    struct Whim {
        bytes: Vec<u8>,
        wrong: Cell<u32>,
    }

    impl ByteSource for Whim {
        fn size(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
            let mut bytes = self.bytes.read(offset, len)?.into_owned();
            let left = self.wrong.get();
            if left > 0 && offset == 0 {
                self.wrong.set(left - 1);
                bytes[0] ^= u8::try_from(left).unwrap();
            }
            Ok(Cow::Owned(bytes))
        }
    }

    /// What is said of a ConnectX-3 whose flash reads wrong so often.
    fn read_wrong(times: u32) -> (CardReport, Result<(), CardError>) {
        let model = model::by_pci_id(0x1003).unwrap();
        let spec = ImageSpec::new(
            model,
            "MT_1170110023".parse().unwrap(),
            FwVersion::new(2, 36, 5150),
        );
        let flash = Whim {
            bytes: build_image(&spec).unwrap(),
            wrong: Cell::new(times),
        };
        let mut report = blank();
        let read = contents(&flash, model, &mut report);
        (report, read)
    }

    #[test]
    fn a_flash_that_reads_wrong_once_is_read_again_and_told_of() {
        let (report, read) = read_wrong(1);
        assert_eq!(read, Ok(()));
        assert_eq!(report.firmware.stored, Some(FwVersion::new(2, 36, 5150)));
        let [warning] = report.warnings.try_into().unwrap();
        assert!(warning.starts_with("the flash read wrong ("), "{warning}");
        assert!(read_wrong(0).0.warnings.is_empty());
    }

    #[test]
    fn a_flash_that_reads_differently_is_not_taken_for_an_empty_one() {
        let (report, read) = read_wrong(3);
        let error = read.unwrap_err();
        assert_eq!(error.code, "flash_unsteady");
        assert_eq!(report.firmware.stored, None);
    }
}
