//! Backups of cards that break. What makes them wait is in `waiting`.

use crate::bench::{Bench, Command, ConnectX3, Lx, Recovery, Way};
use crate::case::{Case, Help, play};

const fn gone(on: Way, fault: &'static str) -> Case {
    Case {
        on,
        fault,
        word: "gone",
        says: "reads all ones; the function is gone from the bus",
        at: "",
        helps: Help::Restart,
    }
}

#[test]
fn a_backup_of_a_card_that_leaves_says_so_and_is_made_when_the_card_is_back() {
    play(
        Command::Backup,
        &[
            gone(ConnectX3, "vanish --of cycle --at 40000"),
            gone(Lx, "power-loss --of register --at 90"),
            gone(Recovery, "vanish --of cycle --at 60000"),
        ],
    );
}

#[test]
fn a_backup_that_a_power_loss_broke_off_is_made_after_the_restart() {
    let bench = Bench::new(ConnectX3);
    bench.break_card("power-loss --of cycle --at 40000");
    assert_eq!(bench.run(Command::Backup).code, Some(1));
    assert!(!bench.lab.beside("copy.bin").exists());
    bench.lab.reset();
    let ran = bench.run(Command::Backup);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["cards"][0]["sound"], true);
}

#[test]
fn nothing_is_saved_of_a_flash_that_reads_differently_each_time() {
    let bench = Bench::new(Recovery);
    bench.break_card("bit-errors --every 50");
    let ran = bench.run(Command::Backup);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let told = crate::case::Told::by(&ran);
    assert_eq!(told.word, "flash_unsteady");
    let advice = "run it again; if it stays so, the flash part may be failing";
    assert_eq!(told.advice, advice);
    assert!(!bench.lab.beside("copy.bin").exists());
    bench.lab.assert_well_behaved();
}
