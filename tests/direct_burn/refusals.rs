//! What is not burned, and what a burn that fails says. Nothing is written where it is refused.

use cxfw::access::flash::{ProtectedEnd, Protection};
use cxfw::flash::direct::{Choices, Fault, PsidChange, Step};
use cxfw::flash::{Boots, BurnFault, Cancel};
use cxfw::identity::Psid;
use cxfw::image::SecurityAttribute;
use cxfw::lab::build::{Slot, build_image};
use cxfw::progress::Event;

use super::boards::{Board, CX3, CX4LX, CX5};
use super::nor::{Nor, lowest_good};
use super::whole::{plan, run};

/// The message a burn is refused with.
fn refusal(board: Board, flash: &Nor, image: &[u8]) -> String {
    let error = plan(board, flash, image, &Choices::default()).unwrap_err();
    assert!(matches!(error, Fault::Refused(_)), "{error}");
    assert_eq!(flash.operations(), 0);
    assert!(!error.reason().is_empty() && !error.advice().is_empty());
    error.to_string()
}

fn other_board(board: Board) -> Vec<u8> {
    let mut spec = board.spec(30);
    spec.psid = Psid::new("MT_9999999999").unwrap();
    build_image(&spec).unwrap()
}

#[test]
fn an_image_for_another_board_needs_its_own_consent() {
    for board in [CX3, CX4LX, CX5] {
        let flash = board.flash(20, Slot::First);
        let image = other_board(board);
        assert_eq!(
            refusal(board, &flash, &image),
            format!(
                "PSID mismatch. Device PSID ({}) differs from image PSID (MT_9999999999).",
                board.psid
            )
        );
        let allowed = Choices {
            psid_change: PsidChange::Allow,
            ..Choices::default()
        };
        let plan = plan(board, &flash, &image, &allowed).unwrap();
        let note = format!("the PSID changes from {} to MT_9999999999", board.psid);
        assert!(plan.notes.contains(&note), "{:?}", plan.notes);
        run(board, &flash, &plan, &Cancel::new(), &mut Vec::new()).unwrap();
        let after = lowest_good(&flash, board.model().format).unwrap();
        assert_eq!(after.psid.unwrap().as_str(), "MT_9999999999");
    }
}

#[test]
fn a_card_in_recovery_says_its_board_by_its_factory_data() {
    let mut bytes = CX5.factory(20, Slot::First);
    bytes[..0x8000].fill(0xff);
    let flash = Nor::new(bytes);
    assert!(refusal(CX5, &flash, &other_board(CX5)).contains("PSID mismatch"));
    assert!(plan(CX5, &flash, &CX5.image(30), &Choices::default()).is_ok());
}

#[test]
fn images_of_other_chips_and_damaged_ones_are_refused() {
    let flash = CX5.flash(20, Slot::First);
    assert_eq!(
        refusal(CX5, &flash, &CX4LX.image(30)),
        "the image is FS3, but ConnectX-5 boots FS4"
    );
    let mut facts = CX5.facts();
    facts.hw_id.revision = 3;
    let route = cxfw::flash::direct::Route::Gateway;
    let error =
        cxfw::flash::direct::prepare((&flash, route), &facts, &CX5.image(30), &Choices::default())
            .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the image is not for this chip: hardware id 0x20d revision 0x03 is not in its list \
         (0x20d revision 0x00)"
    );
    let mut image = CX5.image(30);
    image[0x7900] ^= 1;
    assert!(refusal(CX5, &flash, &image).starts_with("the image is not valid: "));
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_erased() {
    let flash = CX5.flash(20, Slot::First);
    let mut spec = CX5.spec(30);
    spec.slot_log2 = 20;
    assert_eq!(
        refusal(CX5, &flash, &build_image(&spec).unwrap()),
        "the card's image slots have 2^19 bytes, the image's 2^20"
    );
    let mut spec = CX3.spec(30);
    spec.code_size = 0xf_0000;
    let flash = CX3.flash(20, Slot::First);
    let message = refusal(CX3, &flash, &build_image(&spec).unwrap());
    assert!(
        message.ends_with("bytes, but the slot has room for 0xf0000"),
        "{message}"
    );
}

#[test]
fn device_data_in_the_way_is_named() {
    // a slot that reaches into the device data at the end of the flash
    let mut board = CX4LX;
    board.slot_log2 = 20;
    let mut spec = board.spec(30);
    spec.code_size = 0xc_0000;
    let flash = board.flash(20, Slot::First);
    assert_eq!(
        refusal(board, &flash, &build_image(&spec).unwrap()),
        "the image would lie over FW_NV_LOG at 0x1c0000"
    );
}

#[test]
fn secure_firmware_write_protection_and_a_pending_update_are_refused() {
    let flash = CX5.flash(20, Slot::First);
    let route = cxfw::flash::direct::Route::Firmware;
    let prepare = |facts: &_| {
        let choices = Choices::default();
        cxfw::flash::direct::prepare((&flash, route), facts, &CX5.image(30), &choices)
    };
    let mut facts = CX5.facts();
    facts.security = vec![SecurityAttribute::SecureFw];
    let error = prepare(&facts).unwrap_err();
    assert_eq!(
        (error.reason(), error.to_string().as_str()),
        (
            "secure_firmware",
            "the card runs secure firmware, which lets no tool at its flash"
        )
    );
    let mut facts = CX5.facts();
    facts.running = Some(CX5.version(18));
    assert_eq!(
        prepare(&facts).unwrap_err().to_string(),
        "the card runs 16.18.1000, but 16.20.1000 is stored and waits to be activated; the slot \
         to write is the one that runs"
    );
    let mut flash = CX5.flash(20, Slot::First);
    flash.protection = Some(Protection::Blocks {
        status: 0x1c,
        end: ProtectedEnd::Top,
        locked: false,
    });
    assert_eq!(
        refusal(CX5, &flash, &CX5.image(30)),
        "the flash is write protected: block protection of the upper end is on (status register 1 \
         is 0x1c)"
    );
}

#[test]
fn a_start_pattern_inside_the_image_is_refused() {
    let mut board = CX4LX;
    board.slot_log2 = 20;
    let mut spec = board.spec(30);
    spec.code_size = 0x3_0000;
    let mut image = build_image(&spec).unwrap();
    let layout = cxfw::image::layout(&image, 0).unwrap();
    let code = layout.section(3).unwrap();
    let at = 0x2_0000;
    assert!(code.address < at as u64 && code.physical_extent().end() > at as u64);
    image[at..at + 16].copy_from_slice(&cxfw::image::marker::MARKER_A);
    repair_code_crc(&mut image, code);
    // in slot 0 the chip would look there
    let flash = board.flash(20, Slot::Second);
    assert_eq!(
        refusal(board, &flash, &image),
        "the image contains a start pattern of its own, which would be found at 0x20000"
    );
}

/// Makes the entry of a changed section right again.
fn repair_code_crc(image: &mut [u8], section: &cxfw::image::Section) {
    use cxfw::image::crc::image_crc;
    let at = usize::try_from(section.address).unwrap();
    let size = usize::try_from(section.size).unwrap();
    let crc = image_crc(&image[at..at + size]).to_be_bytes();
    let entry = usize::try_from(section.entry).unwrap();
    image[entry + 0x1a..entry + 0x1c].copy_from_slice(&crc);
    let crc = image_crc(&image[entry..entry + 0x1c]).to_be_bytes();
    image[entry + 0x1e..entry + 0x20].copy_from_slice(&crc);
}

#[test]
fn a_part_that_erases_64_kib_only_is_burned_where_that_is_possible() {
    let flash = CX3.flash(20, Slot::First).coarse();
    super::whole::burn(CX3, &flash, &CX3.image(30)).unwrap();
    let mut spec = CX4LX.spec(30);
    spec.code_size = 0x100;
    let flash = CX4LX.flash(20, Slot::First).coarse();
    super::whole::burn(CX4LX, &flash, &build_image(&spec).unwrap()).unwrap();
}

#[test]
fn a_wrong_bit_on_reading_is_read_again() {
    let flash = CX5.flash(20, Slot::First);
    let plan = plan(CX5, &flash, &CX5.image(30), &Choices::default()).unwrap();
    flash.wrong_reads.set(2);
    let mut events = Vec::new();
    run(CX5, &flash, &plan, &Cancel::new(), &mut events).unwrap();
    let note = "the flash at 0x80000 read wrong and then right".to_owned();
    assert!(events.contains(&Event::Note { text: note }), "{events:?}");
}

#[test]
fn a_flash_that_takes_nothing_is_found_out_at_the_first_change() {
    let mut flash = CX5.flash(20, Slot::First);
    flash.read_only = true;
    super::whole::burn(CX5, &flash, &CX5.image(30)).unwrap_err();
    let mut bytes = CX5.factory(20, Slot::First);
    bytes[0x8_0000..0x8_0100].fill(0);
    let mut flash = Nor::new(bytes);
    flash.read_only = true;
    let error = super::whole::burn(CX5, &flash, &CX5.image(30)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "after the erase at 0x80000 the flash reads 0x00 instead of 0xff"
    );
    assert_eq!(error.failed, Step::Erase);
    assert_eq!(error.boots, Boots::Old(Some(CX5.version(20))));
    assert_eq!(
        error.state(),
        "stopped at erasing the free slot (last done: checking the image); the card still boots \
         16.20.1000"
    );
}

#[test]
fn a_burn_stops_between_two_changes_and_says_what_boots() {
    let flash = CX5.flash(20, Slot::First);
    let plan = plan(CX5, &flash, &CX5.image(30), &Choices::default()).unwrap();
    let cancel = Cancel::new();
    cancel.request();
    let error = run(CX5, &flash, &plan, &cancel, &mut Vec::new()).unwrap_err();
    assert!(error.is_interrupted());
    assert_eq!(flash.operations(), 0);
    assert_eq!(error.boots, Boots::Old(Some(CX5.version(20))));
    assert_eq!(error.advice(), "run the update again when convenient");
}
