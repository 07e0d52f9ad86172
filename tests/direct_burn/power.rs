//! Power is lost in every operation of a burn, torn in every way: a bootable image remains under both
//! rules a boot ROM may follow, the card stays itself, and the next burn succeeds.

use cxfw::image::ImageInfo;
use cxfw::lab::build::Slot;

use super::boards::{Board, CX3, CX4LX, CX5};
use super::nor::{Nor, Torn, first_pattern, lowest_good, patterns};
use super::whole::{burn, identity};

/// How an operation may be torn.
fn tears(number: usize) -> [Torn; 4] {
    [
        Torn::Nothing,
        Torn::Half,
        Torn::Bits(number as u64),
        Torn::Everything,
    ]
}

/// The card boots an image of one of these versions, and is who it was.
fn assert_boots(board: Board, flash: &Nor, minors: &[u16], before: &ImageInfo, what: &str) {
    let format = board.model().format;
    for booted in [lowest_good(flash, format), first_pattern(flash, format)] {
        let booted = booted.unwrap_or_else(|| panic!("{what}: nothing boots"));
        let version = booted.version.unwrap();
        let good = minors.iter().any(|&minor| board.version(minor) == version);
        assert!(good, "{what}: boots {version}");
        assert_eq!(identity(&booted), identity(before), "{what}");
    }
}

/// Which operations of a burn are cut.
#[derive(Debug, Clone, Copy)]
enum Cuts {
    /// All of them.
    All,
    /// The first and last ones, and some of the many pages between.
    Some,
}

impl Cuts {
    fn of(self, operations: usize) -> impl Iterator<Item = usize> {
        let every = match self {
            Self::All => 1,
            Self::Some => 23,
        };
        (0..operations).filter(move |number| {
            *number < 4 || number + 8 >= operations || number.is_multiple_of(every)
        })
    }
}

/// Cuts the burn of `new` over a factory flash with `old`, and goes on with `then`.
fn sweep(board: Board, slot: Slot, cuts: Cuts, [old, new, then]: [u16; 3]) {
    let contents = board.factory(old, slot);
    let format = board.model().format;
    let image = board.image(new);
    let next = board.image(then);
    let counted = Nor::new(contents.clone());
    let before = lowest_good(&counted, format).unwrap();
    burn(board, &counted, &image).unwrap();
    for number in cuts.of(counted.operations()) {
        for torn in tears(number) {
            let what = format!("{board:?} {slot:?} cut at {number}, {torn:?}");
            let flash = Nor::new(contents.clone());
            flash.cut_at(number, torn);
            burn(board, &flash, &image).unwrap_err();
            assert!(flash.is_dead(), "{what}");
            let flash = Nor::new(flash.contents());
            assert_boots(board, &flash, &[old, new], &before, &what);
            burn(board, &flash, &next).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_boots(board, &flash, &[then], &before, &what);
            assert_eq!(patterns(&flash, format).count(), 1, "{what}");
        }
    }
}

#[test]
fn power_lost_anywhere_leaves_a_bootable_image_and_the_next_burn_succeeds() {
    for board in [CX3, CX4LX, CX5] {
        for slot in [Slot::First, Slot::Second] {
            sweep(board, slot, Cuts::Some, [20, 30, 30]);
        }
    }
}

#[test]
fn a_burn_broken_off_may_be_followed_by_one_of_another_image() {
    sweep(CX3, Slot::Second, Cuts::Some, [20, 30, 40]);
    sweep(CX4LX, Slot::First, Cuts::Some, [20, 30, 40]);
    sweep(CX5, Slot::Second, Cuts::Some, [20, 30, 40]);
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "takes minutes without optimisation; a release build runs it"
)]
fn power_lost_in_every_single_operation() {
    for board in [CX3, CX4LX, CX5] {
        for slot in [Slot::First, Slot::Second] {
            for then in [30, 40] {
                sweep(board, slot, Cuts::All, [20, 30, then]);
            }
        }
    }
}

/// A card that is unlucky again and again: every burn is cut somewhere, torn somehow.
#[test]
fn burns_cut_one_after_the_other_never_leave_a_card_without_firmware() {
    for board in [CX3, CX4LX, CX5] {
        let format = board.model().format;
        let images: Vec<Vec<u8>> = (0..3).map(|minor| board.image(30 + minor)).collect();
        let mut contents = board.factory(20, Slot::First);
        let before = lowest_good(&contents, format).unwrap();
        let longest = {
            let flash = Nor::new(contents.clone());
            burn(board, &flash, &images[0]).unwrap();
            flash.operations()
        };
        for round in 0..24usize {
            // the end of a burn is where it matters, so every other cut is there
            let number = match round % 2 {
                0 => longest.saturating_sub(1 + round % 5),
                _ => round * 37 % longest,
            };
            let torn = tears(round * 7 + 1)[round % 4];
            let flash = Nor::new(contents);
            flash.cut_at(number, torn);
            // may be done before its cut, where the burn only finishes another
            let _ = burn(board, &flash, &images[round % 3]);
            contents = flash.contents();
            let what = format!("{board:?}, round {round}, cut at {number}, {torn:?}");
            let flash = Nor::new(contents.clone());
            assert_boots(board, &flash, &[20, 30, 31, 32], &before, &what);
        }
        let flash = Nor::new(contents);
        burn(board, &flash, &images[1]).unwrap();
        assert_boots(board, &flash, &[31], &before, "at last");
    }
}
