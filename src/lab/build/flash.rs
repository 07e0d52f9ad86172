//! What a flash holds when a board leaves the factory.

use super::device_area::Place;
use super::{BuildError, Composition, ImageSpec, compose};
use crate::model::ImageFormat;

/// Smallest flash the builder lays out: two slots and a device data area.
const LEAST_FLASH: u64 = 0x20_0000;

/// Which of the two image slots.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    /// Start 0, even chunks.
    #[default]
    First,
    /// Start at the slot size, odd chunks.
    Second,
}

/// A flash: what is programmed; all else is erased (ones).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlashContents {
    /// Bytes of flash.
    pub size: u64,
    /// Address and bytes of every programmed run, ascending, not overlapping.
    pub runs: Vec<(u64, Vec<u8>)>,
}

impl FlashContents {
    /// The whole flash.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let mut bytes = vec![0xff; size];
        for (address, run) in &self.runs {
            // In range: `flash_contents` checked every run against the size.
            let start = usize::try_from(*address).unwrap_or(size);
            bytes[start..start + run.len()].copy_from_slice(run);
        }
        bytes
    }
}

/// The contents of a factory flash of `size` bytes: the image in `slot`, device data at the end.
///
/// # Errors
/// [`BuildError`]: as for an image, and [`BuildError::DoesNotFit`] when the image would reach
/// into the other slot's or the device data's place.
pub fn flash_contents(
    spec: &ImageSpec,
    size: u64,
    slot: Slot,
) -> Result<FlashContents, BuildError> {
    if size < LEAST_FLASH {
        return Err(BuildError::DoesNotFit {
            what: "flash layout",
            end: LEAST_FLASH,
            limit: size,
        });
    }
    let Composition {
        image,
        device,
        size,
    } = compose(spec, Place::Flash(size))?;
    let limit = slot_limit(
        spec,
        size,
        slot,
        device.first().map(|(address, _)| *address),
    );
    if image.len() as u64 > limit {
        return Err(BuildError::DoesNotFit {
            what: "image",
            end: image.len() as u64,
            limit,
        });
    }
    let mut runs = chunked(&image, spec.slot_log2, slot);
    // Erased sections need no programming.
    runs.extend(
        device
            .into_iter()
            .filter(|(_, data)| data.iter().any(|&byte| byte != 0xff)),
    );
    Ok(FlashContents { size, runs })
}

/// Bytes an image may have in `slot`: FS2 leaves a configuration sector in each half
/// (images-fs2 9), the others end at the next slot or below the lowest device data
/// (images-fs3 9).
fn slot_limit(spec: &ImageSpec, size: u64, slot: Slot, device: Option<u64>) -> u64 {
    const CONFIGURATION: u64 = 0x1_0000;
    let slot_size = 1u64 << spec.slot_log2;
    if spec.model.format == ImageFormat::Fs2 {
        return size / 2 - CONFIGURATION;
    }
    let start = match slot {
        Slot::First => 0,
        Slot::Second => slot_size,
    };
    let device = device.unwrap_or(size);
    slot_size.min(device.saturating_sub(start))
}

/// The image cut into chunks at their flash addresses (images 3).
fn chunked(image: &[u8], slot_log2: u8, slot: Slot) -> Vec<(u64, Vec<u8>)> {
    let chunk = 1usize << slot_log2;
    image
        .chunks(chunk)
        .enumerate()
        .map(|(index, bytes)| {
            let odd = usize::from(slot == Slot::Second);
            (((2 * index + odd) * chunk) as u64, bytes.to_vec())
        })
        .collect()
}
