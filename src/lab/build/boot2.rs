//! BOOT2, the second boot stage of FS2, FS3 and FS4 (images-fs2 3).

use super::canvas::Canvas;
use super::payload::payload;
use crate::image::crc::image_crc;

/// A stage with `size` bytes of payload, a multiple of four.
pub(super) fn stage(size: usize) -> Vec<u8> {
    let words = size / 4;
    let mut stage = Canvas::new(8, 0);
    stage.word(4, words as u32);
    stage.put(8, &payload("boot2", 4 * (words + 1)));
    let crc = image_crc(stage.bytes());
    stage.word(stage.len(), u32::from(crc));
    stage.into_bytes()
}
