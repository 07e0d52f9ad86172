//! Burns through the firmware of cards that break.

use crate::bench::{Bench, Command, ConnectX5, Lx};
use crate::case::{Help, play, row, without_times};

const GONE: (&str, &str) = ("gone", "reads all ones; the function is gone from the bus");
const WRITING: &str = "writing the image";

#[test]
fn the_old_firmware_boots_after_every_fault_of_a_burn_through_the_firmware() {
    const PROTECTED: (&str, &str) = (
        "write_protected",
        "Flash is write protected (MCC error 0x28)",
    );
    play(
        Command::Component,
        &[
            row(Lx, "power-loss", GONE, "", Help::Restart),
            row(
                Lx,
                "power-loss --of flash --at 12 --torn back",
                GONE,
                WRITING,
                Help::Restart,
            ),
            row(
                Lx,
                "vanish --of register --at 60",
                GONE,
                "asking for an update handle",
                Help::Restart,
            ),
            row(
                ConnectX5,
                "power-loss --of register --at 130",
                GONE,
                WRITING,
                Help::Restart,
            ),
            row(
                ConnectX5,
                "vanish --of flash --at 12",
                GONE,
                WRITING,
                Help::Restart,
            ),
            row(
                Lx,
                "write-protect",
                PROTECTED,
                "preparing the slot",
                Help::Unprotect,
            ),
        ],
    );
}

/// An update that fails, as the user reads it.
fn told(fault: &str) -> String {
    let bench = Bench::new(Lx);
    bench.break_card(fault);
    let ran = bench.run(Command::Component);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    bench.lab.assert_well_behaved();
    without_times(&ran.stderr)
}

#[test]
fn firmware_that_refuses_a_step() {
    let texts = [
        ("lock", "0x11"),
        ("update", "0x10"),
        ("verify", "0x05"),
        ("activate", "0x1e"),
        ("release", "0x01"),
    ]
    .map(|(instruction, code)| told(&format!("refuse {instruction} {code}")));
    insta::assert_snapshot!(texts.join("\n"), @r"
    error: 0000:03:00.0: the firmware is finishing a copy (MCC error 0x11) (stopped at locking the update handle (last done: asking for an update handle); the card still boots 14.25.1020)

    advice: wait a minute, then run the update again

    error: 0000:03:00.0: flash erase error (MCC error 0x10) (stopped at preparing the slot (last done: locking the update handle); the card still boots 14.25.1020)

    advice: the running image is untouched; run the update again: if it fails the same way, the flash is write protected or failing

    error: 0000:03:00.0: Rejected authentication (MCC error 0x05) (stopped at verifying the image (last done: writing the image); the card still boots 14.25.1020)

    advice: the signature of the image is not valid: fetch it again from the vendor

    error: 0000:03:00.0: no place (MCC error 0x1e) (stopped at activating the image (last done: verifying the image); the card still boots 14.25.1020)

    advice: run the update once more; if it fails the same way, report it with the code to the vendor of the card

    error: 0000:03:00.0: general error (MCC error 0x01) (stopped at releasing the update handle (last done: activating the image); the card boots 14.26.1020 next; update handle 0x000001 could not be given back: general error (MCC error 0x01))

    advice: the new firmware is in place: restart the machine to run it, then query the card
    ");
}
