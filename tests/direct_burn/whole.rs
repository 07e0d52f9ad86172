//! Burns that go through, and what they keep.

use cxfw::flash::Cancel;
use cxfw::flash::direct::{BurnError, Choices, Fault, Plan, Route, Step, execute, prepare};
use cxfw::image::{self, ImageInfo};
use cxfw::lab::build::Slot;
use cxfw::progress::{Event, Phase};

use super::boards::{Board, CX3, CX4LX, CX5};
use super::nor::{Nor, first_pattern, lowest_good, patterns};

/// Plans the burn of `image`.
pub fn plan(board: Board, flash: &Nor, image: &[u8], choices: &Choices) -> Result<Plan, Fault> {
    prepare((flash, Route::Gateway), &board.facts(), image, choices)
}

/// Plans and burns.
pub fn burn(board: Board, flash: &Nor, image: &[u8]) -> Result<Plan, Box<BurnError>> {
    let plan = plan(board, flash, image, &Choices::default()).map_err(|fault| {
        Box::new(BurnError {
            fault,
            failed: Step::CheckImage,
            succeeded: None,
            boots: cxfw::flash::Boots::Unknown,
            left_open: None,
        })
    })?;
    run(board, flash, &plan, &Cancel::new(), &mut Vec::new())?;
    Ok(plan)
}

/// Carries out a plan, keeping its events.
pub fn run(
    board: Board,
    flash: &Nor,
    plan: &Plan,
    cancel: &Cancel,
    events: &mut Vec<Event>,
) -> Result<(), Box<BurnError>> {
    let format = board.model().format;
    let mut sink = |event| events.push(event);
    execute(flash, format, plan, &|_| Ok(()), cancel, &mut sink).map_err(Box::new)
}

/// What makes the card the one it is.
pub fn identity(info: &ImageInfo) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        info.psid.clone(),
        info.uids.clone(),
        info.original_uids.clone(),
        info.original_psid.clone(),
        info.device_vsd.clone(),
        // FS2 has the card's VSD in the image
        info.device_vsd.is_none().then(|| info.vsd.clone()),
    )
}

/// The bytes of VPD on the flash.
fn vpd(board: Board, flash: &Nor) -> Option<Vec<u8>> {
    let layout = image::flash_layout(flash, board.model().format).unwrap();
    let section = layout.section(0xe3)?;
    let bytes = flash.contents();
    let at = usize::try_from(section.physical).unwrap();
    Some(bytes[at..at + usize::try_from(section.size).unwrap()].to_vec())
}

#[test]
fn a_new_image_replaces_the_old_one_from_either_slot_and_the_card_stays_itself() {
    for board in [CX3, CX4LX, CX5] {
        for slot in [Slot::First, Slot::Second] {
            let flash = board.flash(20, slot);
            let format = board.model().format;
            let before = lowest_good(&flash, format).unwrap();
            let old_vpd = vpd(board, &flash);
            let plan = burn(board, &flash, &board.image(30)).unwrap();
            assert_eq!(
                (plan.from, plan.to),
                (Some(board.version(20)), board.version(30))
            );
            let after = lowest_good(&flash, format).unwrap();
            assert_eq!(after.version, Some(board.version(30)));
            assert_eq!(first_pattern(&flash, format).unwrap(), after);
            assert_eq!(identity(&after), identity(&before), "{board:?} {slot:?}");
            assert_eq!(vpd(board, &flash), old_vpd);
            assert_eq!(patterns(&flash, format).collect::<Vec<_>>(), [plan.start]);
            assert_ne!(Some(plan.start), plan.kept);
            // and back again
            burn(board, &flash, &board.image(25)).unwrap();
            let back = lowest_good(&flash, format).unwrap();
            assert_eq!(back.version, Some(board.version(25)));
            assert_eq!(identity(&back), identity(&before));
        }
    }
}

#[test]
fn nothing_but_the_free_slot_and_the_old_pattern_is_touched() {
    for board in [CX3, CX4LX, CX5] {
        let flash = board.flash(20, Slot::First);
        let before = flash.contents();
        let plan = burn(board, &flash, &board.image(30)).unwrap();
        let after = flash.contents();
        let slot = 1usize << board.slot_log2;
        let changed = (0..before.len()).filter(|&at| before[at] != after[at]);
        let outside: Vec<usize> = changed.filter(|at| (at / slot).is_multiple_of(2)).collect();
        assert_eq!(outside, [0, 1, 2, 3], "{board:?}");
        assert_eq!(plan.start, slot as u64);
    }
}

#[test]
fn progress_is_told_in_phases_that_end() {
    let flash = CX5.flash(20, Slot::First);
    let plan = plan(CX5, &flash, &CX5.image(30), &Choices::default()).unwrap();
    let mut events = Vec::new();
    run(CX5, &flash, &plan, &Cancel::new(), &mut events).unwrap();
    let bytes = plan.size;
    assert_eq!(events.first(), Some(&Event::Started { bytes }));
    let ended: Vec<Phase> = events
        .iter()
        .filter_map(|event| match event {
            Event::PhaseDone { phase } => Some(*phase),
            _ => None,
        })
        .collect();
    assert_eq!(
        ended,
        [Phase::Erase, Phase::Write, Phase::Verify, Phase::Activate]
    );
    let (erased, programmed) = plan.totals();
    for (phase, expected) in [(Phase::Erase, erased), (Phase::Write, programmed)] {
        let last = events.iter().rev().find_map(|event| match event {
            Event::Progress {
                phase: of,
                done,
                total,
            } if *of == phase => Some((*done, *total)),
            _ => None,
        });
        assert_eq!(last, Some((expected, expected)));
    }
}

#[test]
fn a_dry_run_says_what_is_kept_erased_and_written_in_what_order() {
    let flash = CX4LX.flash(20, Slot::First);
    let plan = plan(CX4LX, &flash, &CX4LX.image(30), &Choices::default()).unwrap();
    assert_eq!(flash.operations(), 0);
    let text = plan.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "taking the flash: through the flash gateway; no firmware works from the flash"
    );
    assert_eq!(lines[1], "keeping 14.20.1000 at 0x0 bootable");
    let order: Vec<&str> = lines[2..]
        .iter()
        .filter_map(|line| line.split(": ").next())
        .filter(|head| *head != "note")
        .collect();
    assert_eq!(
        order,
        [
            "erasing the free slot",
            "writing the image",
            "reading the image back",
            "writing the start pattern",
            "setting the boot address",
            "retiring the old image",
            "reading back what is stored",
        ]
    );
    assert_eq!(
        lines[lines.len() - 2],
        "retiring the old image: 4 zero bytes at 0x0"
    );
}
