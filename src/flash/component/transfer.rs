//! The image on its way: cut into blocks the card takes, the last one padded to a whole word.

use crate::access::{RegisterAccess, post_register};
use crate::flash::cancel::Cancel;
use crate::progress::{Event, Phase, Sink};
use crate::registers::Mcda;

use super::error::Fault;
use super::steps::Plan;

/// Value of the padding after the last byte: that of erased flash.
const PADDING: u8 = 0xff;

/// Sends the component. Of the answers only the status is wanted, so nothing else is read. The
/// user is listened to between two blocks.
pub(super) fn send(
    registers: &dyn RegisterAccess,
    update_handle: u32,
    plan: &Plan,
    component: &[u8],
    cancel: &Cancel,
    sink: &mut Sink<'_>,
) -> Result<(), Fault> {
    let total = u64::from(plan.size);
    let mut shown = None;
    for (offset, piece) in blocks(component, plan.block) {
        if cancel.requested() {
            return Err(Fault::Cancelled);
        }
        let block = Mcda {
            update_handle,
            offset,
            data: padded(piece, plan.word),
        };
        post_register(registers, &block)?;
        let done = u64::from(offset) + piece.len() as u64;
        let percent = Some(done * 100 / total.max(1));
        if percent != shown {
            shown = percent;
            sink(Event::Progress {
                phase: Phase::Write,
                done,
                total,
            });
        }
    }
    sink(Event::PhaseDone {
        phase: Phase::Write,
    });
    Ok(())
}

/// Pieces of at most `block` bytes, each with its offset.
fn blocks(component: &[u8], block: u32) -> impl Iterator<Item = (u32, &[u8])> {
    let size = usize::try_from(block).unwrap_or(usize::MAX).max(1);
    (0u32..).step_by(size).zip(component.chunks(size))
}

/// `piece` as whole words.
fn padded(piece: &[u8], word: u32) -> Vec<u8> {
    let word = usize::try_from(word).unwrap_or(usize::MAX).max(1);
    let mut data = piece.to_vec();
    data.resize(piece.len().next_multiple_of(word), PADDING);
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_image_without_gap_and_only_the_last_is_padded() {
        let image: Vec<u8> = (0..20).collect();
        let pieces: Vec<_> = blocks(&image, 8).collect();
        assert_eq!(
            pieces,
            [(0, &image[..8]), (8, &image[8..16]), (16, &image[16..])]
        );
        assert_eq!(
            padded(&image[16..], 8),
            [16, 17, 18, 19, 255, 255, 255, 255]
        );
        assert_eq!(padded(&image[..8], 8), &image[..8]);
    }
}
