//! The capability: finding it, its semaphore, its spaces, its flags.

use super::super::fake::{Fake, Faults, STRANGER, VSEC};
use super::super::vsec::{self, CapabilityType, Vsec};
use super::super::{AccessError, Patience, Space};
use super::{open, opened};
use crate::pci::ConfigError;

#[test]
fn a_cr_dword_costs_nine_cycles_once_its_space_is_selected() {
    let (fake, device) = opened(|_| {});
    let before = fake.chip().cycles;
    assert_eq!(device.read_cr(0xf_0014).unwrap(), 0x20d);
    // semaphore 4, space 3 at most, transfer 3, release 1
    assert!(fake.chip().cycles - before <= 11);
    let before = fake.chip().cycles;
    device.read_cr(0xf_0014).unwrap();
    // the space is still selected: one look instead of three
    assert_eq!(fake.chip().cycles - before, 9);
    fake.assert_nothing_held();
}

#[test]
fn a_functional_capability_is_preferred_to_one_of_recovery() {
    let fake = Fake::new(|chip| {
        chip.config[0x34 / 4] = 0x54;
        chip.config[0x54 / 4] = 0x0218_6009;
    });
    assert_eq!(
        vsec::find(&*fake).unwrap(),
        Some((VSEC, CapabilityType::Functional))
    );
    fake.chip().config[usize::from(VSEC / 4)] = 0x0118_0009;
    assert_eq!(
        vsec::find(&*fake).unwrap(),
        Some((0x54, CapabilityType::Recovery))
    );
}

#[test]
fn a_looping_capability_list_ends() {
    let fake = Fake::new(|chip| {
        chip.config[0x60 / 4] = 0x6010;
    });
    let before = fake.chip().cycles;
    assert_eq!(vsec::find(&*fake).unwrap(), None);
    assert!(fake.chip().cycles - before < 120);
}

#[test]
fn a_semaphore_that_becomes_free_is_taken() {
    let (fake, device) = opened(|chip| {
        chip.semaphore = STRANGER;
        chip.faults.stranger_reads = 5;
    });
    fake.chip().semaphore = STRANGER;
    fake.chip().faults.stranger_reads = 10;
    device.read_cr(0xf_0014).unwrap();
    fake.assert_nothing_held();
}

#[test]
fn a_semaphore_that_stays_held_is_an_error_with_its_owner_and_is_left_alone() {
    let fake = Fake::new(|chip| {
        chip.semaphore = STRANGER;
        chip.faults.stranger_reads = u32::MAX;
    });
    let error = open(&fake).unwrap_err();
    assert!(matches!(
        error,
        AccessError::SemaphoreHeld {
            owner: STRANGER,
            ..
        }
    ));
    assert!(
        error
            .to_string()
            .starts_with("0000:03:00.0: the semaphore of the vendor-specific capability was held by ticket 0x57a60000"),
        "{error}"
    );
    assert_eq!(fake.chip().semaphore, STRANGER);
}

#[test]
fn a_lost_race_for_the_semaphore_is_run_again() {
    let (fake, device) = opened(|_| {});
    fake.chip().faults.lost_races = 2;
    device.read_cr(0xf_0014).unwrap();
    fake.assert_nothing_held();
}

#[test]
fn a_slow_flag_is_awaited_and_a_stuck_one_is_named() {
    let (fake, device) = opened(|chip| chip.faults.slow_flag = 4);
    assert_eq!(device.read_cr(0xf_0014).unwrap(), 0x20d);
    fake.chip().cr.push((0x1000, 0));
    device.write_cr(0x1000, 7).unwrap();
    fake.chip().faults.slow_flag = u32::MAX;
    let error = device.write_cr(0x1000, 8).unwrap_err().to_string();
    let told = "0000:03:00.0: write of 0x1000 in space 0x2 did not finish: the flag did not change in \
                20 reads, ";
    assert!(error.starts_with(told), "{error}");
    fake.assert_nothing_held();
}

#[test]
fn a_function_that_leaves_the_bus_is_gone_wherever_it_happens() {
    let (fake, _) = opened(|_| {});
    let all = fake.chip().cycles;
    // the last cycle frees the semaphore: nobody hears that it failed
    for after in 0..all - 1 {
        let fake = Fake::new(|chip| chip.faults.gone_after = Some(after));
        let error = open(&fake).unwrap_err();
        assert!(error.is_gone(), "after {after} cycles: {error}");
    }
}

#[test]
fn all_ones_read_from_a_present_chip_are_a_value() {
    let (fake, device) = opened(|chip| chip.cr.push((0x2000, u32::MAX)));
    assert_eq!(device.read_cr(0x2000).unwrap(), u32::MAX);
    let cycles = fake.chip().cycles;
    // gone right before the data dword is read: semaphore 4, control 1, address 2
    fake.chip().faults.gone_after = Some(cycles + 7);
    assert!(matches!(
        device.read_cr(0x2000).unwrap_err(),
        AccessError::Config(ConfigError::Gone { .. })
    ));
}

#[test]
fn an_address_beyond_30_bits_or_unaligned_is_refused_without_a_transfer() {
    let (fake, device) = opened(|_| {});
    for address in [0x4000_0000, 0xf_0015] {
        assert!(matches!(
            device.read_cr(address).unwrap_err(),
            AccessError::Address { .. }
        ));
    }
    fake.assert_nothing_held();
}

/// Spaces of a twin-space device whose own CR space ends at 0x10000.
fn twins() -> Vec<(u16, u32)> {
    vec![
        (0x1, 0x1000),
        (0x2, 0x1_0000),
        (0x3, 0x10_0400),
        (0xa, 0x400),
        (0x102, 0x200_0000),
        (0x103, 0x10_0400),
        (0x10a, 0x400),
    ]
}

#[test]
fn an_address_out_of_range_is_tried_in_the_twin_space_which_does_not_stay_selected() {
    let (fake, device) = opened(|chip| {
        chip.spaces = twins();
        chip.cr.push((0x2000, 1));
    });
    fake.chip().selections.clear();
    // a write is retried as a write
    fake.chip().cr.push((0x8_0000, 0));
    device.write_cr(0x8_0000, 0x1234).unwrap();
    assert_eq!(fake.chip().selections, [0x2, 0x102]);
    assert_eq!(device.read_cr(0x8_0000).unwrap(), 0x1234);
    // and the next access starts in the space it names
    device.read_cr(0x2000).unwrap();
    assert_eq!(fake.chip().selections.last(), Some(&0x2));
    fake.assert_nothing_held();
}

#[test]
fn a_block_is_retried_as_a_whole_in_the_twin_space() {
    let fake = Fake::new(|chip| {
        chip.spaces = twins();
        chip.cr
            .extend((0xfff8..0x1_0008).step_by(4).map(|at| (at, at)));
    });
    let vsec = Vsec::open(fake.clone(), None, Patience::SHORT)
        .unwrap()
        .unwrap();
    let mut dwords = [0; 4];
    let mut session = vsec.hold().unwrap();
    session.read_block(Space::Cr, 0xfff8, &mut dwords).unwrap();
    assert_eq!(dwords, [0xfff8, 0xfffc, 0x1_0000, 0x1_0004]);
    session
        .write_block(Space::Cr, 0xfff8, &[1, 2, 3, 4])
        .unwrap();
    session.finish().unwrap();
    let chip = fake.chip();
    let written: Vec<u32> = chip.cr[chip.cr.len() - 4..].iter().map(|r| r.1).collect();
    assert_eq!(written, [1, 2, 3, 4]);
}

#[test]
fn an_address_that_neither_twin_has_is_a_syndrome() {
    let (fake, device) = opened(|chip| chip.spaces = twins());
    let error = device.read_cr(0x300_0000).unwrap_err();
    assert_eq!(
        error.to_string(),
        "0000:03:00.0: read of 0x3000000 in space 0x102 was refused with syndrome 3 (address out \
         of range)"
    );
    fake.assert_nothing_held();
}

#[test]
fn a_function_with_only_the_pci_half_is_reached_through_it() {
    let (fake, device) = opened(|chip| {
        chip.spaces = vec![(0x102, 0x200_0000), (0x103, 0x10_0400), (0x10a, 0x400)];
        chip.semaphores = vec![(0x10a, 0x0, 0), (0x10a, 0x10, 0)];
    });
    assert_eq!(device.hw_id().unwrap().id, 0x20d);
    assert!(device.registers().is_some());
    let semaphore = device.flash_semaphore().unwrap();
    assert_ne!(fake.chip().semaphores[1].2, 0);
    drop(semaphore);
    fake.assert_nothing_held();
}

#[test]
fn a_panic_inside_a_session_frees_the_semaphore() {
    let (fake, _) = opened(|_| {});
    let vsec = Vsec::open(fake.clone(), None, Patience::SHORT)
        .unwrap()
        .unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _session = vsec.hold().unwrap();
        panic!("in the middle");
    }));
    assert!(outcome.is_err());
    fake.assert_nothing_held();
}

#[test]
fn resting_offers_the_semaphore_to_others() {
    let (fake, _) = opened(|_| {});
    let vsec = Vsec::open(fake.clone(), None, Patience::SHORT)
        .unwrap()
        .unwrap();
    let mut session = vsec.hold().unwrap();
    session.read(Space::Cr, 0xf_0014).unwrap();
    fake.chip().faults = Faults {
        lost_races: 1,
        ..Faults::default()
    };
    // a stranger takes it while we sleep, and gives it back
    session.rest(std::time::Duration::ZERO).unwrap();
    assert_eq!(session.read(Space::Cr, 0xf_0014).unwrap(), 0x20d);
    drop(session);
    fake.assert_nothing_held();
}
