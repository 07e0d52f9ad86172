//! Images of the lab's builder: the witness must verify every one and print just what was asked
//! for.

use std::path::Path;
use std::process::Command;

use cxfw::identity::{Guid, Mac, Psid};
use cxfw::lab::build::{
    Addresses, DeviceData, ImageSpec, Rom, RomKind, Security, Slot, build_image, flash_contents,
};
use cxfw::model::{self, ImageFormat};
use cxfw::version::Date;

use crate::bench::tool;
use crate::query_text::QueryText;

/// Success and output of `mstflint -i FILE ...`.
fn mstflint(file: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new("mstflint")
        .arg("-i")
        .arg(file)
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

fn spec(pci_device: u16, psid: &str, version: &str) -> ImageSpec {
    let model = model::by_pci_id(pci_device).unwrap();
    let mut spec = ImageSpec::new(model, Psid::new(psid).unwrap(), version.parse().unwrap());
    spec.date = Date {
        year: 2023,
        month: 10,
        day: 31,
    };
    spec.part_number = "MCX9999-TEST_Ax".to_owned();
    spec.description = "Made adapter card; dual-port".to_owned();
    spec.product_version = "rel-made".to_owned();
    spec.roms = vec![
        Rom {
            kind: RomKind::Uefi,
            version: [14, 25, 17],
        },
        Rom {
            kind: RomKind::Pxe,
            version: [3, 6, 502],
        },
    ];
    spec.device = DeviceData {
        addresses: Some(Addresses {
            guid: Guid::new(0x0c42_a103_00a1_0000).unwrap(),
            mac: Mac::new(0x0c42_a1a1_0000).unwrap(),
            count: 8,
        }),
        ..DeviceData::default()
    };
    spec
}

/// Verifies and queries.
fn accepted(bytes: &[u8], options: &[&str]) -> QueryText {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("image.bin");
    std::fs::write(&file, bytes).unwrap();
    let (ok, text) = mstflint(&file, &[options, &["verify"]].concat());
    assert!(ok && text.contains("Image is bootable"), "{text}");
    let (ok, text) = mstflint(&file, &[options, &["query", "full"]].concat());
    assert!(ok, "{text}");
    QueryText::new(&text)
}

fn check(spec: &ImageSpec, bytes: &[u8], options: &[&str]) {
    let query = accepted(bytes, options);
    let expect = |label: &str, value: &str| {
        assert_eq!(query.field(label), Some(value), "{label}: {query:?}");
    };
    expect("Image type", &spec.model.format.to_string());
    expect("FW Version", &spec.version.to_string());
    expect("FW Release Date", "31.10.2023");
    expect("PSID", spec.psid.as_str());
    expect("Product Version", &spec.product_version);
    expect("Rom Info", "type=UEFI version=14.25.17 cpu=AMD64,AARCH64");
    assert!(query.text().contains("type=PXE version=3.6.502 cpu=AMD64"));
    assert!(query.text().contains("0c42a1a10000"), "{query:?}");
    assert!(query.text().contains("0c42a10300a10000"), "{query:?}");
    if spec.model.format == ImageFormat::Fs2 {
        return;
    }
    expect("Part Number", &spec.part_number);
    expect("Description", &spec.description);
    let (attributes, method) = match spec.security {
        Security::LegacyOnly => ("N/A", "Legacy"),
        Security::Unsigned => ("N/A", "fw_ctrl"),
        Security::Signed => ("signed-fw", "fw_ctrl"),
        Security::Secure => ("secure-fw", "fw_ctrl"),
    };
    expect("Security Attributes", attributes);
    expect("Default Update Method", method);
}

#[test]
fn the_reference_tool_accepts_the_image_of_every_chip() {
    if !tool() {
        return;
    }
    for (pci_device, psid, version) in [
        (0x1003, "MT_1170110023", "2.42.5000"),
        (0x1007, "MT_1200111023", "2.42.5000"),
        (0x1011, "MT_1210110019", "10.16.1200"),
        (0x1013, "MT_2150110033", "12.28.2006"),
        (0x1015, "MT_2420110034", "14.32.1010"),
        (0x1017, "MT_0000000010", "16.35.4506"),
        (0x101b, "MT_0000000223", "20.43.2566"),
        (0x101d, "MT_0000000359", "22.39.1002"),
        (0x101f, "MT_0000000531", "26.43.2566"),
        (0x1021, "MT_0000000838", "28.43.2566"),
    ] {
        let spec = spec(pci_device, psid, version);
        let image = build_image(&spec).unwrap();
        assert_eq!(image, build_image(&spec).unwrap(), "{psid}");
        check(&spec, &image, &[]);
    }
}

#[test]
fn signing_shows_as_security_attributes() {
    if !tool() {
        return;
    }
    for pci_device in [0x1015, 0x101d] {
        for security in [
            Security::LegacyOnly,
            Security::Unsigned,
            Security::Signed,
            Security::Secure,
        ] {
            let mut spec = spec(pci_device, "MT_0000000359", "22.39.1002");
            spec.security = security;
            check(&spec, &build_image(&spec).unwrap(), &[]);
        }
    }
}

#[test]
fn images_can_be_small_or_large() {
    if !tool() {
        return;
    }
    for (pci_device, code_size) in [
        (0x1003, 0x1000),
        (0x1003, 0x30_0000),
        (0x1015, 0x40_0000),
        (0x101d, 0x40_0000),
    ] {
        let mut spec = spec(pci_device, "MT_2420110034", "14.32.1010");
        spec.code_size = code_size;
        let image = build_image(&spec).unwrap();
        assert!(image.len() as u64 > code_size);
        check(&spec, &image, &[]);
    }
}

#[test]
fn a_factory_flash_is_a_valid_dump_of_its_size() {
    if !tool() {
        return;
    }
    for (pci_device, flash_size) in [
        (0x1015, 0x100_0000),
        (0x1017, 0x100_0000),
        (0x101d, 0x200_0000),
    ] {
        let mut spec = spec(pci_device, "MT_2420110034", "14.32.1010");
        spec.device.original_psid = Psid::new("MT_0000000001");
        spec.device.vpd = vec![0x82, 1, 0, b'x', 0x78];
        let flash = flash_contents(&spec, flash_size, Slot::First).unwrap();
        let bytes = flash.to_bytes();
        assert_eq!(bytes.len() as u64, flash_size);
        check(&spec, &bytes, &[]);
        let query = accepted(&bytes, &[]);
        assert_eq!(query.field("Orig PSID"), Some("MT_0000000001"));
    }
}

#[test]
fn the_second_slot_of_an_fs3_flash_is_found_too() {
    if !tool() {
        return;
    }
    let spec = spec(0x1015, "MT_2420110034", "14.32.1010");
    let flash = flash_contents(&spec, 0x100_0000, Slot::Second).unwrap();
    check(&spec, &flash.to_bytes(), &[]);
}

#[test]
fn a_connectx_3_flash_is_striped_over_chunks() {
    if !tool() {
        return;
    }
    let mut spec = spec(0x1003, "MT_1170110023", "2.42.5000");
    spec.code_size = 0xa_0000;
    for slot in [Slot::First, Slot::Second] {
        let flash = flash_contents(&spec, 0x20_0000, slot).unwrap();
        check(&spec, &flash.to_bytes(), &["--striped_image"]);
    }
}
