//! Bundles of the lab's packer, opened as users' bundles are.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic is the report of a failure"
)]

use cxfw::bundle::Bundle;
use cxfw::identity::Psid;
use cxfw::lab::build::mfa::{PackedImage, Packer};
use cxfw::lab::build::{Rom, RomKind};
use cxfw::version::FwVersion;
use proptest::prelude::*;

fn rom() -> impl Strategy<Value = Rom> {
    let kind = prop_oneof![
        Just(RomKind::Pxe),
        Just(RomKind::Uefi),
        Just(RomKind::Clp),
        Just(RomKind::Fcode),
    ];
    (kind, 1u16..100, 0u16..100, 0u16..10_000).prop_map(|(kind, a, b, c)| Rom {
        kind,
        version: [a, b, c],
    })
}

fn board() -> impl Strategy<Value = PackedImage> {
    (
        "[ -~]{0,40}",
        "[ -~]{0,80}",
        (10u16..40, 0u16..100, 0u16..10_000),
        proptest::collection::vec(rom(), 0..4),
        proptest::collection::vec(any::<u8>(), 1..3000),
    )
        .prop_map(
            |(part_number, description, (a, b, c), roms, image)| PackedImage {
                psid: Psid::new("MT_0000000000").unwrap(),
                part_number,
                description,
                firmware: FwVersion::new(a, b, c),
                roms,
                image,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_was_packed_is_listed_and_read_back(
        mut boards in proptest::collection::vec(board(), 1..6),
    ) {
        let mut packer = Packer::new();
        for (number, board) in boards.iter_mut().enumerate() {
            board.psid = Psid::new(&format!("MT_{number:010}")).unwrap();
            packer.add(board).unwrap();
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("made.mfa");
        std::fs::write(&file, packer.pack().unwrap()).unwrap();
        let bundle = Bundle::open(&file).unwrap();
        prop_assert_eq!(bundle.entries().len(), boards.len());
        for (entry, board) in bundle.entries().iter().zip(&boards) {
            prop_assert_eq!(entry.psid.as_ref(), Some(&board.psid));
            prop_assert_eq!(entry.firmware(), Some(board.firmware));
            let part_number = entry.part_number.clone().unwrap_or_default();
            prop_assert_eq!(&part_number, &board.part_number);
            let listed: Vec<&str> = entry.versions[1..].iter().map(|v| v.text.as_str()).collect();
            let packed: Vec<String> = board
                .roms
                .iter()
                .map(|rom| format!("{}.{}.{:04}", rom.version[0], rom.version[1], rom.version[2]))
                .collect();
            prop_assert_eq!(listed, packed);
            prop_assert_eq!(&bundle.read(entry.index).unwrap(), &board.image);
        }
    }
}
