//! Cards and offers to speak of in tests.

use std::path::PathBuf;

use super::{Facts, Listed, Offer, Provenance};
use crate::access::Way;
use crate::card::{CardReport, Firmware, UpdatePath};
use crate::identity::{Mac, Psid};
use crate::image::{HwId, ImageInfo, RomInfo, Security};
use crate::model::{self, Model};
use crate::pci::{Limit, Link};

fn rom(kind: &str, version: [u32; 3]) -> RomInfo {
    RomInfo {
        kind: kind.to_owned(),
        version: version.to_vec(),
        cpu: Some(1),
        port: None,
        protocol: None,
        product_id: 0,
        device_id: None,
    }
}

fn model_named(name: &str) -> &'static Model {
    model::MODELS
        .iter()
        .find(|model| model.long_name == name)
        .unwrap()
}

/// A healthy card of this chip and board, running what it stores.
pub fn card(chip: &str, psid: &str, version: &str) -> CardReport {
    let model = model_named(chip);
    let version = Some(version.parse().unwrap());
    CardReport {
        device: "0000:03:00.0".to_owned(),
        functions: vec!["0000:03:00.0".to_owned(), "0000:03:00.1".to_owned()],
        net: vec!["enp3s0f0np0".to_owned(), "enp3s0f1np1".to_owned()],
        rdma: vec!["mlx5_0".to_owned(), "mlx5_1".to_owned()],
        mst: Some("mt4117_pciconf0".to_owned()),
        pci_id: (0x15b3, model.pci_ids[0]),
        subsystem_id: (0x15b3, 3),
        model: Some(model),
        hw_id: Some(HwId {
            id: model.hw_id,
            revision: 0,
        }),
        recovery: false,
        part_number: Some("MCX4121A-ACA_Ax".to_owned()),
        description: Some(
            "ConnectX-4 Lx EN network interface card; 25GbE dual-port SFP28".to_owned(),
        ),
        serial: None,
        psid: Psid::new(psid),
        original_psid: None,
        base_mac: Mac::new(0x0c42_a100_0010),
        original_base_mac: Mac::new(0x0c42_a100_0010),
        base_guid: None,
        port_macs: [None; 2],
        port_guids: [None; 2],
        port_types: [None; 2],
        firmware: Firmware {
            running: version,
            stored: version,
            date: None,
        },
        roms: vec![rom("UEFI", [14, 18, 19]), rom("PXE", [3, 5, 701])],
        security: Vec::new(),
        format: Some(model.format),
        access: Some(Way::Vsec),
        update_path: Some(UpdatePath::Component),
        link: Some(Link {
            speed: Some("8.0 GT/s".to_owned()),
            width: Some(4),
            max_speed: Some("8.0 GT/s".to_owned()),
            max_width: Some(8),
            limited_by: Some(Limit::Slot),
        }),
        warnings: Vec::new(),
        error: None,
    }
}

/// What the image of an example says of itself, to be changed.
pub fn info(offer: &mut Offer) -> &mut ImageInfo {
    match &mut offer.facts {
        Facts::Image(info) => info,
        Facts::Listed(_) => panic!("a listed release"),
    }
}

/// An image of this chip, board and version in a file named after the version.
pub fn offer(chip: &str, psid: &str, version: &str) -> Offer {
    let model = model_named(chip);
    let mut digest = [0u8; 32];
    for (place, byte) in digest.iter_mut().zip(format!("{psid} {version}").bytes()) {
        *place = byte;
    }
    Offer {
        file: PathBuf::from(format!("fw-{version}.bin")),
        member: None,
        digest: Some(digest),
        facts: Facts::Image(Box::new(image(model, psid, version))),
        provenance: None,
    }
}

/// The same, known from a list of releases only.
pub fn listed(psid: &str, version: &str, minimum: Option<&str>) -> Offer {
    Offer {
        file: PathBuf::from(format!("fw-{version}.mfa")),
        member: None,
        digest: None,
        facts: Facts::Listed(Listed {
            psid: Psid::new(psid).unwrap(),
            version: version.parse().ok(),
            roms: vec![("PXE".to_owned(), "3.6.0902".to_owned())],
        }),
        provenance: Some(Provenance {
            kind: "online",
            name: "online".to_owned(),
            minimum: minimum.map(|version| version.parse().unwrap()),
            notes: None,
        }),
    }
}

fn image(model: &Model, psid: &str, version: &str) -> ImageInfo {
    ImageInfo {
        format: model.format,
        start: 0,
        slot_log2: None,
        size: 0x0040_0000,
        version: Some(version.parse().unwrap()),
        branch: None,
        date: None,
        time: None,
        psid: Psid::new(psid),
        original_psid: None,
        vsd: String::new(),
        device_vsd: None,
        vsd_vendor_id: None,
        product_version: String::new(),
        part_number: "MCX4121A-ACA_Ax".to_owned(),
        description: String::new(),
        prs_name: String::new(),
        original_prs_name: String::new(),
        mic_version: None,
        min_fit: None,
        issu_version: 0,
        config_sectors: None,
        config_pad: None,
        device_id: Some(model.pci_ids[0]),
        hw_access_key: None,
        hw_ids: vec![HwId {
            id: model.hw_id,
            revision: 0,
        }],
        roms: vec![rom("UEFI", [14, 25, 17]), rom("PXE", [3, 6, 502])],
        rom_remark: None,
        uids: None,
        original_uids: None,
        blank_guids: false,
        reduced: true,
        security: Security {
            firmware_controlled: true,
            ..Security::default()
        },
        warnings: Vec::new(),
    }
}
