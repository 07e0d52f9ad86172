//! Bundles as people meet them: what they bought, downloaded, renamed, cut short or mixed up.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make its files has to stop"
)]

mod made;

use std::path::{Path, PathBuf};
use std::time::Duration;

use cxfw::bundle::{Bundle, Content, Entry, Fault, Kind, Members, Options, Subfolders, pldm};
use cxfw::identity::Psid;
use cxfw::image;
use cxfw::lab::build::mfa::{PackedImage, Packer};
use cxfw::lab::build::{ImageSpec, Rom, RomKind, build_image};
use cxfw::model;
use cxfw::version::FwVersion;
use tempfile::TempDir;

use made::{Mfa2, Piece, mfa1, within, xz, xz_of, zip};

const CX4LX: u16 = 0x1015;
const CX6DX: u16 = 0x101d;
const CX3: u16 = 0x1003;

fn psid(text: &str) -> Psid {
    Psid::new(text).unwrap()
}

fn spec(pci_id: u16, board: &str, version: &str) -> ImageSpec {
    let model = model::by_pci_id(pci_id).unwrap();
    ImageSpec {
        part_number: "MCX4121A-ACA_Ax".to_owned(),
        description: "ConnectX-4 Lx EN dual-port".to_owned(),
        roms: vec![
            Rom {
                kind: RomKind::Pxe,
                version: [3, 6, 502],
            },
            Rom {
                kind: RomKind::Uefi,
                version: [14, 25, 17],
            },
        ],
        ..ImageSpec::new(model, psid(board), version.parse().unwrap())
    }
}

fn image(pci_id: u16, board: &str, version: &str) -> Vec<u8> {
    build_image(&spec(pci_id, board, version)).unwrap()
}

fn mfa(boards: &[(&str, &str)]) -> Vec<u8> {
    let mut packer = Packer::new();
    for (board, version) in boards {
        let spec = spec(CX4LX, board, version);
        let packed = PackedImage {
            psid: spec.psid.clone(),
            part_number: spec.part_number.clone(),
            description: spec.description.clone(),
            firmware: spec.version,
            image: build_image(&spec).unwrap(),
            roms: spec.roms,
        };
        packer.add(&packed).unwrap();
    }
    packer.pack().unwrap()
}

/// A folder of files that is gone when the test ends.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bundle");
    fixtures.join(name)
}

fn versions(entry: &Entry) -> Vec<(&str, &str)> {
    let versions = entry.versions.iter();
    versions
        .map(|v| (v.kind.as_str(), v.text.as_str()))
        .collect()
}

/// What opening `path` says, which must name the file and be of this class.
fn refusal(path: &Path, class: &str) -> String {
    let error = Bundle::open(path).unwrap_err();
    let text = error.to_string();
    assert_eq!(error.class(), class, "{text}");
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    text
}

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
fn a_bare_image_of_every_format_tells_board_and_versions() {
    let files = Files::new();
    for (pci_id, version) in [
        (CX3, "2.42.5000"),
        (CX4LX, "14.32.1010"),
        (CX6DX, "22.41.1000"),
    ] {
        let bytes = image(pci_id, "MT_0000000001", version);
        let bundle = Bundle::open(&files.put("any name", &bytes)).unwrap();
        let [entry] = bundle.entries() else {
            panic!("{:?}", bundle.entries());
        };
        assert_eq!(bundle.kind(), Kind::Image);
        assert_eq!(entry.psid, Some(psid("MT_0000000001")));
        assert_eq!(entry.firmware(), Some(version.parse().unwrap()));
        assert_eq!(bundle.read(0).unwrap(), bytes);
    }
}

#[test]
fn an_image_as_packages_carry_it_is_still_an_image_when_taken_out() {
    let files = Files::new();
    let masked = image::component(&image(CX6DX, "MT_0000000359", "22.41.1000")).unwrap();
    assert_eq!(masked[..16], [0xff; 16]);
    let bundle = Bundle::open(&files.put("out.bin", &masked)).unwrap();
    assert_eq!(bundle.entries()[0].psid, Some(psid("MT_0000000359")));
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

#[test]
fn a_damaged_image_is_refused_when_it_is_opened() {
    let files = Files::new();
    let good = image(CX4LX, "MT_2420110034", "14.32.1010");
    refusal(&files.put("cut.bin", &good[..0x1000]), "bad_image");
}

#[test]
fn what_is_no_firmware_is_named_for_what_it_is() {
    let files = Files::new();
    refusal(&files.put("empty.bin", b""), "empty");
    refusal(&files.path().join("missing.mfa"), "io");
    let page = b"<!DOCTYPE html><html><head><title>Sign in</title></head></html>";
    let text = refusal(&files.put("fw.bin.zip", page), "no_firmware");
    assert!(text.contains("an HTML page"), "{text}");
    let token = refusal(
        &files.put("MT_0000000359-22.41.1000.token.bin", &[7; 512]),
        "no_firmware",
    );
    assert!(token.contains("of no known format"), "{token}");
    let text = refusal(
        &files.put("fw.mfa.xz", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46"),
        "no_firmware",
    );
    assert!(text.contains("a bare XZ stream"), "{text}");
    refusal(
        &files.put("fw.tar.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03"),
        "no_firmware",
    );
    let text = refusal(
        files.put("sub/notes.txt", b"notes").parent().unwrap(),
        "no_firmware",
    );
    assert!(
        text.contains("no firmware in this folder (1 other files in it)"),
        "{text}"
    );
}

#[test]
fn an_archive_may_hold_the_image_in_a_folder_beside_its_release_notes() {
    let files = Files::new();
    let bytes = image(CX4LX, "MT_2420110034", "14.32.1010");
    let archive = zip(&[
        ("notes/", b""),
        ("notes/release notes.pdf", b"%PDF-1.7 and so on"),
        ("firmware/14.32/fw.bin", &bytes),
    ]);
    let bundle = Bundle::open(&files.put("fw.bin.zip", &archive)).unwrap();
    let [entry] = bundle.entries() else {
        panic!("{:?}", bundle.entries());
    };
    assert_eq!(bundle.kind(), Kind::Zip);
    assert_eq!(entry.member.as_deref(), Some("firmware/14.32/fw.bin"));
    assert_eq!(entry.psid, Some(psid("MT_2420110034")));
    assert_eq!(bundle.read(0).unwrap(), bytes);
}

#[test]
fn an_archive_of_a_whole_bundle_is_that_bundle() {
    let files = Files::new();
    let inner = mfa(&[
        ("MT_2420110034", "14.32.1010"),
        ("MT_2420110004", "14.32.1010"),
    ]);
    let path = files.put("bundle.zip", &zip(&[("fw.mfa", &inner)]));
    let bundle = Bundle::open(&path).unwrap();
    assert_eq!(bundle.entries().len(), 2);
    assert_eq!(
        bundle.read(1).unwrap(),
        image(CX4LX, "MT_2420110004", "14.32.1010")
    );
    bundle.verify().unwrap();
}

#[test]
fn an_archive_with_damage_in_the_image_names_the_member() {
    let files = Files::new();
    let mut archive = zip(&[("fw.mfa", &mfa(&[("MT_2420110034", "14.32.1010")]))]);
    let middle = archive.len() / 2;
    archive[middle] ^= 0xff;
    let error = Bundle::open(&files.put("fw.zip", &archive)).unwrap_err();
    assert_eq!(error.class(), "zip_corrupt", "{error}");
    assert!(error.to_string().contains("fw.mfa"), "{error}");
}

#[test]
fn a_program_gives_the_bundle_in_it_wherever_its_archive_is() {
    let files = Files::new();
    let inner = mfa(&[("MT_2420110034", "14.32.1010")]);
    let tool = zip(&[("mlxfwmanager", b"\x7fELF and so on")]);
    let firmware = zip(&[("srcs.mfa", &inner), ("ca-bundle.crt", b"-----BEGIN")]);
    let stub = [b"\x7fELF".as_slice(), &[0x90; 5000]].concat();
    let signature = vec![0x5a; 100_000];
    for (name, parts) in [
        ("one", vec![&stub, &firmware]),
        ("two, firmware first", vec![&stub, &firmware, &tool]),
        ("two, firmware last", vec![&stub, &tool, &firmware]),
        ("signed behind", vec![&stub, &firmware, &signature]),
    ] {
        let program: Vec<u8> = parts.into_iter().flatten().copied().collect();
        let bundle = Bundle::open(&files.put(name, &program)).unwrap();
        assert_eq!(bundle.kind(), Kind::SelfExtractor, "{name}");
        assert_eq!(
            bundle.entries()[0].member.as_deref(),
            Some("srcs.mfa"),
            "{name}"
        );
        assert_eq!(
            bundle.read(0).unwrap(),
            image(CX4LX, "MT_2420110034", "14.32.1010")
        );
    }
    let directory = firmware
        .windows(4)
        .position(|at| at == b"PK\x01\x02")
        .unwrap();
    let cut = [&stub, &firmware[..directory]].concat();
    let bundle = Bundle::open(&files.put("cut short", &cut)).unwrap();
    assert_eq!(bundle.entries()[0].psid, Some(psid("MT_2420110034")));
    refusal(&files.put("just a program", &stub), "no_firmware");
}

#[test]
fn a_folder_lists_what_is_firmware_and_reports_what_should_be() {
    let files = Files::new();
    files.put("a.mfa", &mfa(&[("MT_2420110034", "14.32.1010")]));
    files.put("b.bin", &image(CX6DX, "MT_0000000359", "22.41.1000"));
    files.put("broken.mfa", b"MFAR but not an archive at all");
    files.put("readme.txt", b"the firmware of our hosts");
    files.put("empty.bin", b"");
    files.put("hole.mfa", &[0; 4096]);
    files.put("fw-ConnectX5-rel-16_35_4554.bin", b"<html>404</html>");
    let two = zip(&[
        ("x.bin", &image(CX3, "MT_1170110023", "2.42.5000")),
        ("y.bin", &image(CX3, "MT_1060110018", "2.42.5000")),
    ]);
    files.put("two.zip", &two);
    files.put("deeper/c.bin", &image(CX6DX, "MT_0000000360", "22.41.1000"));
    std::os::unix::fs::symlink(files.path(), files.path().join("deeper/loop")).unwrap();
    std::os::unix::fs::symlink("b.bin", files.path().join("link.bin")).unwrap();

    let bundle = Bundle::open(files.path()).unwrap();
    let listed = |bundle: &Bundle| -> Vec<String> {
        let entries = bundle.entries().iter();
        entries
            .map(|e| {
                format!(
                    "{} {}",
                    e.file.file_name().unwrap().display(),
                    e.psid.as_ref().unwrap()
                )
            })
            .collect()
    };
    let flat = [
        "a.mfa MT_2420110034",
        "b.bin MT_0000000359",
        "link.bin MT_0000000359",
        "two.zip MT_1170110023",
        "two.zip MT_1060110018",
    ];
    assert_eq!(listed(&bundle), flat);
    let problems: Vec<String> = bundle.problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems[0].contains("broken.mfa: "), "{problems:?}");
    assert!(problems[1].contains("an HTML page"), "{problems:?}");
    assert!(problems[2].contains("filled with zeros"), "{problems:?}");
    let skipped = bundle.skipped().iter();
    let skipped: Vec<_> = skipped.map(|s| s.file.file_name().unwrap()).collect();
    assert_eq!(skipped, ["empty.bin", "readme.txt"]);
    assert_eq!(
        bundle.read(4).unwrap(),
        image(CX3, "MT_1060110018", "2.42.5000")
    );

    let recursive = Options {
        subfolders: Subfolders::Read,
        ..Options::default()
    };
    let deep = Bundle::open_with(files.path(), &recursive).unwrap();
    assert_eq!(listed(&deep).len(), 6);
    assert!(listed(&deep).contains(&"c.bin MT_0000000360".to_owned()));
}

#[test]
fn a_fifo_in_a_folder_is_left_alone() {
    let files = Files::new();
    files.put("b.bin", &image(CX6DX, "MT_0000000359", "22.41.1000"));
    let fifo = files.path().join("a.bin");
    let status = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(status.unwrap().success());
    assert_eq!(Bundle::open(files.path()).unwrap().entries().len(), 1);
    refusal(&fifo, "not_a_file");
}

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

/// Plain bytes that tell every place from every other.
fn plain(size: u32) -> Vec<u8> {
    let dwords = (0..size / 4).map(|number| number.wrapping_mul(0x9e37_79b9));
    dwords.flat_map(u32::to_be_bytes).collect()
}

/// Boards whose images are joined of a piece of their own and others, by the numbers of these.
fn boards(count: u32, pieces: impl Fn(u32) -> Vec<u32>) -> Vec<(String, Vec<u32>)> {
    let boards = (0..count).map(|number| (format!("MT_{number:010}"), pieces(number)));
    boards.collect()
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

#[test]
fn a_board_is_found_by_its_whole_psid_and_never_by_a_part_of_it() {
    let bundle = Bundle::open(&fixture("multi.mfa2")).unwrap();
    let found = bundle.find(&psid("TST0000000002X")).unwrap();
    assert_eq!(found.len(), 1);
    let error = bundle.find(&psid("TST0000000002")).unwrap_err();
    assert_eq!(error.class(), "psid_not_found");
    assert!(error.to_string().contains("TST0000000002X"), "{error}");
}

#[test]
fn a_pldm_package_without_the_board_has_no_firmware_for_it() {
    let content = Content::open(&fixture("multi.fwpkg")).unwrap();
    let package = pldm::Package::parse(content).unwrap();
    let fault = package.find(&psid("TST0000000009"), pldm::FW).unwrap_err();
    assert!(matches!(fault, Fault::PsidNotFound { .. }), "{fault}");
    let fault = package.find(&psid("TST0000000003"), pldm::FW).unwrap_err();
    assert!(matches!(fault, Fault::ComponentNotFound { .. }), "{fault}");
}

#[test]
fn what_is_no_adapter_firmware_is_marked_in_a_pldm_package() {
    let bundle = Bundle::open(&fixture("multi.fwpkg")).unwrap();
    let kinds: Vec<Option<&str>> = bundle
        .entries()
        .iter()
        .map(|e| e.other.as_deref())
        .collect();
    assert_eq!(kinds, [None, None, Some("BFB"), Some("BFB")]);
    assert!(
        bundle
            .entries()
            .iter()
            .all(|entry| entry.firmware().is_none())
    );
}

#[test]
fn hints_of_an_mfa2_give_way_to_what_the_images_say() {
    let files = Files::new();
    // The older generators exchanged minor and sub-minor and cut both to eight bits.
    let package = Mfa2 {
        board: "MT_2420110034",
        stored: [14, 0xf2, 0, 32],
        image: image::component(&image(CX4LX, "MT_2420110034", "14.32.1010")).unwrap(),
    };
    let mut bundle = Bundle::open(&files.put("fw.mfa2", &package.bytes())).unwrap();
    assert_eq!(bundle.entries()[0].firmware(), None);
    bundle.deep_versions();
    assert!(bundle.problems().is_empty(), "{:?}", bundle.problems());
    let entry = &bundle.entries()[0];
    assert_eq!(entry.firmware(), Some(FwVersion::new(14, 32, 1010)));
    let shown = [
        ("FW", "14.32.1010"),
        ("PXE", "3.6.0502"),
        ("UEFI", "14.25.0017"),
    ];
    assert_eq!(versions(entry), shown);
    assert_eq!(entry.part_number.as_deref(), Some("MCX4121A-ACA_Ax"));
}

#[test]
fn an_image_for_another_board_than_it_is_listed_under_is_not_trusted() {
    let files = Files::new();
    let package = Mfa2 {
        board: "MT_2420110034",
        stored: [14, 32, 3, 0xf2],
        image: image::component(&image(CX4LX, "MT_2420110004", "14.32.1010")).unwrap(),
    };
    let bundle = Bundle::open(&files.put("fw.mfa2", &package.bytes())).unwrap();
    let error = bundle.image_info(0).unwrap_err();
    assert_eq!(error.class(), "wrong_board", "{error}");
}

#[test]
fn a_member_is_chosen_by_name() {
    let named = |name: &str| Options {
        members: Members::Named(name.to_owned()),
        ..Options::default()
    };
    let path = fixture("two_bins.zip");
    let text = refusal(&path, "ambiguous");
    assert!(text.contains("a.bin, b.bin"), "{text}");
    let bundle = Bundle::open_with(&path, &named("b.bin")).unwrap();
    assert_eq!(bundle.entries()[0].member.as_deref(), Some("b.bin"));
    let error = Bundle::open_with(&path, &named("c.bin")).unwrap_err();
    assert_eq!(error.class(), "member_not_found");
}
