//! Made firmware files: they run on simulated cards only.

use cxfw::identity::Psid;
use cxfw::lab::build::mfa::{PackedImage, Packer};
use cxfw::lab::build::{ImageSpec, Rom, RomKind, build_image};
use cxfw::model;

/// Board of most tests: a ConnectX-5.
pub const BOARD: &str = "MT_0000000010";
/// Its newest firmware.
pub const VERSION: &str = "16.35.4506";

/// An image for a ConnectX-5 board.
pub fn image(psid: &str, version: &str) -> Vec<u8> {
    build_image(&spec(psid, version)).unwrap()
}

fn spec(psid: &str, version: &str) -> ImageSpec {
    let model = model::by_pci_id(0x1017).unwrap();
    let psid = Psid::new(psid).unwrap();
    let mut spec = ImageSpec::new(model, psid, version.parse().unwrap());
    spec.part_number = "MCX555A-ECA_Ax".to_owned();
    spec.description = "Made adapter card".to_owned();
    spec.roms = vec![Rom {
        kind: RomKind::Pxe,
        version: [3, 6, 902],
    }];
    spec
}

/// An MFA bundle with an image for each of these boards.
pub fn bundle(boards: &[(&str, &str)]) -> Vec<u8> {
    let mut packer = Packer::new();
    for (psid, version) in boards {
        let spec = spec(psid, version);
        packer
            .add(&PackedImage {
                psid: spec.psid.clone(),
                part_number: spec.part_number.clone(),
                description: spec.description.clone(),
                firmware: spec.version,
                roms: spec.roms.clone(),
                image: build_image(&spec).unwrap(),
            })
            .unwrap();
    }
    packer.pack().unwrap()
}
