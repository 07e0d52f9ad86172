//! Images: a whole one with edits, its checksums set right, read in every way there is.

use std::io::Read;
use std::sync::OnceLock;

use cxfw::image;
use cxfw::model::ImageFormat;
use flate2::read::GzDecoder;

use super::edits::Edits;
use super::seal::{seal_image, tables};

/// Edits of FS2 images: in one piece, and now and then in the odd chunks of a flash, which is
/// large and therefore slow.
pub fn fs2(bytes: &[u8]) {
    const SMALL: &[u8] = include_bytes!("../../fixtures/image/fs2-cx3.bin.gz");
    const STRIPED: &[u8] = include_bytes!("../../fixtures/image/fs2-striped-odd.bin.gz");
    const CHOICE: [&[u8]; 32] = {
        let mut choice = [SMALL; 32];
        choice[31] = STRIPED;
        choice
    };
    static IMAGES: Images = Images::new(&CHOICE);
    IMAGES.exercise(bytes, ImageFormat::Fs2);
}

/// Edits of an FS3 image.
pub fn fs3(bytes: &[u8]) {
    static IMAGES: Images = Images::new(&[include_bytes!("../../fixtures/image/fs3-cx4lx.bin.gz")]);
    IMAGES.exercise(bytes, ImageFormat::Fs3);
}

/// Edits of FS4 images: plain, with hashes and security, encrypted, in the second slot.
pub fn fs4(bytes: &[u8]) {
    static IMAGES: Images = Images::new(&[
        include_bytes!("../../fixtures/image/fs4-cx5.bin.gz"),
        include_bytes!("../../fixtures/image/fs4-cx7.bin.gz"),
        include_bytes!("../../fixtures/image/fs4-cx7-encrypted.bin.gz"),
        include_bytes!("../../fixtures/image/fs4-slot1.bin.gz"),
    ]);
    IMAGES.exercise(bytes, ImageFormat::Fs4);
}

/// Edits of an FS5 image.
pub fn fs5(bytes: &[u8]) {
    static IMAGES: Images = Images::new(&[include_bytes!("../../fixtures/image/fs5-cx8.bin.gz")]);
    IMAGES.exercise(bytes, ImageFormat::Fs5);
}

/// The contents of the ROM section of an FS3 image.
pub fn rom(bytes: &[u8]) {
    const ROM: u8 = 0x18;
    static IMAGES: Images = Images::new(&[include_bytes!("../../fixtures/image/fs3-cx4lx.bin.gz")]);
    let (whole, _) = IMAGES.get(0);
    let mut image = whole.clone();
    let layout = image::layout(&image.as_slice(), 0).expect("the fixture is good");
    let section = layout.section(ROM).expect("the fixture has a ROM");
    let at = usize::try_from(section.physical).expect("in a file in memory");
    let size = usize::try_from(section.size).expect("in a file in memory");
    let room = &mut image[at..at + size];
    room.fill(0);
    for (to, from) in room.iter_mut().zip(bytes) {
        *to = *from;
    }
    if tables(&image) != tables(whole) {
        // Checksums of what only looks like a table would be set in the middle of the ROM.
        return;
    }
    seal_image(&mut image);
    // Whatever a ROM says, it costs nobody the rest of the image.
    image::query(&image.as_slice()).expect("a ROM spoils no image");
}

/// Whether setting checksums right leaves good images as they are.
pub fn sealing_keeps_good_images() -> bool {
    let packed: [&[u8]; 6] = [
        include_bytes!("../../fixtures/image/fs2-cx3.bin.gz"),
        include_bytes!("../../fixtures/image/fs2-striped-odd.bin.gz"),
        include_bytes!("../../fixtures/image/fs3-cx4lx.bin.gz"),
        include_bytes!("../../fixtures/image/fs4-cx5.bin.gz"),
        include_bytes!("../../fixtures/image/fs4-cx7.bin.gz"),
        include_bytes!("../../fixtures/image/fs5-cx8.bin.gz"),
    ];
    packed.into_iter().all(|packed| {
        let mut image = Vec::new();
        let read = GzDecoder::new(packed).read_to_end(&mut image);
        read.expect("the fixture is whole");
        let good = image::query(&image.as_slice());
        seal_image(&mut image);
        good.is_ok() == image::query(&image.as_slice()).is_ok()
    })
}

/// Whole images, unpacked once, with the offsets of their structures.
struct Images {
    packed: &'static [&'static [u8]],
    unpacked: OnceLock<Vec<(Vec<u8>, Vec<usize>)>>,
}

impl Images {
    const fn new(packed: &'static [&'static [u8]]) -> Self {
        Self {
            packed,
            unpacked: OnceLock::new(),
        }
    }

    /// One of them, chosen by a byte.
    fn get(&self, choice: u8) -> &(Vec<u8>, Vec<usize>) {
        let images = self.unpacked.get_or_init(|| {
            let images = self.packed.iter().map(|packed| {
                let mut image = Vec::new();
                let read = GzDecoder::new(*packed).read_to_end(&mut image);
                read.expect("the fixture is whole");
                let anchors = anchors(&image);
                (image, anchors)
            });
            images.collect()
        });
        &images[usize::from(choice) % images.len()]
    }

    /// The first byte chooses the image, the second whether checksums are set right, the rest are
    /// edits. Bytes that begin with a marker are an image themselves.
    fn exercise(&self, bytes: &[u8], format: ImageFormat) {
        if image::starts(&bytes).is_ok_and(|starts| !starts.is_empty()) {
            return exercise(bytes, format);
        }
        let Some((&[choice, sealed], edits)) = bytes.split_first_chunk::<2>() else {
            return;
        };
        let (whole, anchors) = self.get(choice);
        let mut image = whole.clone();
        Edits(edits).apply(&mut image, anchors);
        if sealed % 4 != 0 {
            seal_image(&mut image);
        }
        exercise(&image, format);
    }
}

/// Where headers, tables and sections of an image begin.
fn anchors(image: &[u8]) -> Vec<usize> {
    let mut anchors = vec![0];
    for start in image::starts(&image).unwrap_or_default() {
        let address = usize::try_from(start.address).expect("in a file in memory");
        anchors.extend([address, address + 0x100]);
        let sections = image::layout(&image, start.address).map(|layout| layout.sections);
        for section in sections.into_iter().flatten() {
            let places = [section.entry, section.physical];
            anchors.extend(places.map(|at| usize::try_from(at).expect("in a file in memory")));
        }
    }
    anchors.extend(tables(image));
    anchors
}

/// Reads an image in every way there is.
fn exercise(image: &[u8], format: ImageFormat) {
    let verification = image::verify(image);
    let queried = image::query(&image);
    if verification.passed() && !image.starts_with(&[0xff; 16]) {
        assert!(queried.is_ok(), "verified, but {queried:?}");
    }
    if let Ok(sent) = image::component(image) {
        assert!(sent.len() <= image.len());
        let _ = image::verify(&sent);
    }
    let _ = image::query_flash(&image, format);
    for start in image::starts(&image).unwrap_or_default() {
        let _ = image::layout(&image, start.address);
        let _ = image::verify_flash(&image, start.address);
    }
    let mut masked = image.to_vec();
    if let Some(marker) = masked.get_mut(..16) {
        marker.fill(0xff);
    }
    let _ = image::query_masked(&masked, Some(format));
    let _ = image::query_masked(&masked, None);
}
