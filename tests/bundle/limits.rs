//! Files made to cost more than they are: refused at once.

use std::time::Duration;

use cxfw::bundle::Bundle;

use crate::made::{Mfa2, Piece, mfa1, within, xz, xz_of, zip};
use crate::{CX4LX, CX6DX, Files, boards, fixture, image, refusal};

#[test]
fn small_files_that_inflate_to_too_much_are_refused_at_once() {
    let refused = |name: &str, class| {
        let mut text = String::new();
        let soon = within(Duration::from_secs(1), || {
            text = refusal(&fixture(name), class);
        });
        assert!(soon, "{name}");
        text
    };
    let text = refused("xz_bomb_map.mfa", "limit_exceeded");
    assert!(text.contains("inflated MAP section"), "{text}");
    let text = refused("bomb.mfa2", "limit_exceeded");
    assert!(
        text.contains("is 335544320, at most 268435456 is allowed"),
        "{text}"
    );
    refused("size_lies.zip", "zip_corrupt");
}

/// An XZ stream of so many mebibytes of zeros.
fn blank(mebibytes: usize) -> Vec<u8> {
    xz_of(&[0; 1 << 20], mebibytes)
}

#[test]
fn containers_that_inflate_to_more_than_their_images_are_refused_at_once() {
    let files = Files::new();
    let piece = Piece {
        kind: 1,
        offset: 0,
        size: 1000,
    };
    let stored = blank(300);
    let archive = mfa1(&boards(1, |n| vec![n]), &[piece], &stored);
    let package = Mfa2 {
        board: "MT_2420110034",
        stored: [14, 32, 3, 0xf2],
        image: vec![7; 100],
    };
    for (name, bytes) in [
        ("fw.mfa", archive),
        ("fw.mfa2", package.with_block(300 << 20, &stored)),
    ] {
        assert!(bytes.len() < 1 << 20, "{}", bytes.len());
        let path = files.put(name, &bytes);
        let soon = within(Duration::from_secs(1), || {
            let text = refusal(&path, "limit_exceeded");
            assert!(text.contains("that belong to no image"), "{text}");
        });
        assert!(soon, "{name}");
    }
}

#[test]
fn an_archive_of_many_blank_images_is_refused_at_once() {
    let files = Files::new();
    let blank = [
        &image(CX4LX, "MT_2420110034", "14.32.1010")[..16],
        &[0; 70 << 20],
    ]
    .concat();
    let members: Vec<(String, &[u8])> = (0..4).map(|n| (format!("{n}.bin"), &blank[..])).collect();
    let members: Vec<(&str, &[u8])> = members.iter().map(|(n, b)| (n.as_str(), *b)).collect();
    let archive = zip(&members);
    let program = [b"\x7fELF".as_slice(), &[0x90; 100], &archive].concat();
    for (name, bytes) in [("fw.zip", &archive), ("mlxup", &program)] {
        let path = files.put(name, bytes);
        let soon = within(Duration::from_secs(1), || {
            let text = refusal(&path, "limit_exceeded");
            assert!(
                text.contains("members of an archive of this size"),
                "{text}"
            );
        });
        assert!(soon, "{name}");
    }
}

#[test]
fn a_program_full_of_headers_of_members_is_refused_at_once() {
    let files = Files::new();
    // Each says that everything behind it is its member: reading all of it for each of them takes
    // a minute.
    const REST: usize = 16 << 20;
    let mut header = b"PK\x03\x04\x14\0".to_vec();
    header.resize(18, 0);
    header.extend(u32::try_from(REST).unwrap().to_le_bytes().repeat(2));
    header.extend(b"\x01\0\0\0a");
    let program = [b"\x7fELF".as_slice(), &header.repeat(60_000), &[0; REST]].concat();
    let path = files.put("mlxup", &program);
    let most = if cfg!(debug_assertions) { 30 } else { 1 };
    let soon = within(Duration::from_secs(most), || {
        refusal(&path, "no_firmware");
    });
    assert!(soon);
}

#[test]
fn a_bare_file_larger_than_any_flash_is_refused_at_once() {
    let files = Files::new();
    let path = files.put("fw.bin", &image(CX6DX, "MT_0000000359", "22.41.1000"));
    let sized = |size: u64| {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(size).unwrap();
    };
    sized(128 << 20);
    assert_eq!(Bundle::open(&path).unwrap().entries().len(), 1);
    sized((128 << 20) + 1);
    let text = refusal(&path, "limit_exceeded");
    assert!(
        text.contains("size of a bare image in bytes is 134217729"),
        "{text}"
    );
}

#[test]
fn an_archive_that_lists_millions_of_versions_is_refused_at_once() {
    let files = Files::new();
    // Every board has 100 pieces that belong to every image, and 150 images told apart by tags.
    let mut board = vec![0; 36];
    board[32] = 250;
    for number in 0..250u8 {
        let mut image = vec![0; 40];
        image[4..8].copy_from_slice(&[0, 1, 0, number]);
        if number >= 100 {
            image[8..11].copy_from_slice(format!("{number}").as_bytes());
        }
        board.extend(image);
    }
    let mut map = Vec::new();
    for number in 0..1600 {
        board[..13].copy_from_slice(format!("TST{number:010}").as_bytes());
        map.extend_from_slice(&board);
    }
    let toc = [&[0; 8][..], &[0, 1, 0, 3, 0, 1, 0, 2, 0, 3], &[0; 6]].concat();
    let mut bytes = b"MFAR\0\0\0\x01\0\0\0\0\0\0\0\0".to_vec();
    for (kind, plain) in [(1, &map), (2, &toc), (3, &Vec::new())] {
        let stored = xz(plain);
        bytes.extend([kind, 0, 0, 1]);
        bytes.extend(u32::try_from(stored.len()).unwrap().to_be_bytes());
        bytes.extend(stored);
    }
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    assert!(bytes.len() < 100_000, "{}", bytes.len());
    let path = files.put("many.mfa", &bytes);
    let most = if cfg!(debug_assertions) { 10 } else { 1 };
    let soon = within(Duration::from_secs(most), || {
        let text = refusal(&path, "limit_exceeded");
        assert!(text.contains("list of the images of one archive"), "{text}");
    });
    assert!(soon);
}
