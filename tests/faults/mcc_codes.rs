//! Every error code of MCC, from the firmware to the user: what it means and what to do.

use std::thread;

use crate::bench::{Bench, Command, Lx};
use crate::case::Told;

/// Where nothing is known to help.
const REPORT: &str = "run the update once more; if it fails the same way, report it with the code to \
                      the vendor of the card";

/// Code, word for programs, text, advice; `-`: [`REPORT`].
const CODES: &str = "\
0x01 | firmware_error | general error | try once more; if it fails again, collect the firmware log for the vendor
0x02 | signature_digest_mismatch | The Digest in the signature is wrong | the image is corrupted or was edited: fetch it again
0x03 | not_applicable | Component is not applicable | the image is for another board or chip: take the one with this card's PSID
0x04 | wrong_key | unknown key | the image is signed with a key this card does not hold: take the image its vendor offers for its PSID
0x05 | authentication_failed | Rejected authentication | the signature of the image is not valid: fetch it again from the vendor
0x06 | unsigned | The component is not signed | this card takes signed images only: take the one its vendor offers for its PSID
0x07 | wrong_key | The key is not applicable | the image is signed with a key for other components: fetch it again from the vendor
0x08 | bad_format | bad image format | the image is truncated or no update image: check it with `verify`
0x09 | pending_reset | The firmware image was already updated on flash, pending reset. | restart the machine, so that the stored firmware runs, then run the update again
0x0a | not_secured | The firmware image is not secured | this card needs an image with secure firmware: take the one its vendor offers for its PSID
0x0b | token | manufacturing base MAC not listed | the token is bound to other cards: ask the vendor for one for this card
0x0c | token | There is no Debug Token installed | install a debug token first
0x0d | version_mismatch | Firmware version mismatch | -
0x0e | timestamp_mismatch | user timestamp mismatch | the image is older than the time stamp stored on the card: take a newer image
0x0f | forbidden_version | Forbidden version rejected | the running firmware does not allow a downgrade to this version: take a newer image
0x10 | flash_erase_error | flash erase error | the running image is untouched; run the update again: if it fails the same way, the flash is write protected or failing
0x11 | reburn_running | the firmware is finishing a copy | wait a minute, then run the update again
0x12 | firmware_error | LinkX type not supported | -
0x13 | firmware_error | host storage in use | -
0x14 | firmware_error | LinkX transfer failed | -
0x15 | firmware_error | LinkX activation failed | -
0x16 | incompatible_flash | incompatible flash | the image does not support the flash part on this card: take a newer image
0x17 | token | token already applied | -
0x18 | firmware_error | DRAM not available | -
0x19 | security_version | invalid security version | the image is older than the minimum fused into the card: take a newer image
0x1a | certificate | X.509 certificate error | -
0x1b | certificate | certificate signature error | -
0x1c | certificate | certificate metadata error | -
0x1d | firmware_error | internal error 0 | -
0x1e | firmware_error | no place | -
0x1f | firmware_error | removal UUID does not match | -
0x20 | firmware_error | internal error 1 | -
0x21 | firmware_error | internal error 2 | -
0x22 | firmware_error | number of swaps exceeded | -
0x23 | firmware_error | internal error 3 | -
0x24 | firmware_error | internal error 4 | -
0x25 | firmware_error | same UUID not allowed | -
0x26 | firmware_error | internal error 5 | -
0x27 | firmware_error | internal error 6 | -
0x28 | write_protected | Flash is write protected | remove the write protection of the flash first
0x29 | firmware_error | internal error 7 | -
0x2a | firmware_error | internal error 8 | -
0x2b | firmware_error | internal error 9 | -
0x2c | firmware_error | DPA ELF error | -
0x2d | firmware_error | DPA crypto blob error | -
0x2e | firmware_error | DPA application metadata error | -
0x2f | firmware_error | DPA removal signature error | -
0x30 | firmware_error | DPA container verification error | -
0x31 | firmware_error | internal error 10 | -
0x32 | development_image | development image on a production device | take a production image
0x33 | firmware_error | DPA manifest error | -
0x34 | firmware_error | unknown error code | -
0x7f | firmware_error | unknown error code | -
0xff | firmware_error | unknown error code | -
";

#[test]
fn every_error_code_says_what_happened_and_what_to_do() {
    let rows: Vec<Row> = CODES.lines().map(Row::read).collect();
    let codes = rows.iter().map(|row| row.code);
    assert!(codes.eq((0x01..=0x33).chain([0x34, 0x7f, 0xff])));
    thread::scope(|scope| {
        for rows in rows.chunks(rows.len() / 2) {
            scope.spawn(move || refused_with(rows));
        }
    });
}

struct Row {
    code: u8,
    word: &'static str,
    text: &'static str,
    advice: &'static str,
}

impl Row {
    fn read(line: &'static str) -> Self {
        let [code, word, text, advice] = line.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        Self {
            code: u8::from_str_radix(&code[2..], 16).unwrap(),
            word,
            text,
            advice: if advice == "-" { REPORT } else { advice },
        }
    }
}

/// On one card after the other code, for a refusal leaves nothing behind.
fn refused_with(rows: &[Row]) {
    let bench = Bench::new(Lx);
    let before = bench.identity();
    for Row {
        code,
        word,
        text,
        advice,
    } in rows
    {
        bench.break_card(&format!("refuse update {code:#04x}"));
        let ran = bench.run(Command::Component);
        assert_eq!(ran.code, Some(1), "{code:#04x}: {ran:?}");
        let told = Told::by(&ran);
        assert_eq!(told.word, *word, "{code:#04x}: {told:?}");
        assert_eq!(told.message, format!("{text} (MCC error {code:#04x})"));
        assert_eq!(told.advice, *advice, "{code:#04x}");
        let state = "stopped at preparing the slot (last done: locking the update handle); the card \
                     still boots 14.25.1020";
        assert_eq!(told.state.as_deref(), Some(state), "{code:#04x}");
        let heard = format!("{text} (MCC error {code:#04x}) ({state})\n\nadvice: {advice}\n");
        assert!(ran.stderr.ends_with(&heard), "{}", ran.stderr);
    }
    bench.assert_boots_old();
    bench.lab.assert_well_behaved();
    bench.break_card("--clear");
    assert_eq!(bench.run(Command::Component).code, Some(0));
    bench.assert_runs_new();
    assert_eq!(bench.identity(), before);
    bench.lab.assert_well_behaved();
}
