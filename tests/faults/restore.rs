//! Restores and backups on cards that break. What makes them wait is in `waiting`.

use crate::bench::{Command, ConnectX3, ConnectX5, Lx, Recovery};
use crate::case::{Help, play, row};

const GONE: (&str, &str) = ("gone", "reads all ones; the function is gone from the bus");
const UNSTEADY: (&str, &str) = (
    "flash_unsteady",
    "the flash reads differently each time, first at 0x",
);
const PROTECTED: (&str, &str) = ("write_protected", "the flash is write protected: ");

const WRITING: &str = "writing the image";
const CHECKING: &str = "checking the image";

#[test]
fn a_restore_that_fails_leaves_the_firmware_that_was_there() {
    play(
        Command::Restore,
        &[
            row(
                ConnectX3,
                "power-loss --of flash --at 9 --torn front",
                GONE,
                WRITING,
                Help::Restart,
            ),
            row(
                ConnectX5,
                "power-loss --of flash --at 12",
                GONE,
                WRITING,
                Help::Restart,
            ),
            row(
                Lx,
                "vanish --of register --at 60",
                GONE,
                CHECKING,
                Help::Restart,
            ),
            row(
                Recovery,
                "vanish --of flash --at 12",
                GONE,
                WRITING,
                Help::Restart,
            ),
            row(ConnectX3, "bit-errors", UNSTEADY, "", Help::TryAgain),
            row(Lx, "bit-errors", UNSTEADY, CHECKING, Help::TryAgain),
            row(Recovery, "bit-errors", UNSTEADY, CHECKING, Help::TryAgain),
            row(
                ConnectX3,
                "write-protect",
                PROTECTED,
                CHECKING,
                Help::Unprotect,
            ),
            row(Lx, "write-protect", PROTECTED, CHECKING, Help::Unprotect),
            row(
                Recovery,
                "write-protect",
                PROTECTED,
                CHECKING,
                Help::Unprotect,
            ),
        ],
    );
}
