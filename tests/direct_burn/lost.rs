//! Cards whose image boots, but names no device data any more: other tools' burns leave such. They
//! get it back with the next burn, and boot something at every moment of it.

use cxfw::flash::Cancel;
use cxfw::flash::direct::{
    Choices, Fault, OtherCard, Plan, RecoveryIdentity, Refusal, Route, prepare, prepare_restore,
};
use cxfw::identity::{Guid, Mac};
use cxfw::image::{self, ImageInfo};
use cxfw::lab::build::{Addresses, Slot, flash_contents};

use super::boards::{Board, CX4LX, CX5, FLASH};
use super::nor::{Nor, Torn, first_pattern, lowest_good, patterns};
use super::whole::{identity, plan, run};

/// Start of the second slot.
const SECOND: usize = 1 << 19;
/// Where the reference layouts begin (FS3, FS4).
const AREAS: [(Board, usize); 2] = [(CX4LX, 0x4_0000), (CX5, 0x7_0000)];

/// What is left of the device data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// An older image in the other slot, without its start pattern, whose table names it (FS3).
    OldTable,
    /// The sections.
    Sections,
    /// Nothing.
    Nothing,
}

fn assert_noted(planned: &Plan, note: &str) {
    let notes = &planned.notes;
    assert!(notes.iter().any(|said| said == note), "{notes:?}");
}

/// A flash whose one image, `minor`, lies in the second slot and names no device data.
fn lost(board: Board, minor: u16, left: Left) -> Vec<u8> {
    let mut bytes = board.factory(minor, Slot::Second);
    let end = bytes.len();
    if board == CX4LX {
        let layout = image::flash_layout(&bytes, board.model().format).unwrap();
        for section in layout.sections.iter().filter(|section| section.device_data) {
            let at = usize::try_from(section.entry).unwrap();
            bytes[at..at + 0x20].fill(0xff);
        }
    } else {
        bytes[end - 0x1000..].fill(0xff);
    }
    if left == Left::OldTable {
        let old = board.factory(minor - 1, Slot::First);
        bytes[..SECOND].copy_from_slice(&old[..SECOND]);
        bytes[..4].fill(0);
    }
    if left == Left::Nothing {
        let (_, area) = AREAS.into_iter().find(|(of, _)| *of == board).unwrap();
        bytes[end - area..].fill(0xff);
    }
    let info = image::query_flash(&bytes, board.model().format).unwrap();
    assert_eq!(
        (info.version, info.uids),
        (Some(board.version(minor)), None)
    );
    bytes
}

/// What the card was before.
fn before(board: Board) -> ImageInfo {
    lowest_good(&board.flash(20, Slot::Second), board.model().format).unwrap()
}

/// Who the card is, by its label.
fn label() -> Choices {
    Choices {
        identity: Some(RecoveryIdentity {
            guid: Guid::new(0x0c42_a103_00a1_0000).unwrap(),
            mac: Mac::new(0x0c42_a1a1_0000).unwrap(),
            count: 4,
        }),
        ..Choices::default()
    }
}

fn carry_out(board: Board, flash: &Nor, plan: &Plan) -> bool {
    run(board, flash, plan, &Cancel::new(), &mut Vec::new()).is_ok()
}

/// The card is the one it was, and both boot rules find this version.
fn assert_whole(board: Board, flash: &Nor, minor: u16, what: &str) {
    let format = board.model().format;
    let after = lowest_good(flash, format).unwrap_or_else(|| {
        panic!(
            "{what}: nothing boots: {:?}",
            image::verify_flash(flash, patterns(flash, format).next().unwrap()).failure
        )
    });
    assert_eq!(after.version, Some(board.version(minor)), "{what}");
    assert_eq!(first_pattern(flash, format).unwrap(), after, "{what}");
    let uids = |info: &ImageInfo| (info.uids.clone(), info.original_uids.clone());
    assert_eq!(uids(&after), uids(&before(board)), "{what}");
    assert_eq!(patterns(flash, format).count(), 1, "{what}");
}

/// The image that boots, whatever became of the device data: lowest good one, and first pattern.
fn assert_boots(board: Board, flash: &Nor, minors: &[u16], what: &str) {
    let format = board.model().format;
    let lowest =
        image::query_flash(flash, format).unwrap_or_else(|error| panic!("{what}: {error}"));
    let first = patterns(flash, format).next().unwrap();
    let (_, first) =
        image::flash_image_at(flash, first).unwrap_or_else(|error| panic!("{what}: {error}"));
    for version in [lowest.version, first.version] {
        let good = minors
            .iter()
            .any(|&minor| version == Some(board.version(minor)));
        assert!(good, "{what}: {version:?}");
    }
}

/// Burns with `attempt`, cut everywhere in the ends of the burn and here and there between.
fn sweep(board: Board, contents: &[u8], attempt: impl Fn(&Nor) -> Result<Plan, Fault>) {
    let counted = Nor::new(contents.to_vec());
    let planned = attempt(&counted).unwrap();
    assert!(carry_out(board, &counted, &planned));
    assert_whole(board, &counted, 30, "uncut");
    let operations = counted.operations();
    let cuts = (0..operations)
        .filter(|number| *number < 12 || number + 8 >= operations || number.is_multiple_of(23));
    for number in cuts {
        for torn in [
            Torn::Nothing,
            Torn::Half,
            Torn::Bits(number as u64),
            Torn::Everything,
        ] {
            let what = format!("{board:?} cut at {number} of {operations}, {torn:?}");
            let flash = Nor::new(contents.to_vec());
            flash.cut_at(number, torn);
            let planned = attempt(&flash).unwrap();
            assert!(!carry_out(board, &flash, &planned), "{what}");
            let flash = Nor::new(flash.contents());
            assert_boots(board, &flash, &[20, 30], &what);
            let planned = attempt(&flash).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(carry_out(board, &flash, &planned), "{what}");
            assert_whole(board, &flash, 30, &what);
        }
    }
}

#[test]
fn what_an_older_image_names_is_named_again() {
    let contents = lost(CX4LX, 20, Left::OldTable);
    let flash = Nor::new(contents.clone());
    let planned = plan(CX4LX, &flash, &CX4LX.image(30), &Choices::default()).unwrap();
    let note =
        "the image that boots names no device data; what the older image at 0x0 names is taken";
    assert_noted(&planned, note);
    assert!(carry_out(CX4LX, &flash, &planned));
    // VPD, texts and all
    let after = lowest_good(&flash, CX4LX.model().format).unwrap();
    assert_eq!(identity(&after), identity(&before(CX4LX)));
    let sections = contents.len() - 0x4_0000..;
    assert!(flash.contents()[sections.clone()] == contents[sections]);
    sweep(CX4LX, &contents, |flash| {
        plan(CX4LX, flash, &CX4LX.image(30), &Choices::default())
    });
}

#[test]
fn what_still_lies_on_the_flash_is_found_without_a_table() {
    for (board, area) in AREAS {
        let contents = lost(board, 20, Left::Sections);
        let flash = Nor::new(contents.clone());
        // an FS4 card that runs is left alone unless somebody asks
        let choices = if board == CX5 {
            label()
        } else {
            Choices::default()
        };
        let planned = plan(board, &flash, &board.image(30), &choices).unwrap();
        let note = "no table names the card's device data any more; it was found where it lies, and is kept";
        assert_noted(&planned, note);
        assert!(carry_out(board, &flash, &planned));
        let after = lowest_good(&flash, board.model().format).unwrap();
        assert_eq!(identity(&after), identity(&before(board)));
        let vpd = |flash: &dyn cxfw::bytes::ByteSource| {
            let layout = image::flash_layout(flash, board.model().format).unwrap();
            let section = layout.section(0xe3).unwrap();
            flash
                .read(section.physical, section.size)
                .unwrap()
                .into_owned()
        };
        assert_eq!(
            vpd(&flash),
            vpd(&board.flash(20, Slot::Second)),
            "{board:?}"
        );
        let sections = contents.len() - area..contents.len() - 0x1000;
        assert!(flash.contents()[sections.clone()] == contents[sections]);
        sweep(board, &contents, |flash| {
            plan(board, flash, &board.image(30), &choices)
        });
    }
}

#[test]
fn addresses_of_the_label_are_taken_where_nothing_is_left() {
    for (board, _) in AREAS {
        let contents = lost(board, 20, Left::Nothing);
        let flash = Nor::new(contents.clone());
        let without = plan(board, &flash, &board.image(30), &Choices::default());
        match without {
            Err(Fault::Refused(Refusal::NoIdentity)) if board == CX4LX => {}
            // it would boot, or not, as before
            Ok(planned) if board == CX5 => assert_eq!(planned.kept, Some(SECOND as u64)),
            other => panic!("{other:?}"),
        }
        sweep(board, &contents, |flash| {
            plan(board, flash, &board.image(30), &label())
        });
    }
}

#[test]
fn other_addresses_of_the_label_win_over_what_no_checksum_vouches_for() {
    for (board, _) in AREAS {
        let flash = Nor::new(lost(board, 20, Left::Sections));
        let other = Choices {
            identity: Some(RecoveryIdentity::new(
                Guid::new(0xe41d_2d03_00bb_0010).unwrap(),
                Mac::new(0xe41d_2dbb_0010).unwrap(),
            )),
            ..Choices::default()
        };
        let planned = plan(board, &flash, &board.image(30), &other).unwrap();
        let note = "the card has GUID e41d2d0300bb0010 and MAC e41d2dbb0010, as given";
        assert_noted(&planned, note);
        assert!(carry_out(board, &flash, &planned));
        let after = lowest_good(&flash, board.model().format).unwrap();
        assert_ne!(after.uids, before(board).uids);
        assert_eq!(after.uids, after.original_uids);
    }
}

#[test]
fn a_backup_brings_device_data_back() {
    for (board, area) in AREAS {
        let backup = board.factory(30, Slot::First);
        let restored = |flash: &Nor, other| {
            let what = (backup.as_slice(), other);
            let restored = prepare_restore(
                (flash, Route::Gateway),
                &board.facts(),
                what,
                &Choices::default(),
            );
            restored.map(|restored| restored.plan)
        };
        // the sections stand: they say who the card is, and stay
        let contents = lost(board, 20, Left::Sections);
        let sections = contents.len() - area..contents.len() - 0x1000;
        let flash = Nor::new(contents.clone());
        let planned = restored(&flash, OtherCard::Refuse).unwrap();
        assert!(carry_out(board, &flash, &planned));
        assert!(flash.contents()[sections.clone()] == contents[sections]);
        sweep(board, &contents, |flash| restored(flash, OtherCard::Refuse));
        // nothing stands: the card says not who it is
        let contents = lost(board, 20, Left::Nothing);
        let refused = restored(&Nor::new(contents.clone()), OtherCard::Refuse).unwrap_err();
        assert!(
            matches!(refused, Fault::Refused(Refusal::OtherCard { .. })),
            "{refused}"
        );
        sweep(board, &contents, |flash| {
            // after the first cut it may know again
            restored(flash, OtherCard::Allow)
        });
        let flash = Nor::new(contents);
        let planned = restored(&flash, OtherCard::Allow).unwrap();
        let source = "as the backup says";
        assert!(
            planned.notes.iter().any(|said| said.ends_with(source)),
            "{:?}",
            planned.notes
        );
        assert!(carry_out(board, &flash, &planned));
        let end = usize::try_from(FLASH).unwrap();
        assert!(flash.contents()[end - area..] == backup[end - area..]);
    }
}

/// Packages leave blanks where device data is named, of which the card may have less.
#[test]
fn an_image_from_a_package_has_a_whole_table_again() {
    let full = {
        let mut spec = CX4LX.spec(30);
        spec.device.vpd = vec![0x82, 1, 0, b'x', 0x78, 0, 0, 0];
        cxfw::lab::build::build_image(&spec).unwrap()
    };
    let package = image::component(&full).unwrap();
    for (left, choices) in [
        (Left::Nothing, label()),
        (Left::Sections, Choices::default()),
        (Left::OldTable, Choices::default()),
    ] {
        let flash = Nor::new(lost(CX4LX, 20, left));
        let planned = plan(CX4LX, &flash, &package, &choices).unwrap();
        assert!(carry_out(CX4LX, &flash, &planned));
        assert_whole(CX4LX, &flash, 30, &format!("{left:?}"));
    }
}

#[test]
fn a_card_that_an_image_does_not_bring_back_asks_for_its_addresses() {
    let in_recovery = |left| {
        let facts = cxfw::flash::direct::CardFacts {
            recovery: true,
            ..CX5.facts()
        };
        let flash = Nor::new(lost(CX5, 20, left));
        let image = CX5.image(30);
        prepare(
            (&flash, Route::GatewayInRecovery),
            &facts,
            &image,
            &Choices::default(),
        )
    };
    let refused = in_recovery(Left::Nothing).unwrap_err();
    assert!(
        matches!(refused, Fault::Refused(Refusal::NoIdentity)),
        "{refused}"
    );
    in_recovery(Left::Sections).unwrap();
    // one that runs is left as it is, and its owner is told
    let flash = Nor::new(lost(CX5, 20, Left::Sections));
    let planned = plan(CX5, &flash, &CX5.image(30), &Choices::default()).unwrap();
    let told = planned
        .notes
        .iter()
        .any(|note| note.contains("--guid and --mac write it anew"));
    assert!(told, "{:?}", planned.notes);
}

#[test]
fn a_backup_of_another_card_is_not_put_over_what_lies_on_the_flash() {
    for (board, area) in AREAS {
        let mut spec = board.spec(30);
        spec.device.addresses = Some(Addresses {
            guid: Guid::new(0xe41d_2d03_00bb_0010).unwrap(),
            mac: Mac::new(0xe41d_2dbb_0010).unwrap(),
            count: 4,
        });
        let backup = flash_contents(&spec, FLASH, Slot::First)
            .unwrap()
            .to_bytes();
        let contents = lost(board, 20, Left::Sections);
        let flash = Nor::new(contents.clone());
        let restored = |other| {
            let what = (backup.as_slice(), other);
            prepare_restore(
                (&flash, Route::Gateway),
                &board.facts(),
                what,
                &Choices::default(),
            )
        };
        let refused = restored(OtherCard::Refuse).unwrap_err();
        assert!(
            matches!(refused, Fault::Refused(Refusal::OtherCard { .. })),
            "{refused}"
        );
        assert!(carry_out(
            board,
            &flash,
            &restored(OtherCard::Allow).unwrap().plan
        ));
        assert_whole(board, &flash, 30, "another card's firmware");
        let sections = contents.len() - area..contents.len() - 0x1000;
        assert!(flash.contents()[sections.clone()] == contents[sections]);
    }
}

/// Its table may name more than cxfw could make anew.
#[test]
fn a_card_that_runs_with_one_broken_section_keeps_the_others() {
    for (board, area) in AREAS {
        let mut bytes = board.factory(20, Slot::First);
        let layout = image::flash_layout(&bytes, board.model().format).unwrap();
        let mfg_info = usize::try_from(layout.section(0xe0).unwrap().physical).unwrap();
        bytes[mfg_info..mfg_info + 0x10].fill(0);
        let flash = Nor::new(bytes.clone());
        let planned = plan(board, &flash, &board.image(30), &label()).unwrap();
        carry_out(board, &flash, &planned);
        let end = bytes.len();
        assert!(
            flash.contents()[end - area..] == bytes[end - area..],
            "{board:?}"
        );
    }
}

/// Section types.
const DEV_INFO: u8 = 0xe1;
const MFG_INFO: u8 = 0xe0;

/// A flash whose one image names device data of which this section was destroyed.
fn damaged(board: Board, kind: u8) -> Vec<u8> {
    let mut bytes = board.factory(20, Slot::Second);
    let layout = image::flash_layout(&bytes, board.model().format).unwrap();
    let of_kind = layout.sections.iter();
    for section in of_kind.filter(|s| s.device_data && s.kind == u32::from(kind)) {
        let (at, size) = (section.physical, section.size);
        let [at, size] = [at, size].map(|bytes| usize::try_from(bytes).unwrap());
        bytes[at..at + size].fill(0);
    }
    bytes
}

/// The burn of a card on which no firmware runs.
fn revive(board: Board, flash: &Nor, choices: &Choices) -> Result<Plan, Fault> {
    let facts = cxfw::flash::direct::CardFacts {
        recovery: true,
        ..board.facts()
    };
    let way = (
        flash as &dyn cxfw::access::FlashAccess,
        Route::GatewayInRecovery,
    );
    prepare(way, &facts, &board.image(30), choices)
}

#[test]
fn what_is_good_of_damaged_device_data_stays_when_the_rest_is_made_anew() {
    for (board, _) in AREAS {
        for kind in [DEV_INFO, MFG_INFO] {
            let contents = damaged(board, kind);
            let refused = revive(board, &Nor::new(contents.clone()), &Choices::default());
            assert!(
                matches!(refused, Err(Fault::Refused(Refusal::NoIdentity))),
                "{board:?} {kind:#x}: {refused:?}"
            );
            // as many addresses as the factory gave, whatever the usual number is
            let told = Choices {
                identity: label()
                    .identity
                    .map(|of| RecoveryIdentity::new(of.guid, of.mac)),
                ..Choices::default()
            };
            let flash = Nor::new(contents.clone());
            let planned = revive(board, &flash, &told).unwrap();
            assert!(carry_out(board, &flash, &planned));
            assert_whole(board, &flash, 30, "as on the label");
            sweep(board, &contents, |flash| revive(board, flash, &label()));
        }
    }
}

#[test]
fn other_addresses_than_the_factorys_leave_those_as_they_are() {
    for (board, _) in AREAS {
        let flash = Nor::new(damaged(board, DEV_INFO));
        let guid = Guid::new(0xe41d_2d03_00bb_0010).unwrap();
        let mac = Mac::new(0xe41d_2dbb_0010).unwrap();
        let other = Choices {
            identity: Some(RecoveryIdentity::new(guid, mac)),
            ..Choices::default()
        };
        let planned = revive(board, &flash, &other).unwrap();
        for note in [
            "the card has GUID e41d2d0300bb0010 and MAC e41d2dbb0010, as given",
            "the addresses given are not the factory's (GUID 0c42a10300a10000, MAC 0c42a1a10000), \
             which the flash still holds and keeps",
        ] {
            let said = planned.notes.iter().any(|said| said == note);
            assert!(said, "{:?}", planned.notes);
        }
        assert!(carry_out(board, &flash, &planned));
        let after = lowest_good(&flash, board.model().format).unwrap();
        assert_eq!(after.original_uids, before(board).original_uids);
        assert_ne!(after.uids, before(board).uids);
    }
}

#[test]
fn a_card_that_runs_with_damaged_addresses_is_told_that_it_may_not_start_again() {
    for (board, area) in AREAS {
        let contents = damaged(board, DEV_INFO);
        let flash = Nor::new(contents.clone());
        let planned = plan(board, &flash, &board.image(30), &Choices::default()).unwrap();
        let told = |what: &str| planned.notes.iter().any(|note| note.contains(what));
        for what in [
            "may not start with it after a restart",
            "`cxfw restore`",
            "--guid and --mac",
        ] {
            assert!(told(what), "{board:?}: {:?}", planned.notes);
        }
        assert!(carry_out(board, &flash, &planned));
        let end = contents.len();
        assert!(flash.contents()[end - area..] == contents[end - area..]);
    }
}

#[test]
fn the_factorys_addresses_tell_the_cards_own_backup_from_another_cards() {
    for (board, _) in AREAS {
        let own = board.factory(30, Slot::First);
        let mut spec = board.spec(30);
        spec.device.addresses = Some(Addresses {
            guid: Guid::new(0xe41d_2d03_00bb_0010).unwrap(),
            mac: Mac::new(0xe41d_2dbb_0010).unwrap(),
            count: 4,
        });
        let others = flash_contents(&spec, FLASH, Slot::First).unwrap();
        let others = others.to_bytes();
        let facts = cxfw::flash::direct::CardFacts {
            recovery: true,
            ..board.facts()
        };
        let restored = |flash: &Nor, backup: &[u8], other| {
            let way = (
                flash as &dyn cxfw::access::FlashAccess,
                Route::GatewayInRecovery,
            );
            let what = (backup, other);
            prepare_restore(way, &facts, what, &Choices::default()).map(|ready| ready.plan)
        };
        let contents = damaged(board, DEV_INFO);
        let flash = Nor::new(contents.clone());
        let refused = restored(&flash, &others, OtherCard::Refuse).unwrap_err();
        let Fault::Refused(refused @ Refusal::OtherCard { .. }) = refused else {
            panic!("{refused}");
        };
        let said = "the backup is of the card with MAC e41d2dbb0010, this is the card the factory \
                    gave MAC 0c42a1a10000";
        assert_eq!(refused.to_string(), said);
        let planned = restored(&flash, &own, OtherCard::Refuse).unwrap();
        assert!(carry_out(board, &flash, &planned));
        assert_whole(board, &flash, 30, "own backup");
        sweep(board, &contents, |flash| {
            // a cut may take the factory's addresses too
            restored(flash, &own, OtherCard::Allow)
        });
    }
}
