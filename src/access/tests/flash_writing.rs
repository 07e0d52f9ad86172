//! Changing the flash through the gateway of each generation.

use std::sync::Arc;

use super::super::fake::{Fake, FakeGateway};
use super::super::flash::{EraseUnit, FlashAccess, FlashError, ProtectedEnd, Protection};
use super::super::{Device, GatewayError};
use super::flash::{flash, livefish, pattern};
use super::opened;
use crate::bytes::ByteSource;
use crate::model::by_hw_id;

/// A flash of 128 KiB behind a ConnectX-5 in recovery.
fn connectx5(change: impl FnOnce(&mut FakeGateway)) -> (Arc<Fake>, Device) {
    let mut gateway = FakeGateway::old(pattern(0x2_0000));
    change(&mut gateway);
    livefish(0x20d, gateway, &[0xf_0408, 0xf_040c])
}

/// What the part was told, as opcode and address.
fn changes(fake: &Fake) -> Vec<(u8, u32)> {
    fake.chip().gateway.as_ref().unwrap().part.changes.clone()
}

fn contents(fake: &Fake) -> Vec<u8> {
    fake.chip().gateway.as_ref().unwrap().part.flash.clone()
}

/// Erases a sub-sector, programs across a page boundary and reads back.
fn erase_and_program(fake: &Fake, device: &Device, base: u64) {
    let before = contents(fake);
    let flash = flash(device);
    let session = flash.session().unwrap();
    session.erase(base + 0x1000, EraseUnit::SubSector).unwrap();
    let bytes = pattern(0x120);
    session.program(base + 0x10f3, &bytes).unwrap();
    assert_eq!(*session.read(base + 0x10f3, 0x120).unwrap(), bytes);
    assert_eq!(fake.chip().semaphore, 0, "the way is offered to others");
    session.finish().unwrap();
    fake.assert_nothing_held();
    let mut expected = before;
    let at = usize::try_from(base).unwrap() + 0x1000;
    expected[at..at + 0x1000].fill(0xff);
    expected[at + 0xf3..at + 0x213].copy_from_slice(&bytes);
    assert!(contents(fake) == expected, "other bytes were changed");
}

#[test]
fn the_gateway_of_every_generation_erases_and_programs() {
    let (fake, device) = connectx5(|_| ());
    erase_and_program(&fake, &device, 0);
    assert_eq!(
        changes(&fake),
        [
            (0x20, 0x1000),
            (0x02, 0x10f3),
            (0x02, 0x1100),
            (0x02, 0x1200)
        ]
    );
    let sixth = FakeGateway::sixth(pattern(0x2_0000));
    let (fake, device) = livefish(0x218, sixth, &[0xf_0484, 0xf_0488, 0x7f4, 0xf_e804]);
    erase_and_program(&fake, &device, 0);
    let seventh = FakeGateway::seventh(pattern(0x2_0000), 0x8a_1000);
    let (fake, device) = livefish(0x21e, seventh, &[0x8a_1204, 0x8a_1208]);
    erase_and_program(&fake, &device, 0);
}

#[test]
fn connectx_3_is_kept_on_the_bus_and_written_under_its_two_semaphores() {
    let (fake, device) = opened(|chip| {
        chip.config[0] = 0x01f6_15b3;
        chip.config[0x60 / 4] = 0x10;
        chip.config[0xc0 / 4] = 0;
        chip.legacy = Some(false);
        chip.cr = vec![
            (0xf_0014, 0x1f5),
            (0x4_1270, 0xfff0_0004),
            (0xf_3834, 0x1800_0001),
        ];
        chip.gateway = Some(FakeGateway::connectx3(pattern(0x2_0000)));
    });
    erase_and_program(&fake, &device, 0);
    assert!(fake.chip().cr.contains(&(0xf_3834, 0x1000_0001)));
}

#[test]
fn the_hold_line_of_connectx_6_is_released_in_recovery() {
    let gateway = FakeGateway::old(pattern(0x100));
    let (fake, device) = livefish(0x212, gateway, &[0xf_0444, 0xf_0448]);
    for (register, value) in &mut fake.chip().cr {
        if matches!(*register, 0xf_c028 | 0xf_c024) {
            *value = 0x3000_0001;
        }
    }
    flash(&device);
    let expected = [
        (0xf_1004, 0xd42f),
        (0xf_c028, 0x1000_0001),
        (0xf_c024, 0x1000_0001),
        (0xf_c04c, 0x2000_0000),
        (0xf_c054, 0x2000_0000),
        (0xf_c014, 0x2000_0000),
    ];
    let chip = fake.chip();
    assert!(expected.iter().all(|register| chip.cr.contains(register)));
}

#[test]
fn far_places_are_written_with_four_address_bytes() {
    let mut gateway = FakeGateway::old(pattern(0x101_0000));
    gateway.part.jedec = [0x20, 0xbb, 0x20];
    let (fake, device) = livefish(0x212, gateway, &[0xf_0444, 0xf_0448]);
    let flash = flash(&device);
    let session = flash.session().unwrap();
    session.erase(0x100_0000, EraseUnit::Sector).unwrap();
    session.program(0x100_0000, &[1; 16]).unwrap();
    assert_eq!(changes(&fake), [(0xdc, 0x100_0000), (0x12, 0x100_0000)]);
}

#[test]
fn a_part_of_sst_is_programmed_byte_by_byte() {
    let (fake, device) = connectx5(|gateway| gateway.part.jedec = [0xbf, 0x25, 0x4a]);
    let flash = flash(&device);
    let session = flash.session().unwrap();
    assert!(!session.can_erase(EraseUnit::SubSector));
    assert!(matches!(
        session.erase(0, EraseUnit::SubSector),
        Err(FlashError::NoUnit { .. })
    ));
    session.erase(0x1_0000, EraseUnit::Sector).unwrap();
    session.program(0x1_0001, &[1, 0xff, 2]).unwrap();
    assert_eq!(
        changes(&fake),
        [(0xd8, 0x1_0000), (0x02, 0x1_0001), (0x02, 0x1_0003)]
    );
    assert_eq!(
        *session.read(0x1_0000, 5).unwrap(),
        [0xff, 1, 0xff, 2, 0xff]
    );
}

#[test]
fn a_part_of_no_known_family_is_read_but_not_written() {
    let (fake, device) = connectx5(|gateway| gateway.part.jedec = [0x55, 0x66, 0x18]);
    let flash = flash(&device);
    assert!(flash.read(0, 4).is_ok());
    assert_eq!(
        flash.session().unwrap_err().to_string(),
        "0000:03:00.0: the flash part with JEDEC id 0x556618 is of no known family, so it is not \
         written"
    );
    fake.assert_nothing_held();
}

#[test]
fn a_part_that_does_not_finish_is_named_and_everything_is_freed() {
    let (fake, device) = connectx5(|gateway| gateway.part.hangs = true);
    let flash = flash(&device);
    let session = flash.session().unwrap();
    let error = session.erase(0x1000, EraseUnit::SubSector).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("0000:03:00.0: erase at 0x1000 did not end: the flash part still works"),
        "{error}"
    );
    drop(session);
    fake.assert_nothing_held();
}

#[test]
fn everything_is_freed_when_the_session_is_dropped_or_the_chip_is_gone() {
    let (fake, device) = connectx5(|_| ());
    let flash = flash(&device);
    let session = flash.session().unwrap();
    session.program(0, &[0]).unwrap();
    drop(session);
    fake.assert_nothing_held();
    let session = flash.session().unwrap();
    let mut chip = fake.chip();
    chip.faults.gone_after = Some(chip.cycles + 20);
    drop(chip);
    let error = session.erase(0, EraseUnit::SubSector).unwrap_err();
    assert!(
        matches!(&error, FlashError::Gateway(GatewayError::Access(error)) if error.is_gone()),
        "{error}"
    );
}

#[test]
fn ranges_outside_the_flash_and_inside_a_unit_are_refused_before_anything_is_sent() {
    let (fake, device) = connectx5(|_| ());
    let flash = flash(&device);
    let session = flash.session().unwrap();
    assert_eq!(
        session
            .program(0xff_fff8, &[0; 16])
            .unwrap_err()
            .to_string(),
        "0000:03:00.0: 0x10 bytes at 0xfffff8 do not lie in a flash of 0x1000000 bytes"
    );
    assert!(session.erase(u64::MAX, EraseUnit::Sector).is_err());
    assert_eq!(
        session
            .erase(0x1000, EraseUnit::Sector)
            .unwrap_err()
            .to_string(),
        "0000:03:00.0: no unit of 0x10000 bytes can be erased at 0x1000"
    );
    assert_eq!(changes(&fake), []);
}

#[test]
fn write_protection_is_told() {
    let (_, device) = connectx5(|_| ());
    assert_eq!(
        flash(&device).session().unwrap().protection().unwrap(),
        None
    );

    let (_, device) = connectx5(|gateway| {
        gateway.part.jedec = [0xc2, 0x20, 0x18];
        gateway.part.status = 0xbc;
        gateway.part.other_status = (0x15, 0x08);
    });
    let protection = flash(&device).session().unwrap().protection().unwrap();
    assert_eq!(
        protection,
        Some(Protection::Blocks {
            status: 0xbc,
            end: ProtectedEnd::Bottom,
            locked: true,
        })
    );

    let (_, device) = connectx5(|gateway| {
        gateway.part.jedec = [0xef, 0x40, 0x18];
        gateway.part.other_status = (0x35, 0x40);
    });
    let protection = flash(&device).session().unwrap().protection().unwrap();
    assert_eq!(protection, Some(Protection::Complement { status: 0x40 }));
}

#[test]
fn running_firmware_is_passed_only_on_demand() {
    let (fake, device) = opened(|chip| {
        chip.cr.extend([(0xf_0408, 0x1_0000), (0xf_040c, 0)]);
        chip.gateway = Some(FakeGateway::old(pattern(0x2_0000)));
    });
    let model = by_hw_id(0x20d).unwrap();
    assert!(device.flash(model).is_err());
    let flash = device.flash_past_firmware(model).unwrap();
    let session = flash.session().unwrap();
    session.erase(0x1000, EraseUnit::SubSector).unwrap();
    drop(session);
    fake.assert_nothing_held();
}
