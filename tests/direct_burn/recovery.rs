//! Cards whose boot ROM finds no image: what is left of them is used, and what is lost is asked for.

use cxfw::flash::Cancel;
use cxfw::flash::direct::{Choices, Fault, RecoveryIdentity, Refusal};
use cxfw::identity::{Guid, Mac};
use cxfw::image::Uids;
use cxfw::lab::build::Slot;

use super::boards::{Board, CX3, CX4LX, CX5, FLASH};
use super::nor::{Nor, Torn, first_pattern, lowest_good, patterns};
use super::whole::{burn, identity, plan, run};

const GUID: u64 = 0xe41d_2d03_00bb_0010;
const MAC: u64 = 0xe41d_2dbb_0010;

fn told() -> Choices {
    Choices {
        identity: Some(RecoveryIdentity {
            guid: Guid::new(GUID).unwrap(),
            mac: Mac::new(MAC).unwrap(),
            count: 2,
        }),
        ..Choices::default()
    }
}

/// A flash whose only start pattern has lost its first dword.
fn retired(board: Board, slot: Slot) -> Nor {
    let mut bytes = board.factory(20, slot);
    let start = match slot {
        Slot::First => 0,
        Slot::Second => 1 << board.slot_log2,
    };
    bytes[start..start + 4].fill(0);
    let flash = Nor::new(bytes);
    assert_eq!(lowest_good(&flash, board.model().format), None);
    flash
}

#[test]
fn a_card_without_a_start_pattern_keeps_its_addresses_without_being_told() {
    for board in [CX3, CX4LX, CX5] {
        for slot in [Slot::First, Slot::Second] {
            let format = board.model().format;
            let before = lowest_good(&board.flash(20, slot), format).unwrap();
            let flash = retired(board, slot);
            let plan = burn(board, &flash, &board.image(30)).unwrap();
            assert_eq!((plan.from, plan.kept), (None, None));
            let after = lowest_good(&flash, format).unwrap();
            assert_eq!(after.version, Some(board.version(30)), "{board:?} {slot:?}");
            assert_eq!(identity(&after), identity(&before), "{board:?} {slot:?}");
        }
    }
}

#[test]
fn power_lost_in_a_recovery_loses_no_address() {
    for board in [CX3, CX4LX, CX5] {
        let format = board.model().format;
        let before = lowest_good(&board.flash(20, Slot::First), format).unwrap();
        let image = board.image(30);
        let counted = retired(board, Slot::First);
        burn(board, &counted, &image).unwrap();
        for number in (0..counted.operations()).step_by(11) {
            for torn in [Torn::Half, Torn::Bits(7)] {
                let flash = retired(board, Slot::First);
                flash.cut_at(number, torn);
                burn(board, &flash, &image).unwrap_err();
                let flash = Nor::new(flash.contents());
                burn(board, &flash, &image)
                    .unwrap_or_else(|error| panic!("{board:?} {number} {torn:?}: {error}"));
                let after = lowest_good(&flash, format).unwrap();
                assert_eq!(identity(&after), identity(&before), "{board:?} {number}");
            }
        }
    }
}

#[test]
fn a_blank_flash_is_refused_without_addresses_and_burned_with_them() {
    for board in [CX3, CX4LX, CX5] {
        let format = board.model().format;
        let flash = Nor::new(vec![0xff; usize::try_from(FLASH).unwrap()]);
        let error = plan(board, &flash, &board.image(30), &Choices::default()).unwrap_err();
        assert!(
            matches!(error, Fault::Refused(Refusal::NoIdentity)),
            "{error}"
        );
        let plan = plan(board, &flash, &board.image(30), &told()).unwrap();
        run(board, &flash, &plan, &Cancel::new(), &mut Vec::new()).unwrap();
        let after = lowest_good(&flash, format).unwrap();
        assert_eq!(first_pattern(&flash, format).unwrap(), after);
        match after.uids.as_ref().unwrap() {
            Uids::Fs2 { entries } => {
                assert_eq!(
                    entries[..],
                    [GUID, GUID + 1, GUID + 2, GUID + 3, MAC, MAC + 1]
                );
            }
            Uids::Base { guid, mac } => {
                assert_eq!((guid.value, guid.count), (GUID, 2));
                assert_eq!((mac.value, mac.count), (MAC, 2));
                assert_eq!(after.original_uids, after.uids);
            }
            Uids::TwoPorts { .. } => panic!("none of these boards has them"),
        }
        // the next burn finds all it needs
        burn(board, &flash, &board.image(40)).unwrap();
        let next = lowest_good(&flash, format).unwrap();
        assert_eq!(identity(&next), identity(&after));
    }
}

#[test]
fn power_lost_while_a_blank_card_is_burned_leaves_one_that_can_be_burned() {
    for board in [CX3, CX4LX, CX5] {
        let format = board.model().format;
        let blank = || Nor::new(vec![0xff; usize::try_from(FLASH).unwrap()]);
        let image = board.image(30);
        let attempt = |flash: &Nor| {
            let plan = plan(board, flash, &image, &told()).unwrap();
            run(board, flash, &plan, &Cancel::new(), &mut Vec::new())
        };
        let counted = blank();
        attempt(&counted).unwrap();
        let expected = lowest_good(&counted, format).unwrap();
        for number in (0..counted.operations()).step_by(7) {
            let flash = blank();
            flash.cut_at(number, Torn::Bits(number as u64));
            attempt(&flash).unwrap_err();
            let flash = Nor::new(flash.contents());
            attempt(&flash).unwrap_or_else(|error| panic!("{board:?} {number}: {error}"));
            let after = lowest_good(&flash, format).unwrap();
            assert_eq!(identity(&after), identity(&expected), "{board:?} {number}");
        }
    }
}

#[test]
fn readable_addresses_are_kept_though_others_are_given() {
    for board in [CX3, CX4LX, CX5] {
        let format = board.model().format;
        let flash = retired(board, Slot::First);
        let before = lowest_good(&board.flash(20, Slot::First), format).unwrap();
        let plan = plan(board, &flash, &board.image(30), &told()).unwrap();
        let said = plan.notes.iter().any(|note| note.contains("are not used"));
        assert!(said, "{:?}", plan.notes);
        run(board, &flash, &plan, &Cancel::new(), &mut Vec::new()).unwrap();
        let after = lowest_good(&flash, format).unwrap();
        assert_eq!(identity(&after), identity(&before));
    }
}

#[test]
fn vpd_outlives_lost_addresses() {
    let mut bytes = CX5.factory(20, Slot::First);
    // DEV_INFO of this layout
    let dev_info = bytes.len() - 0x3_0000;
    bytes[dev_info..dev_info + 0x200].fill(0);
    bytes[..4].fill(0);
    let flash = Nor::new(bytes.clone());
    let error = plan(CX5, &flash, &CX5.image(30), &Choices::default()).unwrap_err();
    assert!(matches!(error, Fault::Refused(Refusal::NoIdentity)));
    let plan = plan(CX5, &flash, &CX5.image(30), &told()).unwrap();
    run(CX5, &flash, &plan, &Cancel::new(), &mut Vec::new()).unwrap();
    let layout = cxfw::image::flash_layout(&flash, CX5.model().format).unwrap();
    let vpd = layout.section(0xe3).unwrap();
    let at = usize::try_from(vpd.physical).unwrap();
    let size = usize::try_from(vpd.size).unwrap();
    assert!(size > 0);
    assert_eq!(flash.contents()[at..at + size], bytes[at..at + size]);
}

#[test]
fn a_half_written_image_behind_the_first_pattern_is_cleared_away() {
    // what the reference tool leaves of an FS4 burn: pattern and header of the new image, no more
    for board in [CX4LX, CX5] {
        let format = board.model().format;
        let mut bytes = board.factory(20, Slot::Second);
        let other = board.image(25);
        bytes[..0x800].copy_from_slice(&other[..0x800]);
        let flash = Nor::new(bytes);
        let before = lowest_good(&flash, format).unwrap();
        assert_eq!(patterns(&flash, format).count(), 2);
        let plan = burn(board, &flash, &board.image(30)).unwrap();
        assert_eq!(plan.from, Some(board.version(20)), "the good image is kept");
        let after = lowest_good(&flash, format).unwrap();
        assert_eq!(first_pattern(&flash, format).unwrap(), after);
        assert_eq!(identity(&after), identity(&before));
        assert_eq!(patterns(&flash, format).count(), 1);
    }
}
