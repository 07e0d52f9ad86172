//! Faults that make the program wait: parts that hang, locks that dead owners hold. Each wait ends,
//! and how long it was is told.

use std::thread;

use crate::bench::{Command, ConnectX3, ConnectX5, Lx, Recovery, Way};
use crate::case::{Case, Help, play};

const ERASING: &str = "erasing the free slot";
const WRITING: &str = "writing the image";
const CHECKING: &str = "checking the image";
const TAKING: &str = "taking the flash";
/// Before the burn.
const BEFORE: &str = "";

/// All of them side by side, for each takes seconds.
#[test]
fn whatever_the_program_waits_for_the_wait_ends_and_the_advice_helps() {
    thread::scope(|scope| {
        scope.spawn(|| play(Command::Direct, &hanging_flash()));
        scope.spawn(|| play(Command::Direct, &hanging_chip()));
        scope.spawn(|| play(Command::Direct, &held()));
        scope.spawn(|| play(Command::Component, &held_from_firmware()));
        scope.spawn(|| play(Command::Restore, &restoring()));
        scope.spawn(|| play(Command::Backup, &saving()));
    });
}

/// A flash or its gateway hangs.
const fn hangs(on: Way, fault: &'static str, says: &'static str, at: &'static str) -> Case {
    Case {
        on,
        fault,
        word: "flash_hangs",
        says,
        at,
        helps: Help::PowerOff,
    }
}

const EARLIER: &str = "(0xf0400) is busy: an earlier command did not finish in 5000 reads, N ms";
const COMMAND: &str = "(0xf0400) is busy: flash command 0x02 did not finish in 5000 reads, N ms";
const PART: &str = "did not end: the flash part still works after N ms";

fn hanging_flash() -> Vec<Case> {
    let busy = "firmware answers status 0x01 (busy)";
    vec![
        hangs(ConnectX3, "hang gateway", EARLIER, BEFORE),
        hangs(
            ConnectX3,
            "hang gateway --of flash --at 9",
            COMMAND,
            WRITING,
        ),
        hangs(ConnectX3, "hang flash --of flash --at 1", PART, ERASING),
        hangs(Recovery, "hang gateway", EARLIER, TAKING),
        hangs(Recovery, "hang gateway --of flash --at 9", COMMAND, WRITING),
        hangs(Recovery, "hang flash --of flash --at 9", PART, WRITING),
        Case {
            word: "firmware_busy",
            ..hangs(Lx, "hang flash --of flash --at 9", busy, WRITING)
        },
    ]
}

/// The way to the chip hangs.
const fn stuck(on: Way, fault: &'static str, word: &'static str, at: &'static str) -> Case {
    Case {
        on,
        fault,
        word,
        says: "did not finish: the flag did not change in 2048 reads, N ms",
        at,
        helps: Help::Restart,
    }
}

fn hanging_chip() -> Vec<Case> {
    vec![
        stuck(Lx, "hang capability", "access_failed", BEFORE),
        stuck(
            Lx,
            "hang capability --of register --at 60",
            "flash_unreadable",
            CHECKING,
        ),
        stuck(
            ConnectX5,
            "hang capability --of flash --at 12",
            "flash_failed",
            WRITING,
        ),
        stuck(
            Recovery,
            "hang capability --of flash --at 12",
            "flash_failed",
            WRITING,
        ),
        Case {
            says: "the firmware did not finish command 0x9001 in N ms",
            ..stuck(
                ConnectX5,
                "hang firmware --of flash --at 12",
                "flash_failed",
                WRITING,
            )
        },
        Case {
            says: "the firmware has not finished an earlier command",
            helps: Help::PowerOff,
            ..stuck(Lx, "hang firmware", "firmware_not_ready", BEFORE)
        },
    ]
}

/// A lock that nobody alive holds.
const fn hold(on: Way, fault: &'static str, says: &'static str, at: &'static str) -> Case {
    Case {
        on,
        fault,
        word: "semaphore_busy",
        says,
        at,
        helps: Help::Release,
    }
}

const CAPABILITY: &str = "the semaphore of the vendor-specific capability was held by ticket \
                          0x5ead0001 (no process known here) for N ms";
const ICMD: &str =
    "the ICMD semaphore was held by token 0x5ead0001 (no process known here) for N ms";
const FLASH: &str =
    "the flash semaphore was held by token 0x5ead0001 (no process known here) for N ms";
const LEGACY_FLASH: &str = "the flash gateway (0xf03a0) was locked for N ms";
const LEGACY_GATEWAY: &str = "the flash gateway (0xf03fc) was locked for N ms";
const GATEWAY: &str = "the flash gateway (0xf0400) was locked for N ms";

fn held() -> Vec<Case> {
    vec![
        hold(ConnectX3, "hold flash", LEGACY_FLASH, BEFORE),
        hold(ConnectX3, "hold gateway", LEGACY_GATEWAY, BEFORE),
        hold(Lx, "hold capability", CAPABILITY, BEFORE),
        hold(Lx, "hold icmd", ICMD, BEFORE),
        hold(ConnectX5, "hold flash", FLASH, TAKING),
        hold(Recovery, "hold capability", CAPABILITY, BEFORE),
        hold(Recovery, "hold flash", FLASH, TAKING),
        Case {
            word: "gateway_busy",
            ..hold(Recovery, "hold gateway", GATEWAY, TAKING)
        },
    ]
}

fn held_from_firmware() -> Vec<Case> {
    vec![
        hold(Lx, "hold capability", CAPABILITY, BEFORE),
        hold(Lx, "hold icmd", ICMD, BEFORE),
        hold(ConnectX5, "hold flash", FLASH, "taking the flash semaphore"),
    ]
}

fn restoring() -> Vec<Case> {
    vec![
        hangs(ConnectX3, "hang gateway", EARLIER, BEFORE),
        hangs(Recovery, "hang flash --of flash --at 9", PART, WRITING),
        stuck(
            Lx,
            "hang capability --of flash --at 12",
            "flash_failed",
            WRITING,
        ),
        hold(ConnectX3, "hold flash", LEGACY_FLASH, BEFORE),
        hold(Lx, "hold icmd", ICMD, BEFORE),
        hold(ConnectX5, "hold flash", FLASH, TAKING),
        Case {
            word: "gateway_busy",
            ..hold(Recovery, "hold gateway", GATEWAY, TAKING)
        },
    ]
}

fn saving() -> Vec<Case> {
    vec![
        hangs(ConnectX3, "hang gateway", EARLIER, BEFORE),
        stuck(
            Lx,
            "hang capability --of register --at 90",
            "flash_unreadable",
            BEFORE,
        ),
        hold(ConnectX3, "hold gateway", LEGACY_GATEWAY, BEFORE),
        hold(ConnectX5, "hold icmd", ICMD, BEFORE),
        hold(Lx, "hold flash", FLASH, BEFORE),
        Case {
            word: "gateway_busy",
            ..hold(Recovery, "hold gateway", GATEWAY, BEFORE)
        },
    ]
}
