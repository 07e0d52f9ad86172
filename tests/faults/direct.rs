//! Burns past the firmware, and restores, on cards that break.

use crate::bench::{Command, ConnectX3, ConnectX5, Lx, Recovery, Way};
use crate::case::{Case, Help, play};

const ERASING: &str = "erasing the free slot";
const WRITING: &str = "writing the image";
const CHECKING: &str = "checking the image";
const READING: &str = "reading the card";
/// Before the burn.
const BEFORE: &str = "";

const GONE: &str = "reads all ones; the function is gone from the bus";

const fn gone(on: Way, fault: &'static str, at: &'static str) -> Case {
    Case {
        on,
        fault,
        word: "gone",
        says: GONE,
        at,
        helps: Help::Restart,
    }
}

#[test]
fn power_is_lost() {
    play(
        Command::Direct,
        &[
            gone(ConnectX3, "power-loss", BEFORE),
            gone(ConnectX3, "power-loss --of cycle --at 2600", CHECKING),
            gone(
                ConnectX3,
                "power-loss --of flash --at 1 --torn garbled",
                ERASING,
            ),
            gone(
                ConnectX3,
                "power-loss --of flash --at 9 --torn front",
                WRITING,
            ),
            gone(Lx, "power-loss --of register --at 60", CHECKING),
            gone(Lx, "power-loss --of flash --at 1", ERASING),
            gone(Lx, "power-loss --of flash --at 9 --torn back", WRITING),
            gone(ConnectX5, "power-loss --of register --at 25", READING),
            gone(
                ConnectX5,
                "power-loss --of flash --at 12 --torn garbled",
                WRITING,
            ),
            gone(Recovery, "power-loss --of cycle --at 30000", READING),
            gone(
                Recovery,
                "power-loss --of flash --at 2 --torn back",
                ERASING,
            ),
            gone(Recovery, "power-loss --of flash --at 12", WRITING),
        ],
    );
}

#[test]
fn a_card_leaves_the_bus() {
    play(
        Command::Direct,
        &[
            gone(ConnectX3, "vanish --of cycle --at 2900", CHECKING),
            gone(ConnectX3, "vanish --of flash --at 9", WRITING),
            gone(Lx, "vanish", BEFORE),
            gone(Lx, "vanish --of register --at 60", CHECKING),
            gone(ConnectX5, "vanish --of flash --at 12", WRITING),
            gone(Recovery, "vanish --of flash --at 12", WRITING),
        ],
    );
}

#[test]
fn the_flash_reads_wrong() {
    let unsteady = |on, fault, at| Case {
        on,
        fault,
        word: "flash_unsteady",
        says: "the flash reads differently each time, first at 0x",
        at,
        helps: Help::TryAgain,
    };
    play(
        Command::Direct,
        &[
            unsteady(ConnectX3, "bit-errors", BEFORE),
            unsteady(ConnectX3, "bit-errors --every 120", ERASING),
            unsteady(Lx, "bit-errors", CHECKING),
            unsteady(ConnectX5, "bit-errors", CHECKING),
            unsteady(Recovery, "bit-errors", CHECKING),
            unsteady(Recovery, "bit-errors --every 50", CHECKING),
        ],
    );
}

#[test]
fn the_flash_cannot_be_written() {
    let protected = |on, says| Case {
        on,
        fault: "write-protect",
        word: "write_protected",
        says,
        at: CHECKING,
        helps: Help::Unprotect,
    };
    const BY_PIN: &str = "the flash is write protected: block protection of the upper end is on (status \
                          register 1 is 0x9c; the status register is locked too)";
    const BY_FIRMWARE: &str =
        "the flash is write protected: the firmware says that 2^5 blocks are protected";
    play(
        Command::Direct,
        &[
            protected(ConnectX3, BY_PIN),
            protected(Lx, BY_FIRMWARE),
            protected(ConnectX5, BY_FIRMWARE),
            protected(Recovery, BY_PIN),
        ],
    );
}
