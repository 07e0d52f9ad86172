//! Images as packages carry them, and what an update sends.

use super::section::kind;
use super::*;

#[test]
fn the_component_is_the_image_without_marker_and_device_data() {
    let bytes = fixture("fs3-cx4lx");
    let layout = layout(&bytes, 0).unwrap();
    let sent = component(&bytes).unwrap();
    assert_eq!(sent.len() as u64, layout.size);
    assert_eq!(sent[..16], [0xff; 16]);
    for section in &layout.sections {
        let entry = usize::try_from(section.entry).unwrap();
        let blank = sent[entry..entry + 32] == [0xff; 32];
        assert_eq!(blank, section.device_data, "{}", section.name);
    }
    for section in layout.image_sections() {
        let range = usize::try_from(section.address).unwrap()
            ..usize::try_from(section.address + section.size).unwrap();
        assert_eq!(sent[range.clone()], bytes[range], "{}", section.name);
    }
}

#[test]
fn an_image_in_the_second_slot_gives_the_same_component() {
    let slot = component(&fixture("fs4-slot1")).unwrap();
    let info = query_masked(&slot, None).unwrap();
    assert_eq!(info.start, 0);
    assert_eq!(info.psid.unwrap().as_str(), "MT_0000000012");
    assert!(verify(&slot).passed());
}

#[test]
fn an_encrypted_image_is_sent_whole() {
    let bytes = fixture("fs4-cx7-encrypted");
    let sent = component(&bytes).unwrap();
    assert_eq!(sent.len(), 0x8000);
    assert_eq!(sent[16..], bytes[16..0x8000]);
}

#[test]
fn the_update_signature_behind_an_fs5_image_is_sent_with_it() {
    let mut bytes = fixture("fs5-cx8");
    let size = usize::try_from(layout(&bytes, 0).unwrap().size).unwrap();
    assert_eq!(component(&bytes).unwrap().len(), size);
    bytes.truncate(size);
    bytes.extend_from_slice(b"NVDA");
    bytes.resize(size + 0x2000, 0x5a);
    assert_eq!(component(&bytes).unwrap().len(), size + 0x2000);
    assert!(verify(&bytes).passed());
}

#[test]
fn fs2_images_have_no_component() {
    let error = component(&fixture("fs2-cx3")).unwrap_err();
    assert!(
        matches!(error, ImageError::NoComponent(ImageFormat::Fs2)),
        "{error}"
    );
}

#[test]
fn a_masked_image_is_read_by_what_follows_the_mask() {
    for (name, format) in [
        ("fs3-cx4lx", ImageFormat::Fs3),
        ("fs4-cx5", ImageFormat::Fs4),
        ("fs5-cx8", ImageFormat::Fs5),
    ] {
        let bytes = fixture(name);
        let masked = component(&bytes).unwrap();
        let info = query_masked(&masked, None).unwrap();
        assert_eq!(info.format, format);
        assert_eq!(info.version, query(&bytes).unwrap().version);
        assert!(info.reduced && info.uids.is_none());
        assert_eq!(
            component(&masked).unwrap(),
            masked,
            "masking twice changes nothing"
        );
        let error = query_masked(&bytes, None).unwrap_err();
        assert!(matches!(error, ImageError::NotMasked), "{error}");
        assert!(matches!(query(&masked), Err(ImageError::NoMarker)));
    }
}

#[test]
fn entries_taken_out_in_the_middle_do_not_end_the_table() {
    let mut bytes = fixture("fs3-cx4lx");
    let entries = layout(&bytes, 0).unwrap().sections.len() * 0x20;
    bytes[0x1020..0x1020 + entries].rotate_right(0x20); // a device-data entry comes first
    assert!(verify(&bytes).passed());
    let sent = component(&bytes).unwrap();
    assert_eq!(sent[0x1020..0x1040], [0xff; 0x20]);
    let masked = query_masked(&sent, None).unwrap();
    assert_eq!(masked.psid, query(&bytes).unwrap().psid);
    assert_eq!(masked.size, sent.len() as u64);
}

/// What firmware may hand out of an image: with its start or with ones, with the entries of its
/// device data or without.
fn handed_out(bytes: &[u8]) -> [Vec<u8>; 4] {
    let masked = component(bytes).unwrap();
    let mut whole = bytes[..masked.len()].to_vec();
    let with_entries = {
        let mut bytes = whole.clone();
        bytes[..16].fill(0xff);
        bytes
    };
    let mut without_entries = masked.clone();
    without_entries[..16].copy_from_slice(&bytes[..16]);
    whole.truncate(masked.len());
    [masked, without_entries, with_entries, whole]
}

#[test]
fn what_firmware_hands_out_becomes_an_image_file() {
    for name in ["fs3-cx4lx", "fs4-cx5", "fs4-cx7-encrypted", "fs5-cx8"] {
        let published = fixture(name);
        for handed in handed_out(&published) {
            let file = file_of_component(handed).unwrap();
            assert_eq!(file[..16], published[..16], "{name}");
            assert!(verify(&file).passed(), "{name}");
            let (info, whole) = (query(&file).unwrap(), query(&published).unwrap());
            assert_eq!(info.psid, whole.psid, "{name}");
            assert_eq!(info.version, whole.version, "{name}");
            assert_eq!(component(&file).unwrap(), component(&published).unwrap());
            assert!(is_image_alone(&file), "{name}");
        }
        assert!(!is_image_alone(&published), "{name}");
    }
    for (bytes, what) in [
        (vec![0; 0x8000], "zeroes"),
        (vec![0xff; 0x8000], "erased flash"),
        (Vec::new(), "nothing"),
        (fixture("fs2-cx3"), "an image firmware does not burn"),
    ] {
        assert!(file_of_component(bytes).is_err(), "{what}");
    }
}

/// The signature covers the table as it is.
#[test]
fn an_image_whose_table_has_gaps_stays_without_its_marker() {
    let mut bytes = fixture("fs3-cx4lx");
    let entries = layout(&bytes, 0).unwrap().sections.len() * 0x20;
    bytes[0x1020..0x1020 + entries].rotate_right(0x20); // a device-data entry comes first
    let sent = component(&bytes).unwrap();
    let file = file_of_component(bytes[..sent.len()].to_vec()).unwrap();
    assert!(file == sent);
    assert!(is_image_alone(&file));
}

#[test]
fn damage_in_a_masked_image_is_found() {
    let mut masked = component(&fixture("fs3-cx4lx")).unwrap();
    masked[0x3100] ^= 1;
    assert_eq!(refusal(&masked), "wrong CRC in MAIN_CODE at 0x3100");
    assert!(query_masked(&vec![0xff; 0x1000], None).is_err());
    assert!(query_masked(&vec![0xff; 16], Some(ImageFormat::Fs4)).is_err());
}

#[test]
fn layouts_tell_a_burner_what_to_write() {
    let layout = layout(&fixture("fs4-cx5"), 0).unwrap();
    assert_eq!(
        layout.itoc,
        Some(TocPlaces {
            used: 0x1000,
            other: 0x2000
        })
    );
    assert_eq!(layout.boot2, Some(Extent::new(0x600, 0x50)));
    assert_eq!(layout.dtoc, Some(0xf000));
    assert_eq!(layout.size, 0x4940);
    assert!(
        layout
            .image_sections()
            .all(|section| section.address < layout.size)
    );
    let device = layout.section(kind::MFG_INFO).unwrap();
    assert!(device.device_data && device.absolute);
    assert_eq!(device.physical, 0xd000);
}
