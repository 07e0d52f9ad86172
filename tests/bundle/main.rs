//! Bundles as people meet them: what they bought, downloaded, renamed, cut short or mixed up.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make its files has to stop"
)]

mod archive;
mod bare;
mod folder;
mod limits;
#[path = "../made/mod.rs"]
mod made;
mod mfa1;
mod mfa2;
mod pldm_package;

use std::path::{Path, PathBuf};

use cxfw::bundle::{Bundle, Entry};
use cxfw::identity::Psid;
use cxfw::lab::build::mfa::{PackedImage, Packer};
use cxfw::lab::build::{ImageSpec, Rom, RomKind, build_image};
use cxfw::model;
use tempfile::TempDir;

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

/// Boards whose images are joined of a piece of their own and others, by the numbers of these.
fn boards(count: u32, pieces: impl Fn(u32) -> Vec<u32>) -> Vec<(String, Vec<u32>)> {
    let boards = (0..count).map(|number| (format!("MT_{number:010}"), pieces(number)));
    boards.collect()
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
