//! Images on a card's flash: which one boots, and how little is read to tell.

use std::borrow::Cow;
use std::cell::Cell;

use super::*;
use crate::bytes::ReadError;

/// A flash behind a gateway: hands out copies and counts what it is asked for.
struct Gateway {
    flash: Vec<u8>,
    reads: Cell<u64>,
    bytes: Cell<u64>,
}

impl Gateway {
    fn new(flash: Vec<u8>) -> Self {
        Self {
            flash,
            reads: Cell::new(0),
            bytes: Cell::new(0),
        }
    }
}

impl ByteSource for Gateway {
    fn size(&self) -> u64 {
        self.flash.size()
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        self.reads.set(self.reads.get() + 1);
        self.bytes.set(self.bytes.get() + len);
        Ok(Cow::Owned(self.flash.read(offset, len)?.into_owned()))
    }
}

/// A 16 MiB flash with the FS4 fixture in it, its DTOC at the flash's end.
fn fs4_flash() -> Vec<u8> {
    let image = fixture("fs4-cx5");
    let mut flash = vec![0xff; 0x100_0000];
    flash[..0xf000].copy_from_slice(&image[..0xf000]);
    let end = flash.len();
    flash[end - 0x1000..].copy_from_slice(&image[0xf000..]);
    flash
}

/// A flash with the same FS4 image in both of its 64 KiB slots.
fn two_slots() -> Vec<u8> {
    let mut flash = fixture("fs4-slot1");
    flash.copy_within(0x1_0000..0x2_0000, 0);
    flash
}

#[test]
fn a_query_reads_headers_tables_info_and_rom_only() {
    let gateway = Gateway::new(fs4_flash());
    let info = query_flash(&gateway, ImageFormat::Fs4).unwrap();
    assert_eq!(info.version.unwrap().to_string(), "16.35.2000");
    assert!(info.uids.is_some());
    let rom = 0x400;
    assert!(
        gateway.bytes.get() < 0x1400 + rom,
        "{:#x} bytes read",
        gateway.bytes.get()
    );
    assert!(gateway.reads.get() < 64, "{} reads", gateway.reads.get());
}

#[test]
fn the_lowest_good_image_is_the_one_that_boots() {
    let mut flash = two_slots();
    let starts: Vec<u64> = starts(&flash)
        .unwrap()
        .iter()
        .map(|start| start.address)
        .collect();
    assert_eq!(starts, [0, 0x1_0000]);
    assert_eq!(query_flash(&flash, ImageFormat::Fs4).unwrap().start, 0);

    put(&mut flash, 0x28, 0x1234); // a hardware pointer of the image in slot 0
    let info = query_flash(&flash, ImageFormat::Fs4).unwrap();
    assert_eq!(info.start, 0x1_0000);
    let layout = flash_layout(&flash, ImageFormat::Fs4).unwrap();
    assert_eq!(layout.physical(0x1000), 0x1_1000);
    assert_eq!(layout.contiguous(0x1_1000), Some(0x1000));
    assert_eq!(layout.contiguous(0x1000), None);
}

#[test]
fn an_invalidated_marker_hides_its_image() {
    let mut flash = two_slots();
    put(&mut flash, 0, 0);
    assert_eq!(
        query_flash(&flash, ImageFormat::Fs4).unwrap().start,
        0x1_0000
    );
    put(&mut flash, 0x1_0000, 0);
    let error = query_flash(&flash, ImageFormat::Fs4).unwrap_err();
    assert!(matches!(error, ImageError::NoMarker), "{error}");
}

#[test]
fn an_image_of_an_unknown_format_does_not_hide_the_others() {
    let mut flash = two_slots();
    flash[0x10] = 9;
    assert_eq!(starts(&flash).unwrap().len(), 1);
    assert_eq!(
        query_flash(&flash, ImageFormat::Fs4).unwrap().start,
        0x1_0000
    );
    assert_eq!(refusal(&flash), "image at 0x0: unknown image format 9");
}

#[test]
fn a_flash_of_another_format_holds_no_image_for_the_chip() {
    let error = query_flash(&fs4_flash(), ImageFormat::Fs3).unwrap_err();
    assert!(matches!(error, ImageError::NoMarker), "{error}");
}

#[test]
fn each_slot_can_be_verified() {
    let mut flash = two_slots();
    let verification = verify_flash(&flash, 0x1_0000);
    assert!(verification.passed());
    assert_eq!(verification.info.unwrap().start, 0x1_0000);
    let code = flash_layout(&flash, ImageFormat::Fs4).unwrap();
    let code = code.section(0x03).unwrap();
    flash[0x1_0000 + usize::try_from(code.address).unwrap()] ^= 1;
    assert!(verify_flash(&flash, 0).passed());
    let failure = verify_flash(&flash, 0x1_0000).failure.unwrap();
    assert_eq!(failure.to_string(), "wrong CRC in MAIN_CODE at 0x13100");
}

#[test]
fn chunks_of_an_old_image_are_put_together() {
    let flash = fixture("fs2-striped-odd");
    let gateway = Gateway::new(flash.clone());
    let info = query_flash(&gateway, ImageFormat::Fs2).unwrap();
    assert_eq!(info.start, 0x1_0000);
    assert_eq!(info.slot_log2, Some(16));
    assert_eq!(info.roms.len(), 2);
    assert!(gateway.reads.get() < 64, "{} reads", gateway.reads.get());
    assert!(verify_flash(&flash, 0x1_0000).passed());
    let layout = flash_layout(&flash, ImageFormat::Fs2).unwrap();
    assert!(layout.size > 0x1_0000, "the fixture crosses a chunk");
    assert_eq!(
        query(&flash).unwrap(),
        info,
        "a dump of it is understood as a file"
    );
}

#[test]
fn broken_device_data_does_not_hide_the_image_of_a_card() {
    let mut flash = fs4_flash();
    let end = flash.size();
    put(&mut flash, end - 0x1000, 0);
    let info = query_flash(&flash, ImageFormat::Fs4).unwrap();
    assert_eq!(info.psid.unwrap().as_str(), "MT_0000000012");
    assert_eq!(info.uids, None);
    assert!(info.warnings[0].contains("DTOC"), "{:?}", info.warnings);
    assert!(verify_flash(&flash, 0).failure.is_some());
}

#[test]
fn two_valid_copies_of_the_addresses_are_told_and_the_first_counts() {
    let mut bytes = fixture("fs4-cx5");
    bytes.copy_within(0xb000..0xb200, 0xc000);
    put(&mut bytes, 0xc028, 0x1111_1111);
    let crc = image_crc(&bytes[0xc000..0xc1fc]);
    put(&mut bytes, 0xc1fc, u32::from(crc));
    let info = query(&bytes).unwrap();
    let Some(Uids::Base { guid, .. }) = info.uids else {
        panic!("{:?}", info.uids)
    };
    assert_eq!(guid.value, 0x0002_c903_00ab_cde0);
    assert!(info.warnings[0].contains("0xc000"), "{:?}", info.warnings);
    assert!(verify(&bytes).passed());

    bytes[0xb040] ^= 1; // now only the second one is good
    let info = query(&bytes).unwrap();
    let Some(Uids::Base { guid, .. }) = info.uids else {
        panic!("{:?}", info.uids)
    };
    assert_eq!(guid.value, 0x1111_1111_00ab_cde0);
    assert_eq!(refusal(&bytes), "wrong CRC in DEV_INFO at 0xb000");
}
