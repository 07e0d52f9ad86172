//! Chips as a tool meets them: nothing but config cycles.

mod boot;
mod capability;
mod client;
mod direct;
mod faults;
mod firmware;
mod legacy;
mod nonsense;
mod reactivate;
mod refusals;
mod sharing;
mod speed;
mod update;
mod updater;

use std::sync::Arc;

use client::Client;

use super::{
    Boot, BootRule, Chip, ChipSpec, FunctionSpec, LinkSpec, ReadBack, Running, Violations, VpdSpec,
};
use crate::identity::{Guid, Mac, Psid};
use crate::lab::build::{
    Addresses, ImageSpec, Rom, RomKind, Security, Slot, build_image, flash_contents,
};
use crate::model::{self, Model};
use crate::version::FwVersion;

const CONNECTX_3: u16 = 0x1f5;
const CONNECTX_4_LX: u16 = 0x20b;
const CONNECTX_5: u16 = 0x20d;
const CONNECTX_6_DX: u16 = 0x212;

const PSID: &str = "MT_2420110034";
const MAC: u64 = 0x0c42_a100_1122;
const FLASH: u32 = 0x100_0000;

fn model(hw_id: u16) -> &'static Model {
    model::by_hw_id(hw_id).unwrap()
}

fn chip_spec(hw_id: u16) -> ChipSpec {
    let functions = (0..2).map(|function| FunctionSpec {
        address: format!("0000:03:00.{function}"),
        device: model(hw_id).pci_ids[0],
        subsystem_vendor: 0x15b3,
        subsystem_device: 0x0003,
        class: 0x02_0000,
    });
    ChipSpec {
        hw_id,
        revision: 0,
        functions: functions.collect(),
        link: LinkSpec::default(),
        vpd: VpdSpec {
            identifier: "Test adapter".to_owned(),
            keywords: vec![
                ("PN".to_owned(), "MCX-TEST".to_owned()),
                ("SN".to_owned(), "MT2000X00001".to_owned()),
            ],
        },
        flash_size: FLASH,
        jedec_id: 0xef_4018,
        secure: false,
        read_back: ReadBack::default(),
        boot_rule: BootRule::default(),
        oldest_version: None,
        icmd_busy_polls: 1,
        cycle_delay_ns: 0,
    }
}

fn image_spec(hw_id: u16, version: &str) -> ImageSpec {
    let version: FwVersion = version.parse().unwrap();
    let mut spec = ImageSpec::new(model(hw_id), Psid::new(PSID).unwrap(), version);
    spec.part_number = "MCX-TEST_Ax".to_owned();
    spec.description = "An adapter that never was".to_owned();
    spec.product_version = "rel-1".to_owned();
    if hw_id == CONNECTX_6_DX {
        // two slots of half the small flash of these tests
        spec.slot_log2 = 23;
    }
    spec.roms = vec![Rom {
        kind: RomKind::Pxe,
        version: [3, 5, 701],
    }];
    spec.device.addresses = Some(Addresses {
        guid: Guid::new(0x0c42_a103_0000_1122).unwrap(),
        mac: Mac::new(MAC).unwrap(),
        count: 8,
    });
    spec
}

/// The file a vendor would publish.
fn published(spec: &ImageSpec) -> Vec<u8> {
    build_image(spec).unwrap()
}

/// What a firmware-controlled update sends of it.
fn component(spec: &ImageSpec) -> Vec<u8> {
    crate::image::component(&published(spec)).unwrap()
}

/// A chip and the folder it lives in.
struct Card {
    chip: Arc<Chip>,
    spec: ChipSpec,
    dir: tempfile::TempDir,
}

impl Card {
    /// A chip that has booted what `image` says from its first slot.
    fn with(spec: ChipSpec, image: &ImageSpec) -> Self {
        Self::in_slot(spec, image, Slot::First)
    }

    fn in_slot(spec: ChipSpec, image: &ImageSpec, slot: Slot) -> Self {
        let card = Self::blank(spec);
        card.program(image, slot);
        assert!(matches!(card.chip.boot().unwrap(), Boot::Running(_)));
        card
    }

    /// A chip with an erased flash that never booted.
    fn blank(spec: ChipSpec) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let chip = Chip::open(dir.path(), &spec).unwrap();
        Self { chip, spec, dir }
    }

    fn program(&self, image: &ImageSpec, slot: Slot) {
        let contents = flash_contents(image, self.spec.flash_size.into(), slot).unwrap();
        for (address, bytes) in contents.runs {
            let address = u32::try_from(address).unwrap();
            self.chip.write_flash(address, &bytes).unwrap();
        }
    }

    fn client(&self) -> Client {
        Client::new(self.chip.function(0).unwrap())
    }

    fn running(&self) -> Running {
        match self.chip.status().unwrap() {
            Some(Boot::Running(running)) => *running,
            other => panic!("no firmware runs: {other:?}"),
        }
    }

    fn reboot(&self) -> Running {
        match self.chip.boot().unwrap() {
            Boot::Running(running) => *running,
            Boot::Recovery => panic!("no image boots"),
        }
    }

    /// Nothing was done that a tool must never do.
    fn assert_no_violation(&self) {
        assert_eq!(self.chip.violations(), Violations::default());
    }
}

fn connectx_4_lx() -> Card {
    Card::with(
        chip_spec(CONNECTX_4_LX),
        &image_spec(CONNECTX_4_LX, "14.25.1020"),
    )
}

fn connectx_5() -> Card {
    Card::with(chip_spec(CONNECTX_5), &image_spec(CONNECTX_5, "16.25.1020"))
}

/// A secure card.
fn connectx_6_dx() -> Card {
    let mut spec = chip_spec(CONNECTX_6_DX);
    spec.secure = true;
    let mut image = image_spec(CONNECTX_6_DX, "22.32.1010");
    image.security = Security::Secure;
    Card::with(spec, &image)
}

fn connectx_3() -> Card {
    Card::with(chip_spec(CONNECTX_3), &image_spec(CONNECTX_3, "2.42.5000"))
}
