//! The ways to a card's insides, on simulated chips: what works on them must break none of the
//! rules a real card relies on.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its chip has failed"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cxfw::access::{Device, read_register};
use cxfw::bytes::ByteSource;
use cxfw::flash::cancel::Cancel;
use cxfw::flash::component::{BurnError, BurnOptions, Burned, burn};
use cxfw::flash::lock::CardLock;
use cxfw::identity::Psid;
use cxfw::image::query_flash;
use cxfw::lab::build::{ImageSpec, Security, Slot, build_image, flash_contents};
use cxfw::lab::chip::{
    Boot, BootRule, Chip, ChipSpec, FunctionSpec, LinkSpec, ReadBack, Violations, VpdSpec,
};
use cxfw::model::{self, Model};
use cxfw::registers::Mgir;
use cxfw::sys::Roots;

const FLASH: u32 = 0x100_0000;

fn image(model: &'static Model, version: &str, security: Security) -> ImageSpec {
    let psid = Psid::new("MT_2420110034").unwrap();
    let mut spec = ImageSpec::new(model, psid, version.parse().unwrap());
    spec.security = security;
    spec.slot_log2 = spec.slot_log2.min(23);
    spec
}

fn chip(dir: &Path, model: &Model, secure: bool, oldest_version: Option<[u16; 3]>) -> Arc<Chip> {
    let spec = ChipSpec {
        hw_id: model.hw_id,
        revision: 0,
        functions: vec![FunctionSpec {
            address: "0000:03:00.0".to_owned(),
            device: model.pci_ids[0],
            subsystem_vendor: 0x15b3,
            subsystem_device: 3,
            class: 0x02_0000,
        }],
        link: LinkSpec::default(),
        vpd: VpdSpec::default(),
        flash_size: FLASH,
        jedec_id: 0xef_4018,
        secure,
        read_back: ReadBack::default(),
        boot_rule: BootRule::default(),
        oldest_version,
        icmd_busy_polls: 2,
        cycle_delay_ns: 0,
    };
    Chip::open(dir, &spec).unwrap()
}

/// Programs the factory contents of `image` and boots.
fn manufacture(chip: &Chip, image: &ImageSpec) -> Boot {
    let contents = flash_contents(image, FLASH.into(), Slot::First).unwrap();
    for (address, run) in contents.runs {
        chip.write_flash(u32::try_from(address).unwrap(), &run)
            .unwrap();
    }
    chip.boot().unwrap()
}

fn open(chip: &Arc<Chip>) -> Device {
    Device::open(chip.function(0).unwrap(), None).unwrap()
}

#[test]
fn a_device_reads_registers_of_every_generation() {
    for (hw_id, version, security) in [
        (0x209, "12.28.2006", Security::Unsigned),
        (0x20b, "14.25.1020", Security::Unsigned),
        (0x20d, "16.35.1012", Security::Signed),
        (0x212, "22.32.1010", Security::Secure),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let model = model::by_hw_id(hw_id).unwrap();
        let chip = chip(dir.path(), model, security == Security::Secure, None);
        manufacture(&chip, &image(model, version, security));
        let device = open(&chip);
        assert_eq!(device.hw_id().unwrap().id, hw_id);
        let mgir = read_register(device.registers().unwrap(), &Mgir::default()).unwrap();
        assert_eq!(mgir.fw_version().unwrap().to_string(), version);
        assert_eq!(chip.violations(), Violations::default());
    }
}

#[test]
fn the_gateway_reads_a_card_without_firmware_and_a_connectx_3() {
    for (hw_id, version) in [
        (0x1f5, "2.42.5000"),
        (0x20b, "14.25.1020"),
        (0x20d, "16.35.1012"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let model = model::by_hw_id(hw_id).unwrap();
        let chip = chip(dir.path(), model, false, None);
        if hw_id != 0x1f5 {
            assert_eq!(chip.boot().unwrap(), Boot::Recovery);
        }
        manufacture(&chip, &image(model, version, Security::Unsigned));
        if hw_id != 0x1f5 {
            // the image is there, the chip has not looked yet: erase what makes it boot
            chip.write_flash(0, &[0; 4]).unwrap();
            assert_eq!(chip.boot().unwrap(), Boot::Recovery);
            let marker = *cxfw::image::marker::of(model.format);
            chip.write_flash(0, &marker).unwrap();
        }
        let device = open(&chip);
        assert!(device.registers().is_none() || hw_id != 0x1f5);
        let flash = device.flash(model).unwrap();
        assert_eq!(flash.size(), u64::from(FLASH));
        let info = query_flash(&flash, model.format).unwrap();
        assert_eq!(info.version.unwrap().to_string(), version);
        assert_eq!(chip.violations(), Violations::default());
        assert!(chip.counters().gateway_commands > 0);
    }
}

fn try_burn(chip: &Arc<Chip>, dir: &Path, image: &ImageSpec) -> Result<Burned, BurnError> {
    let roots = Roots {
        sysfs: dir.join("sys"),
        locks: dir.join("locks"),
    };
    let lock = CardLock::take(&roots, "0000:03:00.0", Duration::from_secs(1)).unwrap();
    burn(
        &open(chip),
        &build_image(image).unwrap(),
        &BurnOptions::under(&lock),
        &Cancel::new(),
        &mut |_| {},
    )
}

#[test]
fn why_the_firmware_refuses_an_image_reaches_the_user() {
    let dir = tempfile::tempdir().unwrap();
    let model = model::by_hw_id(0x20b).unwrap();
    let chip = chip(dir.path(), model, false, Some([14, 30, 0]));
    manufacture(&chip, &image(model, "14.32.1010", Security::Unsigned));
    let old = image(model, "14.25.1020", Security::Unsigned);
    let error = try_burn(&chip, dir.path(), &old).unwrap_err();
    assert!(error.to_string().contains("MCC error 0x0f"), "{error}");
    assert_eq!(chip.violations(), Violations::default());
    let new = image(model, "14.33.1048", Security::Unsigned);
    try_burn(&chip, dir.path(), &new).unwrap();
}

#[test]
fn a_burn_goes_through_and_breaks_no_rule() {
    for (hw_id, old, new, security) in [
        (0x20b, "14.25.1020", "14.32.1010", Security::Unsigned),
        (0x212, "22.32.1010", "22.36.1010", Security::Secure),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let model = model::by_hw_id(hw_id).unwrap();
        let chip = chip(dir.path(), model, security == Security::Secure, None);
        manufacture(&chip, &image(model, old, security));
        let burned = try_burn(&chip, dir.path(), &image(model, new, security)).unwrap();
        assert_eq!(burned.to.to_string(), new);
        let Boot::Running(running) = chip.boot().unwrap() else {
            panic!("nothing boots");
        };
        assert_eq!(running.start, 0x80_0000);
        assert_eq!(chip.violations(), Violations::default());
    }
}
