//! The image that secure firmware hands out: the witness reads it in the same way, to verify it.

use cxfw::lab::chip::ReadBack;

use crate::bench::{Bench, CONNECTX_6_DX, Way, finish, witness};
use crate::cli_common::Ran;

/// The witness's verdict on an image file.
fn of_file(file: &std::path::Path) -> Ran {
    let mut command = std::process::Command::new("mstflint");
    command.arg("-i").arg(file).arg("verify");
    finish(command)
}

/// The sections it finds right.
fn good_sections(ran: &Ran) -> Vec<&str> {
    let lines = ran.stdout.lines().map(str::trim);
    lines.filter(|line| line.ends_with(" - OK")).collect()
}

#[test]
fn the_witness_reads_the_image_with_the_same_instructions() {
    if !witness() {
        return;
    }
    let bench = Bench::handing_out(CONNECTX_6_DX, ReadBack::Whole);
    let file = bench.beside("image.bin");
    let ran = bench.cxfw(&["backup", "-o", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let of_card = bench.mstflint(Way::Firmware, &["verify"]);
    assert_eq!(of_card.code, Some(0), "{of_card:?}");
    assert!(of_card.stdout.contains("Image is bootable"), "{of_card:?}");
    bench.assert_well_behaved();

    // of a file it wants the device data, too
    let of_file = of_file(&file);
    assert!(good_sections(&of_card).len() > 10, "{of_card:?}");
    assert_eq!(good_sections(&of_file), good_sections(&of_card));
    assert!(
        of_file.stdout.contains("No valid DTOC Header"),
        "{of_file:?}"
    );
}

#[test]
fn the_witness_wants_the_start_pattern_where_cxfw_does_without() {
    if !witness() {
        return;
    }
    let bench = Bench::handing_out(CONNECTX_6_DX, ReadBack::Masked);
    let ran = bench.mstflint(Way::Firmware, &["verify"]);
    assert!(ran.stdout.contains("No valid image found"), "{ran:?}");
    let file = bench.beside("image.bin");
    let ran = bench.cxfw(&["backup", "-o", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = of_file(&file);
    assert!(ran.stdout.contains("No valid DTOC Header"), "{ran:?}");
    bench.assert_well_behaved();
}
