//! Damaged and dishonest images are refused, with the reason.

use super::section::kind;
use super::*;

#[test]
fn other_files_are_named_for_what_they_are() {
    for (head, reason) in [
        (
            &b"MFAR\0\0\0\x01"[..],
            "this is an MFA archive, not a firmware image",
        ),
        (
            b"PK\x03\x04....",
            "this is a ZIP archive, not a firmware image",
        ),
        (b"", "the file is empty"),
        (
            b"abc",
            "its size, 3 bytes, is not a multiple of 4: not a firmware image, or cut off",
        ),
        (
            b"what is this",
            "no firmware image found: no image marker at any possible start address",
        ),
    ] {
        assert_eq!(query(&head).unwrap_err().to_string(), reason);
        assert_eq!(refusal(head), reason);
    }
    let mut old = vec![0; 0x40];
    old[0x24..0x28].copy_from_slice(b"ZDZD");
    assert!(refusal(&old).contains("FS1"));
}

#[test]
fn no_cut_of_an_image_passes_as_the_whole() {
    for name in ALL {
        let bytes = fixture(name);
        let start = starts(&bytes).unwrap()[0].address;
        let whole = layout(&bytes, start).unwrap();
        let end = whole.physical(whole.size - 1) + 1;
        for cut in (0..end).step_by(516) {
            let part = &bytes[..usize::try_from(cut).unwrap()];
            let failure = verify(part).failure;
            assert!(failure.is_some(), "{name} cut at {cut:#x}");
        }
    }
}

#[test]
fn a_cut_in_the_device_data_is_told() {
    let bytes = fixture("fs4-cx5");
    let info = query(&&bytes[..0xe000]).unwrap();
    assert!(info.reduced);
    assert!(
        info.warnings[0].contains("may be cut off"),
        "{:?}",
        info.warnings
    );
}

#[test]
fn every_wrong_section_is_listed_before_the_verification_fails() {
    let mut bytes = fixture("fs3-cx4lx");
    bytes[0x3000] ^= 1;
    bytes[0x3400] ^= 1;
    assert_eq!(
        refusal(&bytes),
        "wrong CRC in PCI_CODE at 0x3000, FW_BOOT_CFG at 0x3400"
    );
    assert!(query(&bytes).is_ok(), "a query does not look at code");
}

#[test]
fn a_destroyed_table_is_not_taken_for_encryption() {
    let mut bytes = fixture("fs4-cx5");
    bytes[0x1000] ^= 0xff;
    assert_eq!(refusal(&bytes), "no valid ITOC header at 0x1000 or 0x2000");
    bytes[0x1000..0x1020].fill(0);
    assert!(refusal(&bytes).contains("more likely it is damaged"));
}

#[test]
fn the_second_table_serves_when_the_first_is_damaged() {
    let mut bytes = fixture("fs4-cx5");
    bytes.copy_within(0x1000..0x1400, 0x2000);
    bytes[0x101f] ^= 1;
    let places = layout(&bytes, 0).unwrap().itoc.unwrap();
    assert_eq!((places.used, places.other), (0x2000, 0x1000));
    assert!(verify(&bytes).passed());
}

#[test]
fn a_damaged_entry_does_not_end_the_table() {
    for name in ["fs3-cx4lx", "fs4-cx5"] {
        let mut bytes = fixture(name);
        bytes[0x1060] = 0xff;
        assert_eq!(
            refusal(&bytes),
            "ITOC entry 2 has the type of the end entry, but is not blank: the table is damaged"
        );
    }
}

#[test]
fn sections_may_not_lie_over_each_other() {
    let mut bytes = fixture("fs4-cx5");
    let code = section_of(&bytes, kind::IMAGE_INFO);
    edit_entry(&mut bytes, code.entry - 0x20, 0x14, 0x34f0);
    let size = bytes[0x1080..].len();
    assert!(size > 0x20);
    let failure = verify(&bytes);
    assert!(failure.failure.is_some());

    let mut bytes = fixture("fs4-cx5");
    let first = section_of(&bytes, 0x02);
    let check = get(&bytes, first.entry + 0x18);
    edit_entry(&mut bytes, first.entry + 0x20, 0x14, 0x3000);
    edit_entry(
        &mut bytes,
        first.entry + 0x20,
        0x00,
        get(&fixture("fs4-cx5"), first.entry),
    );
    edit_entry(&mut bytes, first.entry + 0x20, 0x18, check);
    assert_eq!(refusal(&bytes), "PCI_CODE and PCI_CODE overlap at 0x3000");
}

#[test]
fn device_data_may_not_lie_over_the_image() {
    let mut bytes = fixture("fs4-cx5");
    let log = section_of(&bytes, 0xe5);
    edit_entry(&mut bytes, log.entry, 0x14, 0x3000);
    assert_eq!(refusal(&bytes), "the image and FW_NV_LOG overlap at 0x3000");
}

#[test]
fn two_info_sections_are_one_too_many() {
    let mut bytes = fixture("fs3-cx4lx");
    let keys = section_of(&bytes, kind::PUBLIC_KEYS_2048);
    let word = get(&bytes, keys.entry) & 0x00ff_ffff;
    edit_entry(
        &mut bytes,
        keys.entry,
        0,
        u32::from(kind::IMAGE_INFO) << 24 | word,
    );
    assert_eq!(
        refusal(&bytes),
        "IMAGE_INFO at 0x4000: there is a second one"
    );
}

#[test]
fn a_section_shorter_than_its_structure_is_refused() {
    for (kind, name) in [
        (kind::IMAGE_INFO, "IMAGE_INFO"),
        (kind::MFG_INFO, "MFG_INFO"),
        (kind::DEV_INFO, "DEV_INFO"),
    ] {
        let mut bytes = fixture("fs3-cx4lx");
        let section = section_of(&bytes, kind);
        edit_entry(&mut bytes, section.entry, 0, u32::from(kind) << 24 | 0x20);
        let short = Section {
            size: 0x20,
            ..section
        };
        let first = get(&bytes, short.physical);
        edit_section(&mut bytes, &short, 0, first);
        let reason = refusal(&bytes);
        assert!(
            reason.starts_with(name) && reason.contains("expected"),
            "{reason}"
        );
    }
}

#[test]
fn huge_addresses_and_sizes_do_not_wrap() {
    let mut bytes = fixture("fs4-cx5");
    let info = section_of(&bytes, kind::IMAGE_INFO);
    edit_entry(&mut bytes, info.entry, 0x14, 0x7fff_fffc);
    assert!(refusal(&bytes).contains("reach past the end"));
    let mut bytes = fixture("fs3-cx4lx");
    let info = section_of(&bytes, kind::IMAGE_INFO);
    edit_entry(
        &mut bytes,
        info.entry,
        0,
        u32::from(kind::IMAGE_INFO) << 24 | 0xff_fffc,
    );
    assert!(refusal(&bytes).contains("reach past the end"));
}

#[test]
fn the_fs2_chain_only_goes_forward() {
    let mut bytes = fixture("fs2-cx3");
    let sections = layout(&bytes, 0).unwrap().sections;
    put(
        &mut bytes,
        sections[1].entry + 12,
        u32::try_from(sections[0].entry).unwrap(),
    );
    let crc_at = sections[1].physical + sections[1].size - 4;
    let covered = usize::try_from(sections[1].physical).unwrap()..usize::try_from(crc_at).unwrap();
    let crc = image_crc(&bytes[covered]);
    put(&mut bytes, crc_at, u32::from(crc));
    assert!(refusal(&bytes).contains("before its end"));
    let error = query_flash(&bytes, ImageFormat::Fs2)
        .unwrap_err()
        .to_string();
    assert!(error.contains("before its end"), "{error}");
}

#[test]
fn an_fs2_size_that_wraps_in_32_bits_is_refused() {
    let mut bytes = fixture("fs2-cx3");
    let first = layout(&bytes, 0).unwrap().sections[0].entry;
    put(&mut bytes, first + 4, 0x4000_0000);
    assert!(refusal(&bytes).contains("0x100000000 bytes are more than a section has"));
}

#[test]
fn the_image_of_an_unknown_chip_is_refused_by_number() {
    let mut bytes = fixture("fs4-cx5");
    let info = section_of(&bytes, kind::IMAGE_INFO);
    edit_section(&mut bytes, &info, 0x118, 0x0001_7777);
    assert_eq!(
        refusal(&bytes),
        "IMAGE_INFO: the image is for an unknown chip (hardware id 0x7777)"
    );
}

#[test]
fn a_date_that_is_none_is_not_shown() {
    let mut bytes = fixture("fs4-cx5");
    let info = section_of(&bytes, kind::IMAGE_INFO);
    edit_section(&mut bytes, &info, 0x10, 0x2022_1a31);
    assert_eq!(query(&bytes).unwrap().date, None);
}
