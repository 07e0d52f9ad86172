//! A damaged expansion ROM: both programs check the whole section before they show a version.

use cxfw::lab::chip::Chip;

use crate::bench::{Bench, CONNECTX_3, Way, witness};

/// What stands before the record of a ROM.
const SIGNATURE: &[u8] = b"mlxsign:";

/// Where the first ROM record of the flash is.
fn first_record(chip: &Chip) -> usize {
    let flash = chip.read_flash(0, chip.spec().flash_size).unwrap();
    flash
        .windows(SIGNATURE.len())
        .position(|bytes| bytes == SIGNATURE)
        .unwrap()
}

#[test]
fn a_bit_flipped_anywhere_in_the_rom_is_noticed_by_both() {
    if !witness() {
        return;
    }
    let bench = Bench::new(CONNECTX_3);
    let record = first_record(bench.chip());
    // the version itself, and bytes that no version is read from
    for distance in [8, 0x1003, 0x3f00] {
        let address = u32::try_from(record + distance).unwrap();
        let whole = bench.chip().read_flash(address, 1).unwrap();
        bench.chip().write_flash(address, &[whole[0] ^ 1]).unwrap();

        let ran = bench.mstflint(Way::Firmware, &["query"]);
        assert_eq!(ran.code, Some(1), "{distance:#x}: {ran:?}");
        assert!(ran.stdout.contains("Bad CRC"), "{ran:?}");
        let card = bench.query();
        assert!(card["roms"][0]["current"].is_null(), "{card}");
        let reason = card["error"]["message"].as_str().unwrap();
        assert!(
            reason.contains("ROM") && reason.contains("wrong CRC"),
            "{reason}"
        );
        bench.chip().write_flash(address, &whole).unwrap();
    }
    assert_eq!(bench.query()["roms"][0]["current"], "3.4.0747");
}
