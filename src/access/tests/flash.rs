//! Flash contents through the gateway of each generation.

use std::sync::Arc;

use super::super::fake::{Chip, Fake, FakeGateway, VSEC};
use super::super::gateway::Flash;
use super::super::{AccessError, Device, GatewayError, RecoveryState};
use super::opened;
use crate::bytes::ByteSource;
use crate::model::by_hw_id;

/// Flash contents in which every place is told from the next.
pub(super) fn pattern(size: usize) -> Vec<u8> {
    (0..size)
        .map(|at| (at ^ at >> 8 ^ at >> 16).to_le_bytes()[0])
        .collect()
}

/// A chip in recovery with a gateway in CR space.
pub(super) fn livefish(hw_id: u16, gateway: FakeGateway, guard: &[u32]) -> (Arc<Fake>, Device) {
    opened(|chip: &mut Chip| {
        chip.config[0] = u32::from(hw_id) << 16 | 0x15b3;
        chip.spaces.retain(|&(number, _)| number != 0x3);
        chip.cr = vec![(0xf_0014, u32::from(hw_id))];
        chip.cr.extend(guard.iter().map(|&register| (register, 0)));
        chip.cr
            .extend(hold_line(hw_id).map(|register| (register, 0)));
        chip.gateway = Some(gateway);
    })
}

/// Registers of the line that holds the flash of a chip in recovery.
fn hold_line(hw_id: u16) -> impl Iterator<Item = u32> {
    let registers: &[u32] = match hw_id {
        0x212 => &[0xf_1004, 0xf_c028, 0xf_c024, 0xf_c04c, 0xf_c054, 0xf_c014],
        0x218 => &[0xf_1078, 0xf_1100, 0xf_1104, 0xf_1108],
        _ => &[],
    };
    registers.iter().copied()
}

pub(super) fn flash(device: &Device) -> Flash {
    device.flash(device.model().unwrap()).unwrap()
}

/// Reads here and there and compares with `contents`.
fn compare(fake: &Fake, flash: &Flash, contents: &[u8]) {
    let reads = [
        (0, 16),
        (0, 4),
        (5, 3),
        (0x11, 0x20),
        (0xff8, 0x1010),
        (0x3000, 0x1000),
    ];
    for (offset, len) in reads {
        let read = flash.read(offset, len).unwrap();
        let from = usize::try_from(offset).unwrap();
        let to = from + usize::try_from(len).unwrap();
        assert_eq!(*read, contents[from..to], "{len:#x} bytes at {offset:#x}");
        fake.assert_nothing_held();
    }
    assert!(flash.read(5, 0).unwrap().is_empty());
}

#[test]
fn the_old_gateway_is_read() {
    let contents = pattern(0x1_0000);
    let (fake, device) = livefish(
        0x20d,
        FakeGateway::old(contents.clone()),
        &[0xf_0408, 0xf_040c],
    );
    let flash = flash(&device);
    assert_eq!(flash.part().name, Some("N25Q0XX"));
    assert_eq!(flash.size(), 16 << 20);
    compare(&fake, &flash, &contents);
}

#[test]
fn the_gateway_of_connectx_3_is_read_with_its_two_semaphores() {
    let contents = pattern(0x1_0000);
    let (fake, device) = opened(|chip| {
        chip.config[0] = 0x1003_15b3;
        chip.config[0x60 / 4] = 0x10;
        chip.config[0xc0 / 4] = 0;
        chip.legacy = Some(false);
        chip.cr = vec![(0xf_0014, 0x1f5)];
        chip.gateway = Some(FakeGateway::connectx3(contents.clone()));
    });
    compare(&fake, &flash(&device), &contents);
}

#[test]
fn the_sixth_generation_is_read_and_its_clock_put_back() {
    let contents = pattern(0x1_0000);
    let (fake, device) = livefish(
        0x218,
        FakeGateway::sixth(contents.clone()),
        &[0xf_0484, 0xf_0488],
    );
    fake.chip().cr.extend([(0x7f4, 400), (0xf_e804, 0x50)]);
    compare(&fake, &flash(&device), &contents);
    assert!(fake.chip().cr.contains(&(0xf_e804, 0x50)));
}

#[test]
fn the_seventh_generation_is_read() {
    let contents = pattern(0x1_0000);
    let (fake, device) = livefish(
        0x21e,
        FakeGateway::seventh(contents.clone(), 0x8a_1000),
        &[0x8a_1204, 0x8a_1208],
    );
    compare(&fake, &flash(&device), &contents);
}

#[test]
fn a_refused_firmware_leaves_the_flash_in_the_recovery_space() {
    let contents = pattern(0x1_0000);
    let zombie = |state: u32| {
        let gateway = FakeGateway::seventh(contents.clone(), 0xc000_0010);
        opened(|chip| {
            chip.config[0] = 0x1023_15b3;
            chip.spaces.push((0xc, 0x100));
            chip.cr = vec![(0xf_0014, 0x21e), (0xc000_0000, state)];
            chip.gateway = Some(gateway);
        })
    };
    let (fake, device) = zombie(0b111);
    compare(&fake, &flash(&device), &contents);
    let (_, device) = zombie(0b011);
    let error = device.flash(device.model().unwrap()).unwrap_err();
    assert!(matches!(error, GatewayError::NoWindow { .. }), "{error}");
}

#[test]
fn a_recovery_capability_without_cr_space_still_leads_to_the_flash() {
    let contents = pattern(0x1_0000);
    let (fake, device) = opened(|chip| {
        chip.config[0] = 0x021e_15b3;
        chip.config[usize::from(VSEC / 4)] = 0x0218_0009;
        chip.spaces = vec![(0xc, 0x100)];
        chip.semaphores.clear();
        chip.cr = vec![(0xc000_0000, 0b111)];
        chip.gateway = Some(FakeGateway::seventh(contents.clone(), 0xc000_0010));
    });
    assert_eq!(device.model().unwrap().name, "ConnectX8");
    assert_eq!(device.recovery_state().unwrap(), RecoveryState::Recovery);
    assert!(device.registers().is_none());
    assert!(matches!(
        device.hw_id().unwrap_err(),
        AccessError::UnsupportedSpace { .. }
    ));
    compare(&fake, &flash(&device), &contents);
}

#[test]
fn large_parts_are_read_with_four_address_bytes_where_the_chip_can() {
    let mut gateway = FakeGateway::old(pattern(0x101_0000));
    gateway.part.jedec = [0x20, 0xbb, 0x20];
    let (_, device) = livefish(0x212, gateway, &[0xf_0444, 0xf_0448]);
    let far = flash(&device);
    assert_eq!(far.size(), 64 << 20);
    assert_eq!(
        *far.read(0x100_0000, 0x20).unwrap(),
        pattern(0x100_0020)[0x100_0000..]
    );

    let mut gateway = FakeGateway::old(pattern(0x1000));
    gateway.part.jedec = [0x20, 0xbb, 0x20];
    let (_, device) = livefish(0x20d, gateway, &[0xf_0408, 0xf_040c]);
    let near = flash(&device);
    assert_eq!(near.size(), 16 << 20);
    assert!(near.read(0x100_0000, 1).is_err());
}

#[test]
fn firmware_that_works_from_flash_is_not_hung() {
    let (fake, device) = opened(|chip| {
        chip.cr.extend([(0xf_0408, 0x1_0000), (0xf_040c, 0)]);
        chip.gateway = Some(FakeGateway::old(pattern(0x100)));
    });
    let error = device.flash(by_hw_id(0x20d).unwrap()).unwrap_err();
    assert!(
        matches!(error, GatewayError::FirmwareRuns { .. }),
        "{error}"
    );
    assert_eq!(fake.chip().gateway.as_ref().unwrap().commands, 0);
    fake.assert_nothing_held();
}

#[test]
fn a_gateway_in_use_is_awaited_and_one_that_stays_locked_is_left_alone() {
    let mut gateway = FakeGateway::old(pattern(0x100));
    gateway.locked_reads = 5;
    let (fake, device) = livefish(0x20d, gateway, &[0xf_0408, 0xf_040c]);
    let flash = flash(&device);
    let chip_gateway = |locked_reads| {
        fake.chip().gateway.as_mut().unwrap().locked_reads = locked_reads;
    };
    chip_gateway(u32::MAX);
    let error = flash.read(0, 4).unwrap_err().to_string();
    assert!(
        error.starts_with("at 0x0: 0000:03:00.0: the flash gateway (0xf0400) was locked for"),
        "{error}"
    );
    chip_gateway(0);
    fake.assert_nothing_held();
    assert_eq!(*flash.read(0, 4).unwrap(), pattern(4));
}

#[test]
fn a_command_that_does_not_end_is_named_and_everything_is_freed() {
    let mut gateway = FakeGateway::old(pattern(0x100));
    gateway.busy_reads = 3;
    let (fake, device) = livefish(0x20d, gateway, &[0xf_0408, 0xf_040c]);
    let flash = flash(&device);
    fake.chip().gateway.as_mut().unwrap().busy_reads = 40;
    let error = flash.read(0, 16).unwrap_err().to_string();
    let told = "at 0x0: 0000:03:00.0: the flash gateway (0xf0400) is busy: flash command 0x03 did not \
                finish in 20 reads, ";
    assert!(error.starts_with(told), "{error}");
    fake.assert_nothing_held();
}

#[test]
fn a_closed_device_and_an_empty_socket_are_told_apart() {
    let mut gateway = FakeGateway::old(pattern(0x100));
    gateway.closed = true;
    let (fake, device) = livefish(0x20d, gateway, &[0xf_0408, 0xf_040c]);
    let model = device.model().unwrap();
    let error = device.flash(model).unwrap_err();
    assert!(matches!(error, GatewayError::Closed { .. }), "{error}");

    for (jedec, text) in [
        ([0xff; 3], "no flash answers (JEDEC id 0xffffff)"),
        ([0; 3], "no flash answers (JEDEC id 0x000000)"),
        ([0x20, 0xba, 0x01], "has an unknown capacity code"),
    ] {
        let mut chip = fake.chip();
        let gateway = chip.gateway.as_mut().unwrap();
        (gateway.closed, gateway.part.jedec) = (false, jedec);
        drop(chip);
        let error = device.flash(model).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    fake.assert_nothing_held();
}
