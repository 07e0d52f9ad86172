//! Labs of one card with a small flash, and that card as the library sees it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make or read its card has failed"
)]
#![allow(
    dead_code,
    reason = "every test binary uses another part of this module"
)]

use std::time::Duration;

use cxfw::access::Device;
use cxfw::card::{self, Card};
use cxfw::flash::lock::{self, CardLock};
use cxfw::lab::Lab;
use cxfw::lab::build::{ImageSpec, build_image};
use cxfw::lab::host::{CardSpec, HostSpec};
use cxfw::pci;
use cxfw::version::FwVersion;

/// Bytes of flash: two slots of half a mebibyte, and the device's own data behind them.
pub const FLASH: u32 = 0x20_0000;

/// Bytes of code in an image.
const CODE_SIZE: u64 = 0x2000;

/// One card of each image format whose flash can be read.
pub const CARDS: [&str; 3] = ["cx3-10g", "cx4lx", "cx5-recovery"];

/// A host of one card of the default host, changed by `change`. It runs, whatever it does in the
/// default host; the lab's bundle has one small image.
pub fn host(name: &str, change: impl FnOnce(&mut CardSpec)) -> HostSpec {
    let mut host = HostSpec::default_host().unwrap();
    host.cards.retain(|card| card.name == name);
    host.adapters.clear();
    host.offers.truncate(1);
    host.offers[0].firmware.code_size = CODE_SIZE;
    let card = &mut host.cards[0];
    card.firmware.code_size = CODE_SIZE;
    card.flash.size = FLASH;
    card.flash.slot_log2 = Some(19);
    card.recovery = false;
    change(card);
    host
}

/// The image of the card's board in this version, as it is published: without the card's own data.
pub fn published(card: &CardSpec, version: FwVersion) -> Vec<u8> {
    let spec = card.image_spec().unwrap();
    let device = ImageSpec::new(spec.model, spec.psid.clone(), version).device;
    let published = ImageSpec {
        version,
        device,
        ..spec
    };
    build_image(&published).unwrap()
}

/// A version that is `by` minor versions newer than what the card was made with.
pub fn newer(card: &CardSpec, by: u16) -> FwVersion {
    let FwVersion {
        major,
        minor,
        subminor,
    } = card.firmware.version;
    FwVersion::new(major, minor + by, subminor)
}

/// The one card of a lab.
pub fn survey(lab: &Lab) -> Card {
    let cards = pci::enumerate(&lab.roots()).unwrap();
    let mut cards = card::survey(&cards, &*lab.config_source(), &lab.roots());
    assert_eq!(cards.len(), 1);
    cards.remove(0)
}

/// Does something to the one card of a lab under its lock.
pub fn with_device<T>(lab: &Lab, job: impl FnOnce(&Device, &CardLock) -> T) -> T {
    let card = survey(lab);
    let key = lock::key(card.report.serial.as_deref(), &card.report.device);
    let lock = CardLock::take(&lab.roots(), &key, Duration::ZERO).unwrap();
    job(&card.device.unwrap(), &lock)
}
