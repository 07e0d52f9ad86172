//! MFA v1 archives: what they list, and how often their data is inflated.

use std::path::Path;

use cxfw::bundle::{Bundle, Kind};

use crate::made::{Piece, mfa1, xz};
use crate::{CX4LX, Files, boards, image, mfa, psid, refusal, versions};

#[test]
fn a_bundle_of_several_boards_lists_each_and_hands_out_its_image() {
    let files = Files::new();
    let boards = [
        ("MT_2420110034", "14.32.1010"),
        ("MT_2420110004", "14.31.1014"),
    ];
    let path = files.put("fw.mfa", &mfa(&boards));
    let bundle = Bundle::open(&path).unwrap();
    assert_eq!(bundle.kind(), Kind::Mfa);
    for (entry, (board, version)) in bundle.entries().iter().zip(boards) {
        assert_eq!(entry.psid, Some(psid(board)));
        assert_eq!(entry.firmware(), Some(version.parse().unwrap()));
        assert_eq!(entry.part_number.as_deref(), Some("MCX4121A-ACA_Ax"));
        let shown = [("FW", version), ("PXE", "3.6.0502"), ("UEFI", "14.25.0017")];
        assert_eq!(versions(entry), shown);
        let bytes = bundle.read(entry.index).unwrap();
        assert_eq!(bytes, image(CX4LX, board, version));
        let info = bundle.image_info(entry.index).unwrap();
        assert_eq!(info.version, entry.firmware());
    }
    assert_eq!(bundle.entries().len(), 2);
    bundle.verify().unwrap();
    let mut each = Vec::new();
    let visited = bundle.read_each(|entry, bytes| each.push((entry.index, bytes.to_vec())));
    visited.unwrap();
    let one_by_one: Vec<_> = (0..2).map(|i| (i, bundle.read(i).unwrap())).collect();
    assert_eq!(each, one_by_one);
}

#[test]
fn a_damaged_bundle_says_what_is_wrong_and_where() {
    let files = Files::new();
    let good = mfa(&[("MT_2420110034", "14.32.1010")]);
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let text = refusal(&files.put("flipped.mfa", &flipped), "crc_mismatch");
    assert!(text.contains("stored CRC is 0x"), "{text}");
    let cut = files.put("cut.mfa", &good[..good.len() / 2]);
    refusal(&cut, "crc_mismatch");
    let text = refusal(&files.put("head.mfa", &good[..18]), "truncated");
    assert!(
        text.contains("MFA header at 0x0 needs 20 bytes, but the data ends at 0x12"),
        "{text}"
    );
}

/// Plain bytes that tell every place from every other.
fn plain(size: u32) -> Vec<u8> {
    let dwords = (0..size / 4).map(|number| number.wrapping_mul(0x9e37_79b9));
    dwords.flat_map(u32::to_be_bytes).collect()
}

/// Reads all images in one go: how often the DATA section was inflated for it. They are the same
/// as taken out one by one.
fn inflations(path: &Path, plain_size: u32) -> f64 {
    let bundle = Bundle::open(path).unwrap();
    let mut seen = vec![false; bundle.entries().len()];
    let mut each = Vec::new();
    let visited = bundle.read_each(|entry, bytes| {
        assert!(!std::mem::replace(&mut seen[entry.index], true));
        each.push((entry.index, bytes.to_vec()));
    });
    visited.unwrap();
    let inflated = bundle.meter().inflated();
    assert!(seen.iter().all(|&seen| seen));
    for (index, bytes) in each {
        assert!(bundle.read(index).unwrap() == bytes, "image {index}");
    }
    inflated as f64 / f64::from(plain_size)
}

#[test]
fn images_joined_of_pieces_are_read_in_a_pass_or_two_however_many_they_are() {
    let files = Files::new();
    const OWN: u32 = 40_000;
    const ROM: u32 = 8_000;
    const COUNT: u32 = 100;
    let piece = |kind, offset, size| Piece {
        kind,
        offset: u64::from(offset),
        size,
    };

    // A ROM of its own beside the firmware of each board.
    let beside = (0..COUNT).flat_map(|n| {
        let at = n * (OWN + ROM);
        [piece(1, at, OWN), piece(0x110, at + OWN, ROM)]
    });
    let size = COUNT * (OWN + ROM);
    let bytes = mfa1(
        &boards(COUNT, |n| vec![2 * n, 2 * n + 1]),
        &beside.collect::<Vec<_>>(),
        &xz(&plain(size)),
    );
    let passes = inflations(&files.put("beside.mfa", &bytes), size);
    assert!(passes <= 1.0, "{passes}");

    // One ROM for all of them behind the last; firmware overlaps.
    let own = (0..COUNT).map(|n| piece(1, n * OWN / 2, OWN));
    let size = COUNT * OWN + ROM;
    let shared: Vec<Piece> = own.chain([piece(0x110, size - ROM, ROM)]).collect();
    let bytes = mfa1(
        &boards(COUNT, |n| vec![n, COUNT]),
        &shared,
        &xz(&plain(size)),
    );
    let passes = inflations(&files.put("shared.mfa", &bytes), size);
    assert!(passes <= 1.0, "{passes}");
}

#[test]
fn an_archive_larger_than_what_is_kept_of_it_takes_a_second_pass() {
    let files = Files::new();
    const OWN: u32 = 24 << 20;
    const COUNT: u32 = 3;
    const ROM: u32 = 64;
    let size = COUNT * OWN + ROM;
    let own = (0..COUNT).map(|n| (1, n * OWN, OWN));
    let pieces = own.chain([(0x110, size - ROM, ROM)]);
    let pieces = pieces.map(|(kind, offset, size)| Piece {
        kind,
        offset: offset.into(),
        size,
    });
    let stored = xz(&vec![7; size as usize]);
    let bytes = mfa1(
        &boards(COUNT, |n| vec![n, COUNT]),
        &pieces.collect::<Vec<_>>(),
        &stored,
    );
    let bundle = Bundle::open(&files.put("fw.mfa", &bytes)).unwrap();
    let mut seen = 0;
    let visited = bundle.read_each(|_, bytes| {
        assert_eq!(bytes.len(), (OWN + ROM) as usize);
        seen += 1;
    });
    visited.unwrap();
    assert_eq!(seen, COUNT);
    let inflated = bundle.meter().inflated();
    assert!(inflated <= 2 * u64::from(size), "{inflated}");
}

#[test]
fn an_image_outside_its_archive_does_not_hide_the_others() {
    let files = Files::new();
    let piece = |offset, size| Piece {
        kind: 1,
        offset,
        size,
    };
    let pieces = [piece(0, 400), piece(900, 200), piece(400, 600)];
    let bytes = mfa1(&boards(3, |n| vec![n]), &pieces, &xz(&plain(1000)));
    let bundle = Bundle::open(&files.put("fw.mfa", &bytes)).unwrap();
    let mut seen = Vec::new();
    let visited = bundle.read_each(|entry, bytes| seen.push((entry.index, bytes.len())));
    let error = visited.unwrap_err();
    assert_eq!(error.class(), "data_out_of_range");
    assert!(error.to_string().contains("MT_0000000001"), "{error}");
    assert_eq!(seen, [(0, 400), (2, 600)]);
}
