//! A burn must not be slower than people's patience: the cost of config cycles is measured.

use std::time::{Duration, Instant};

use super::updater::Update;
use super::*;

/// Bytes of the largest usual image.
const FOUR_MIB: u64 = 0x40_0000;

#[test]
fn a_component_burn_costs_little_more_than_its_config_cycles() {
    let card = connectx_4_lx();
    let mut image = image_spec(CONNECTX_4_LX, "14.32.1010");
    image.code_size = 0x8_0000;
    let component = component(&image);
    card.chip.reset_counters().unwrap();
    let start = Instant::now();
    Update::locked(&card).burn(&component);
    let elapsed = start.elapsed();
    let counters = card.chip.counters();
    let cycles = u64::from(counters.config_reads) + u64::from(counters.config_writes);
    let of_four_mib = elapsed.mul_f64(FOUR_MIB as f64 / component.len() as f64);
    println!(
        "{} bytes: {cycles} config cycles in {elapsed:?}, {:.0} ns each; 4 MiB: {of_four_mib:?}",
        component.len(),
        elapsed.as_nanos() as f64 / cycles as f64,
    );
    assert_eq!(card.reboot().version, [14, 32, 1010]);
    let pieces = component.len() as u64 / 128;
    assert!(cycles < pieces * 320, "{cycles} cycles for {pieces} pieces");
    // generous: unoptimised builds on busy machines
    assert!(of_four_mib < Duration::from_secs(60), "{of_four_mib:?}");
}
