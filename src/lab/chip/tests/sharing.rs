//! Processes and threads that share one chip.

use std::process::Command;
use std::sync::atomic::Ordering;

use super::client::CR;
use super::updater::Update;
use super::*;
use crate::lab::chip::cells::Cell;

#[test]
fn what_one_opener_does_another_sees() {
    let card = connectx_4_lx();
    let again = Chip::open(card.dir.path(), &card.spec).unwrap();
    let one = card.client();
    let two = Client::new(again.function(0).unwrap());
    one.lock();
    assert_ne!(two.config(super::client::SEMAPHORE), 0);
    two.unlock();
    one.write(CR, 0xf_0204, 2);
    assert_eq!(two.read(CR, 0xf_0204), 2);
    let mgir = two.ask(&crate::registers::Mgir::default()).unwrap();
    assert_eq!(mgir.fw_version().unwrap().to_string(), "14.25.1020");
    // a boot by one changes what the other's firmware is
    let newer = component(&image_spec(CONNECTX_4_LX, "14.32.1010"));
    Update::locked(&card).burn(&newer);
    card.reboot();
    let mgir = two.ask(&crate::registers::Mgir::default()).unwrap();
    assert_eq!(mgir.fw_version().unwrap().to_string(), "14.32.1010");
}

#[test]
fn a_process_killed_inside_a_cycle_does_not_block_the_chip() {
    let card = connectx_4_lx();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let word = card.chip.cells.atomic(Cell::Lock);
    word.store(child.id(), Ordering::Relaxed);
    child.kill().unwrap();
    assert_eq!(card.client().config(0), 0x1015_15b3);
    assert_eq!(word.load(Ordering::Relaxed), 0);
    assert_eq!(card.chip.counters().lock_takeovers, 1);
    child.wait().unwrap();
}

/// Reads CR space through the semaphore with patience, as tools do.
fn read_patiently(client: &Client, address: u32) -> u32 {
    use super::client::{COUNTER, SEMAPHORE};
    loop {
        if client.config(SEMAPHORE) == 0 {
            let ticket = client.config(COUNTER);
            client.set_config(SEMAPHORE, ticket);
            if client.config(SEMAPHORE) == ticket {
                assert!(client.select(CR));
                let value = client.get(address);
                client.unlock();
                return value;
            }
        }
        std::thread::yield_now();
    }
}

#[test]
fn threads_that_keep_to_the_semaphore_never_disturb_each_other() {
    let card = connectx_4_lx();
    std::thread::scope(|scope| {
        for address in [0xf_0014, 0x7f4, 0xf_0014, 0x7f4] {
            let again = Chip::open(card.dir.path(), &card.spec).unwrap();
            let client = Client::new(again.function(0).unwrap());
            let expected = if address == 0x7f4 { 400 } else { 0x20b };
            scope.spawn(move || {
                for _ in 0..300 {
                    assert_eq!(read_patiently(&client, address), expected);
                }
            });
        }
    });
    card.assert_no_violation();
}

/// Environment variable that makes this test binary hold a chip's lock word and wait.
const VICTIM: &str = "CXFW_TEST_LOCK_VICTIM";

/// Not a test by itself: run by the next one in a process of its own.
#[test]
fn a_victim_holds_the_lock_word_until_it_is_killed() {
    let Some(dir) = std::env::var_os(VICTIM) else {
        return;
    };
    let spec = chip_spec(CONNECTX_4_LX);
    let chip = Chip::open(std::path::Path::new(&dir), &spec).unwrap();
    let _cycle = chip.cycle().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn a_real_process_killed_inside_a_cycle_is_replaced() {
    let card = connectx_4_lx();
    let test = "lab::chip::tests::sharing::a_victim_holds_the_lock_word_until_it_is_killed";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(VICTIM, card.dir.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let word = card.chip.cells.atomic(Cell::Lock);
    while word.load(Ordering::Relaxed) != child.id() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    assert_eq!(card.client().config(0), 0x1015_15b3);
    child.wait().unwrap();
    assert_eq!(card.chip.counters().lock_takeovers, 1);
}
