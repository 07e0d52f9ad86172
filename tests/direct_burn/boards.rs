//! Boards of each generation with small flashes and small images.

use cxfw::flash::direct::CardFacts;
use cxfw::identity::{Guid, Mac, Psid};
use cxfw::image::HwId;
use cxfw::lab::build::{Addresses, DeviceData, ImageSpec, Slot, build_image, flash_contents};
use cxfw::lab::chip::VpdSpec;
use cxfw::model::{Model, by_hw_id};
use cxfw::version::FwVersion;

use super::nor::Nor;

pub const FLASH: u64 = 0x20_0000;

/// A board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Board {
    pub hw_id: u16,
    pub slot_log2: u8,
    pub psid: &'static str,
    major: u16,
}

/// ConnectX-3 in chunks of 64 KiB, so that an image lies in several.
pub const CX3: Board = Board {
    hw_id: 0x1f5,
    slot_log2: 16,
    psid: "MT_1170110023",
    major: 2,
};
/// ConnectX-4 Lx.
pub const CX4LX: Board = Board {
    hw_id: 0x20b,
    slot_log2: 19,
    psid: "MT_2420110034",
    major: 14,
};
/// ConnectX-5.
pub const CX5: Board = Board {
    hw_id: 0x20d,
    slot_log2: 19,
    psid: "MT_0000000012",
    major: 16,
};

impl Board {
    pub fn model(&self) -> &'static Model {
        by_hw_id(self.hw_id).unwrap()
    }

    pub fn version(&self, minor: u16) -> FwVersion {
        FwVersion::new(self.major, minor, 1000)
    }

    /// A published image.
    pub fn spec(&self, minor: u16) -> ImageSpec {
        let psid = Psid::new(self.psid).unwrap();
        let mut spec = ImageSpec::new(self.model(), psid, self.version(minor));
        spec.slot_log2 = self.slot_log2;
        spec.code_size = if self.hw_id == CX3.hw_id {
            0x1_2000
        } else {
            0x2000
        };
        spec
    }

    pub fn image(&self, minor: u16) -> Vec<u8> {
        build_image(&self.spec(minor)).unwrap()
    }

    /// What the factory wrote, with firmware `minor`.
    pub fn factory(&self, minor: u16, slot: Slot) -> Vec<u8> {
        let mut spec = self.spec(minor);
        spec.device = DeviceData {
            addresses: Some(Addresses {
                guid: Guid::new(0x0c42_a103_00a1_0000).unwrap(),
                mac: Mac::new(0x0c42_a1a1_0000).unwrap(),
                count: 4,
            }),
            original_psid: None,
            vsd: "what the device says".to_owned(),
            vpd: vpd(),
        };
        if self.hw_id == CX3.hw_id {
            spec.vsd = "what the device says".to_owned();
        }
        flash_contents(&spec, FLASH, slot).unwrap().to_bytes()
    }

    pub fn flash(&self, minor: u16, slot: Slot) -> Nor {
        Nor::new(self.factory(minor, slot))
    }

    pub fn facts(&self) -> CardFacts {
        CardFacts {
            model: self.model(),
            hw_id: HwId {
                id: self.hw_id,
                revision: 0,
            },
            recovery: false,
            running: None,
            uptime: 0,
            staged: false,
            runs_from: None,
            psid: None,
            security: Vec::new(),
        }
    }
}

/// Vital product data of the boards.
fn vpd() -> Vec<u8> {
    VpdSpec {
        identifier: "a board for tests".to_owned(),
        keywords: vec![("PN".to_owned(), "MCX-TEST".to_owned())],
    }
    .encode()
}
