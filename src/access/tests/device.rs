//! Which way a device is opened, and what it says it is.

use super::super::fake::{Fake, VSEC};
use super::super::{AccessError, Device, Patience, RecoveryState, Space, Way};
use super::{open, opened};
use crate::model::by_hw_id;

#[test]
fn a_capability_with_its_spaces_is_the_way_in() {
    let (_, device) = opened(|chip| chip.cr[0].1 = 0x0001_020d);
    assert_eq!(device.way(), Way::Vsec);
    assert_eq!(device.model().unwrap().name, "ConnectX5");
    let id = device.hw_id().unwrap();
    assert_eq!((id.id, id.revision), (0x20d, 1));
    assert!(device.registers().is_some());
    assert_eq!(device.recovery_state().unwrap(), RecoveryState::Running);
}

#[test]
fn a_known_model_is_not_asked_for() {
    let fake = Fake::new(|_| {});
    open(&fake).unwrap();
    let asked = fake.chip().cycles;
    let fake = Fake::new(|_| {});
    Device::open_with(fake.clone(), by_hw_id(0x20d), None, Patience::SHORT).unwrap();
    assert!(fake.chip().cycles < asked);
    assert!(fake.chip().cycles <= 40, "{}", fake.chip().cycles);
}

/// A ConnectX-3 behind the legacy gateway.
fn connectx3(write_only: bool) -> (std::sync::Arc<Fake>, Device) {
    opened(|chip| {
        chip.config[0] = 0x1003_15b3;
        chip.config[usize::from(VSEC / 4)] = 0;
        chip.config[0x60 / 4] = 0x10;
        chip.legacy = Some(write_only);
        chip.cr = vec![(0xf_0014, 0x1f5), (0x1000, 0)];
    })
}

#[test]
fn connectx_3_is_reached_through_the_legacy_gateway_of_either_kind() {
    for write_only in [false, true] {
        let (fake, device) = connectx3(write_only);
        assert_eq!(device.way(), Way::LegacyGateway);
        assert_eq!(device.model().unwrap().name, "ConnectX3");
        device.write_cr(0x1000, 0xabcd).unwrap();
        assert_eq!(device.read_cr(0x1000).unwrap(), 0xabcd);
        assert!(device.registers().is_none());
        assert!(matches!(
            device.flash_semaphore().unwrap_err(),
            AccessError::UnsupportedSpace {
                space: Space::Semaphores,
                ..
            }
        ));
        drop(device);
        fake.assert_nothing_held();
    }
}

#[test]
fn a_legacy_gateway_that_knows_no_chip_is_no_way() {
    let fake = Fake::new(|chip| {
        chip.config[usize::from(VSEC / 4)] = 0;
        chip.legacy = Some(false);
        chip.cr[0].1 = 0x0000_4242;
    });
    assert_eq!(
        open(&fake).unwrap_err().to_string(),
        "0000:03:00.0: no way to the chip: no usable vendor-specific capability, and the legacy \
         gateway says 0x4242 for the hardware id, which is no chip"
    );
}

#[test]
fn nothing_is_written_where_a_capability_lies_in_place_of_the_gateway() {
    let fake = Fake::new(|chip| {
        chip.config[usize::from(VSEC / 4)] = 0;
        chip.config[0x60 / 4] = 0x5810;
        chip.config[0x58 / 4] = 0x0011;
    });
    let error = open(&fake).unwrap_err().to_string();
    assert!(error.contains("a capability at 0x58"), "{error}");
}

#[test]
fn a_capability_without_the_spaces_it_needs_is_not_used() {
    let (_, device) = opened(|chip| {
        chip.spaces.retain(|&(number, _)| number != 0xa);
        chip.legacy = Some(false);
    });
    assert_eq!(device.way(), Way::LegacyGateway);
    assert!(device.registers().is_none());
}

#[test]
fn secure_host_and_corrupted_ids_are_told_apart() {
    let (fake, device) = opened(|_| {});
    fake.chip().cr[0].1 = 0xbad0_cafe;
    assert_eq!(
        device.hw_id().unwrap_err().to_string(),
        "0000:03:00.0: CR space is locked by secure host (0xbad0cafe at 0xf0014)"
    );
    for value in [0x0000_ffff, 0] {
        fake.chip().cr[0].1 = value;
        assert!(matches!(
            device.hw_id().unwrap_err(),
            AccessError::Corrupted { .. }
        ));
    }
}

#[test]
fn under_secure_host_the_chip_is_known_by_its_pci_id() {
    let (_, device) = opened(|chip| chip.cr[0].1 = 0xbad0_cafe);
    assert_eq!(device.model().unwrap().name, "ConnectX5");
}

#[test]
fn a_chip_in_recovery_shows_its_recovery_id_and_has_no_registers() {
    let (_, device) = opened(|chip| {
        chip.config[0] = 0x020d_15b3;
        chip.spaces.retain(|&(number, _)| number != 0x3);
    });
    assert_eq!(device.recovery_state().unwrap(), RecoveryState::Recovery);
    assert!(device.registers().is_none());
}

#[test]
fn firmware_that_was_refused_is_told_by_the_recovery_space() {
    for (state, expected) in [
        (0b011, RecoveryState::Zombie),
        (0b001, RecoveryState::Running),
        (0b010, RecoveryState::Running),
        (0b111, RecoveryState::Zombie),
    ] {
        let (_, device) = opened(|chip| {
            chip.config[0] = 0x1021_15b3;
            chip.spaces.push((0xc, 0x100));
            chip.cr = vec![(0xf_0014, 0x218), (0xc000_0000, state)];
        });
        assert_eq!(device.recovery_state().unwrap(), expected, "{state:#b}");
    }
}

#[test]
fn a_chip_that_cannot_be_refused_is_not_asked() {
    // its recovery space would answer "zombie", but a ConnectX-5 has no such state
    let (_, device) = opened(|chip| {
        chip.spaces.push((0xc, 0x100));
        chip.cr.push((0xc000_0000, 0b11));
    });
    assert_eq!(device.recovery_state().unwrap(), RecoveryState::Running);
}
