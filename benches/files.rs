//! How long list, verify and extract take, on made files: `cargo bench`.

#![expect(
    clippy::unwrap_used,
    reason = "without its files there is nothing to measure"
)]

#[path = "../tests/made/mod.rs"]
mod made;

use std::path::PathBuf;
use std::sync::LazyLock;

use cxfw::bundle::Bundle;
use cxfw::identity::Psid;
use cxfw::image;
use cxfw::lab::build::mfa::{PackedImage, Packer};
use cxfw::lab::build::{ImageSpec, build_image};
use cxfw::model;
use divan::Bencher;
use tempfile::TempDir;

/// What one board of the archives is called; the others count up.
const BOARDS: usize = 16;

/// The files, gone when the benchmarks end.
struct Files {
    folder: TempDir,
    /// An FS4 image with a slot of 16 MiB.
    image: Vec<u8>,
}

static FILES: LazyLock<Files> = LazyLock::new(Files::make);

impl Files {
    fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let image = large_image();
        let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes);
        put("fw.bin", &image).unwrap();
        put("fw.mfa", &archive()).unwrap();
        let package = made::Mfa2 {
            board: "MT_0000000008",
            stored: [16, 35, 0x0f, 0xbe],
            image: image::component(&image).unwrap(),
        };
        put("fw.mfa2", &package.bytes()).unwrap();
        put("fw.zip", &made::zip(&[("fw.bin", &image)])).unwrap();
        Self { folder, image }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn spec(board: usize) -> ImageSpec {
    let connectx5 = model::by_pci_id(0x1017).unwrap();
    let board = Psid::new(&format!("MT_{board:010}")).unwrap();
    ImageSpec::new(connectx5, board, "16.35.4030".parse().unwrap())
}

fn large_image() -> Vec<u8> {
    let mut spec = spec(8);
    spec.slot_log2 = 24;
    spec.code_size = 14 << 20;
    build_image(&spec).unwrap()
}

/// An MFA of images of a mebibyte.
fn archive() -> Vec<u8> {
    let mut packer = Packer::new();
    for board in 0..BOARDS {
        let mut spec = spec(board);
        spec.code_size = 1 << 20;
        let packed = PackedImage {
            psid: spec.psid.clone(),
            part_number: "MCX515A-CCA_Ax".to_owned(),
            description: "ConnectX-5 EN".to_owned(),
            firmware: spec.version,
            image: build_image(&spec).unwrap(),
            roms: Vec::new(),
        };
        packer.add(&packed).unwrap();
    }
    packer.pack().unwrap()
}

const NAMES: [&str; 4] = ["fw.bin", "fw.mfa", "fw.mfa2", "fw.zip"];

#[divan::bench(args = NAMES)]
fn list(bencher: Bencher, name: &str) {
    let path = FILES.path(name);
    bencher.bench_local(|| Bundle::open(&path).unwrap());
}

/// The container, and every image in it.
#[divan::bench(args = NAMES)]
fn verify(bencher: Bencher, name: &str) {
    let path = FILES.path(name);
    bencher.bench_local(|| {
        let bundle = Bundle::open(&path).unwrap();
        let visited = bundle.read_each(|_, bytes| assert!(image::verify(bytes).passed()));
        visited.unwrap();
    });
}

/// The last image, read and described as `extract` does before it writes it.
#[divan::bench(args = NAMES)]
fn extract(bencher: Bencher, name: &str) {
    let path = FILES.path(name);
    bencher.bench_local(|| {
        let bundle = Bundle::open(&path).unwrap();
        let entry = bundle.entries().last().unwrap();
        let bytes = bundle.read(entry.index).unwrap();
        entry.describe(&bytes).unwrap();
        bytes
    });
}

/// The check of an image in memory, without any file.
#[divan::bench]
fn verify_in_memory(bencher: Bencher) {
    bencher.bench_local(|| assert!(image::verify(&FILES.image).passed()));
}

fn main() {
    divan::main();
}
