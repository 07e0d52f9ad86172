//! What the builder makes, read back by the image room.

use proptest::prelude::*;

use super::*;
use crate::identity::{Guid, Mac, Psid};
use crate::image::{self, SecurityAttribute, Uids};
use crate::model::{self, Model};
use crate::version::{Date, FwVersion};

fn spec(model: &'static Model) -> ImageSpec {
    let psid = Psid::new("MT_0000000001").unwrap();
    ImageSpec::new(model, psid, FwVersion::new(model.fw_major, 35, 2000))
}

fn adapters() -> impl Iterator<Item = &'static Model> {
    model::MODELS
        .iter()
        .filter(|model| model.kind == model::ChipKind::Adapter && model.hw_id != 0x190)
}

fn addresses() -> Addresses {
    Addresses {
        guid: Guid::new(0x0c42_a103_00a1_0000).unwrap(),
        mac: Mac::new(0x0c42_a1a1_0000).unwrap(),
        count: 4,
    }
}

#[test]
fn every_adapter_s_image_verifies_and_says_what_was_asked() {
    for model in adapters() {
        let mut spec = spec(model);
        spec.revision = 1;
        spec.date = Date {
            year: 2024,
            month: 2,
            day: 29,
        };
        spec.device.addresses = Some(addresses());
        let bytes = build_image(&spec).unwrap();
        let verification = image::verify(&bytes);
        assert!(
            verification.failure.is_none(),
            "{}: {:?}",
            model.name,
            verification.failure
        );
        let info = image::query(&bytes).unwrap();
        assert_eq!(info.format, model.format);
        assert_eq!(info.model(), Some(model));
        assert_eq!(info.hw_ids[0].revision, 1);
        assert_eq!(info.version, Some(spec.version));
        assert_eq!(info.date, Some(spec.date));
        assert_eq!(info.psid, Some(spec.psid));
        assert_eq!(info.slot_log2, Some(spec.slot_log2), "{}", model.name);
        let mac = match info.uids.unwrap() {
            Uids::Fs2 { entries } => entries[4],
            Uids::TwoPorts { macs, .. } => macs[0].value,
            Uids::Base { mac, .. } => mac.value,
        };
        assert_eq!(mac, addresses().mac.value(), "{}", model.name);
    }
}

#[test]
fn a_flash_boots_from_the_slot_that_was_asked_for() {
    for model in adapters() {
        let spec = spec(model);
        let size = 2u64 << spec.slot_log2;
        for slot in [Slot::First, Slot::Second] {
            let flash = flash_contents(&spec, size.max(0x20_0000), slot).unwrap();
            let info = image::query_flash(&flash.to_bytes(), model.format).unwrap();
            let start = match slot {
                Slot::First => 0,
                Slot::Second => 1 << spec.slot_log2,
            };
            assert_eq!((info.start, info.version), (start, Some(spec.version)));
        }
    }
}

#[test]
fn a_reduced_image_ends_with_its_last_section() {
    for pci_device in [0x1017, 0x1023] {
        let mut spec = spec(model::by_pci_id(pci_device).unwrap());
        spec.form = FileForm::Reduced;
        let bytes = build_image(&spec).unwrap();
        let info = image::query(&bytes).unwrap();
        assert!(info.reduced);
        assert_eq!(info.size, bytes.len() as u64);
        assert!(image::verify(&bytes).failure.is_none());
    }
}

#[test]
fn signing_shows_in_the_security_attributes() {
    let mut spec = spec(model::by_pci_id(0x101d).unwrap());
    for (security, attributes, by_firmware) in [
        (Security::LegacyOnly, vec![], false),
        (Security::Unsigned, vec![], true),
        (Security::Signed, vec![SecurityAttribute::SignedFw], true),
        (Security::Secure, vec![SecurityAttribute::SecureFw], true),
    ] {
        spec.security = security;
        spec.security_version = 3;
        let info = image::query(&build_image(&spec).unwrap()).unwrap();
        assert_eq!(info.security.attributes, attributes);
        assert_eq!(info.security.firmware_controlled, by_firmware);
        assert_eq!(info.security.version, Some(3));
    }
}

#[test]
fn board_data_stays_apart_from_the_firmware() {
    let mut spec = spec(model::by_pci_id(0x1015).unwrap());
    spec.device = DeviceData {
        addresses: Some(addresses()),
        original_psid: Psid::new("MT_0000000002"),
        vsd: "a board of ours".to_owned(),
        vpd: vec![0x82, 1, 0, b'x', 0x78],
    };
    let flash = flash_contents(&spec, 0x100_0000, Slot::First).unwrap();
    let info = image::query_flash(&flash.to_bytes(), spec.model.format).unwrap();
    assert_eq!(info.original_psid.unwrap().as_str(), "MT_0000000002");
    assert_eq!(info.device_vsd.as_deref(), Some("a board of ours"));
    let last_image_byte = flash.runs[0].1.len() as u64;
    assert!(flash.runs[1..].iter().all(|(at, _)| *at > last_image_byte));
}

#[test]
fn what_does_not_fit_is_named() {
    let model = model::by_pci_id(0x1015).unwrap();
    let message = |change: fn(&mut ImageSpec)| {
        let mut spec = spec(model);
        change(&mut spec);
        flash_contents(&spec, 0x100_0000, Slot::Second)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message(|spec| spec.product_version = "rel-14.32.1010-long".to_owned()),
        "product version `rel-14.32.1010-long` is longer than its field of 16 bytes"
    );
    assert_eq!(
        message(|spec| spec.code_size = 0x7e_0000),
        "image ends at 0x7e4c40, but the room for it ends at 0x7c0000"
    );
    assert_eq!(
        message(|spec| spec.slot_log2 = 25),
        "FS3 has no code for slots of 2^25 bytes (16 to 24)"
    );
    assert_eq!(
        message(|spec| spec.roms = vec![Rom {
            kind: RomKind::Pxe,
            version: [3, 256, 1],
        }]),
        "Pxe version [3, 256, 1] does not fit a ROM record (8, 8 and 16 bits)"
    );
}

fn kinds() -> impl Strategy<Value = RomKind> {
    prop_oneof![
        Just(RomKind::Pxe),
        Just(RomKind::Uefi),
        Just(RomKind::Clp),
        Just(RomKind::Nvme),
        Just(RomKind::Fcode),
    ]
}

fn roms() -> impl Strategy<Value = Vec<Rom>> {
    let rom = (kinds(), 0u16..256, 0u16..256, any::<u16>());
    proptest::collection::vec(
        rom.prop_map(|(kind, a, b, c)| Rom {
            kind,
            version: [a, b, c],
        }),
        0..=5,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_image_is_read_back_as_it_was_asked_for(
        chip in 0usize..12,
        psid in "[A-Z]{2,3}_[0-9]{10,12}",
        numbers in (1u16.., any::<u16>(), any::<u16>()),
        texts in ("[ -~]{0,64}", "[ -~]{0,256}", "[!-~]{0,16}"),
        roms in roms(),
        code_size in 0u64..0x2_0000,
    ) {
        let model = adapters().nth(chip).unwrap();
        let version = FwVersion::new(numbers.0, numbers.1, numbers.2);
        let mut spec = ImageSpec::new(model, Psid::new(&psid).unwrap(), version);
        (spec.part_number, spec.description, spec.product_version) = texts;
        spec.roms = roms;
        spec.code_size = code_size;
        let bytes = build_image(&spec).unwrap();
        prop_assert!(image::verify(&bytes).failure.is_none());
        let info = image::query(&bytes).unwrap();
        prop_assert_eq!(info.psid, Some(spec.psid));
        prop_assert_eq!(info.version, Some(version));
        prop_assert_eq!(info.product_version, spec.product_version);
        if model.format != ImageFormat::Fs2 {
            prop_assert_eq!(info.part_number, spec.part_number);
            prop_assert_eq!(info.description, spec.description);
        }
        // ROM sections of FS5 are not read (images 4.1).
        if model.format != ImageFormat::Fs5 {
            let found: Vec<Vec<u32>> = info.roms.into_iter().map(|rom| rom.version).collect();
            let asked: Vec<Vec<u32>> = spec
                .roms
                .iter()
                .map(|rom| rom.version.map(u32::from).to_vec())
                .collect();
            prop_assert_eq!(found, asked);
        }
    }
}
