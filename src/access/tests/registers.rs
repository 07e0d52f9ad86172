//! Access registers through ICMD.

use std::error::Error;

use super::super::fake::Fake;
use super::super::{
    Device, IcmdError, Method, RegisterError, post_register, read_register, read_register_head,
    write_register,
};
use super::opened;
use crate::registers::{Mcc, Mcda, Mgir, Register, mcc};

/// A device whose firmware answers every register with `answer`.
fn answering(
    answer: impl FnMut(u16, u32, &mut Vec<u8>) -> u32 + Send + 'static,
) -> (std::sync::Arc<Fake>, Device) {
    opened(|chip| chip.firmware.answer = Box::new(answer))
}

/// What went wrong below the register.
fn transport(error: RegisterError) -> IcmdError {
    match error {
        RegisterError::Transport { reason, .. } => *reason.downcast::<IcmdError>().unwrap(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_register_is_read_whole() {
    let (fake, device) = answering(|id, method, image| {
        assert_eq!((id, method, image.len()), (0x9020, 1, 0xa0));
        let mgir = Mgir {
            hw_dev_id: 0x20d,
            extended_major: 16,
            ..Mgir::default()
        };
        *image = mgir.encode();
        0
    });
    let mgir = read_register(device.registers().unwrap(), &Mgir::default()).unwrap();
    assert_eq!((mgir.hw_dev_id, mgir.extended_major), (0x20d, 16));
    fake.assert_nothing_held();
}

#[test]
fn a_block_of_data_costs_well_under_200_cycles() {
    let (fake, device) = answering(|id, method, image| {
        assert_eq!((id, method), (0x9063, 2));
        assert_eq!(&image[0x10..0x14], b"WFTM");
        0
    });
    let registers = device.registers().unwrap();
    let block = Mcda {
        update_handle: 1,
        offset: 0,
        data: b"MTFW".repeat(32),
    };
    post_register(registers, &block).unwrap();
    let before = fake.chip().cycles;
    post_register(registers, &block).unwrap();
    let cycles = fake.chip().cycles - before;
    assert!(cycles < 175, "{cycles}");
    fake.assert_nothing_held();
}

#[test]
fn the_head_of_an_answer_costs_less_and_leaves_the_rest_as_sent() {
    let (fake, device) = answering(|_, _, image| {
        image.fill(0x11);
        0
    });
    let registers = device.registers().unwrap();
    read_register(registers, &Mgir::default()).unwrap();
    let before = fake.chip().cycles;
    let head = read_register_head(registers, &Mgir::default(), 0x0c).unwrap();
    let short = fake.chip().cycles - before;
    let before = fake.chip().cycles;
    read_register(registers, &Mgir::default()).unwrap();
    assert_eq!(fake.chip().cycles - before - short, (40 - 3) * 3);
    assert_eq!((head.hw_dev_id, head.uptime), (0x1111, 0));
}

#[test]
fn busy_firmware_is_awaited_with_the_capability_let_go() {
    let (fake, device) = answering(|_, _, _| 0);
    fake.chip().firmware.busy_reads = 12;
    read_register(device.registers().unwrap(), &Mcc::default()).unwrap();
    fake.assert_nothing_held();
}

#[test]
fn firmware_that_never_answers_is_a_timeout_and_everything_is_freed() {
    let (fake, device) = answering(|_, _, _| 0);
    fake.chip().firmware.busy_reads = u32::MAX;
    let error = read_register(device.registers().unwrap(), &Mcc::default()).unwrap_err();
    assert!(matches!(
        transport(error),
        IcmdError::Timeout { opcode: 0x9001, .. }
    ));
    fake.assert_nothing_held();
}

#[test]
fn a_command_that_a_dead_process_left_under_way_is_let_end() {
    let (fake, device) = answering(|_, _, _| 0);
    fake.chip().firmware.be_busy(40);
    read_register(device.registers().unwrap(), &Mcc::default()).unwrap();
    fake.assert_nothing_held();
}

#[test]
fn a_busy_mailbox_is_an_error_and_the_semaphore_is_freed() {
    let (fake, device) = answering(|_, _, _| 0);
    fake.chip().firmware.be_busy(u32::MAX);
    let error = read_register(device.registers().unwrap(), &Mcc::default()).unwrap_err();
    assert!(matches!(transport(error), IcmdError::Busy { .. }));
    fake.assert_nothing_held();
}

#[test]
fn a_command_status_is_named_with_its_syndrome() {
    let (fake, device) = answering(|_, _, _| 0);
    fake.chip().firmware.status = 3;
    fake.chip().firmware.syndrome = 0x1234;
    let error = read_register(device.registers().unwrap(), &Mcc::default()).unwrap_err();
    assert_eq!(
        error.source().unwrap().to_string(),
        "0000:03:00.0: command 0x9001 failed with status 3 (operational error), syndrome 0x1234"
    );
    fake.assert_nothing_held();
}

#[test]
fn firmware_that_is_not_configured_is_not_disturbed() {
    let (fake, device) = answering(|_, _, _| 0);
    fake.chip().cr[1].1 = 1 << 31;
    let error = read_register(device.registers().unwrap(), &Mcc::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "register 0x9062: 0000:03:00.0: the firmware is not configured yet (CR 0xb5e04 bit 31 is \
         set)"
    );
    assert!(fake.chip().firmware.seen.is_empty());
    fake.assert_nothing_held();
}

#[test]
fn a_held_icmd_semaphore_is_an_error_with_its_owner_and_is_left_alone() {
    let (fake, device) = answering(|_, _, _| 0);
    fake.chip().semaphores[0].2 = 0x4d2;
    let error = read_register(device.registers().unwrap(), &Mcc::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "register 0x9062: 0000:03:00.0: the ICMD semaphore was held by token 0x4d2"
        ),
        "{text}"
    );
    assert_eq!(fake.chip().semaphores[0].2, 0x4d2);
    assert_eq!(fake.chip().semaphore, 0);
}

#[test]
fn the_firmwares_busy_is_retried_and_other_statuses_are_not() {
    let mut left = 2;
    let (fake, device) = answering(move |_, _, _| {
        left -= 1;
        u32::from(left >= 0)
    });
    write_register(device.registers().unwrap(), &Mcc::default()).unwrap();
    assert_eq!(fake.chip().firmware.seen.len(), 3);

    let (fake, device) = answering(|_, _, _| 1);
    let error = write_register(device.registers().unwrap(), &Mcc::default()).unwrap_err();
    assert_eq!(error.status(), Some(1));
    assert_eq!(fake.chip().firmware.seen.len(), 4);

    let (fake, device) = answering(|_, _, _| 8);
    let error = write_register(device.registers().unwrap(), &Mcc::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "register 0x9062 (Write): firmware answers status 0x08 (resource not available)"
    );
    assert_eq!(fake.chip().firmware.seen.len(), 1);
    fake.assert_nothing_held();
}

#[test]
fn a_register_the_firmware_lacks_is_asked_for_in_the_other_half_of_a_twin_device() {
    let (fake, device) = answering(|_, _, _| 4);
    let error = read_register(device.registers().unwrap(), &Mcc::default()).unwrap_err();
    assert!(error.is_unsupported());
    assert_eq!(fake.chip().firmware.seen, [(0x3, 0x9062)]);

    let mut asked = 0;
    let (fake, device) = opened(|chip| {
        chip.spaces
            .extend([(0x102, 0x200_0000), (0x103, 0x10_0400), (0x10a, 0x400)]);
        chip.semaphores.push((0x10a, 0, 0));
        chip.firmware.answer = Box::new(move |_, _, _| {
            asked += 1;
            if asked == 1 { 4 } else { 0 }
        });
    });
    read_register(device.registers().unwrap(), &Mcc::default()).unwrap();
    assert_eq!(fake.chip().firmware.seen, [(0x3, 0x9062), (0x103, 0x9062)]);
    fake.assert_nothing_held();
}

#[test]
fn an_answer_for_another_register_is_refused() {
    let (fake, device) = answering(|_, _, _| 0);
    fake.chip().firmware.wrong_echo = Some(0x9020);
    let error = read_register(device.registers().unwrap(), &Mcc::default()).unwrap_err();
    assert!(matches!(
        transport(error),
        IcmdError::Echo {
            expected: 0x9062,
            found: 0x9020,
            ..
        }
    ));
    fake.assert_nothing_held();
}

#[test]
fn an_image_that_does_not_fit_is_refused_before_anything_is_written() {
    let (fake, device) = answering(|_, _, _| 0);
    let registers = device.registers().unwrap();
    let mut image = vec![0; 0x340];
    let error = registers
        .send(0x9011, Method::Read, &mut image, 0)
        .unwrap_err();
    assert!(matches!(
        transport(error),
        IcmdError::TooLong {
            bytes: 0x354,
            limit: 0x340,
            ..
        }
    ));
    let error = registers
        .send(0x9011, Method::Read, &mut [0; 6], 6)
        .unwrap_err();
    assert!(matches!(
        transport(error),
        IcmdError::Ragged { bytes: 6, .. }
    ));
    assert!(fake.chip().firmware.seen.is_empty());
    fake.assert_nothing_held();
}

#[test]
fn a_mailbox_size_that_cannot_be_believed_is_replaced_by_the_usual() {
    for size in [0, u32::MAX - 1] {
        let (fake, device) = answering(|_, _, _| 0);
        fake.chip().firmware.mailbox_size = size;
        let registers = device.registers().unwrap();
        let mut image = vec![0; 812];
        registers.send(0x9011, Method::Read, &mut image, 0).unwrap();
        let mut image = vec![0; 816];
        assert!(registers.send(0x9011, Method::Read, &mut image, 0).is_err());
    }
}

#[test]
fn a_function_that_leaves_in_the_middle_of_a_register_is_gone_at_every_cycle() {
    let (fake, device) = answering(|_, _, _| 0);
    let registers = device.registers().unwrap();
    let request = Mcc {
        instruction: mcc::Instruction::LockUpdateHandle,
        ..Mcc::default()
    };
    write_register(registers, &request).unwrap();
    let before = fake.chip().cycles;
    write_register(registers, &request).unwrap();
    let cost = fake.chip().cycles - before;
    // the last cycle frees the semaphore: nobody hears that it failed
    for left in 0..cost - 1 {
        let now = fake.chip().cycles;
        fake.chip().faults.gone_after = Some(now + left);
        let error = transport(write_register(registers, &request).unwrap_err());
        let gone = matches!(&error, IcmdError::Access(error) if error.is_gone());
        assert!(gone, "after {left} cycles: {error}");
        // back on the bus, as after a hot reset
        let mut chip = fake.chip();
        chip.faults.gone_after = None;
        chip.semaphore = 0;
        chip.semaphores[0].2 = 0;
    }
    write_register(registers, &request).unwrap();
    fake.assert_nothing_held();
}

#[test]
fn threads_take_turns_at_the_mailbox() {
    let (fake, device) = answering(|id, _, _| {
        std::thread::yield_now();
        assert_eq!(id, 0x9062);
        0
    });
    let registers = device.registers().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    read_register(registers, &Mcc::default()).unwrap();
                }
            });
        }
    });
    assert_eq!(fake.chip().firmware.seen.len(), 40);
    fake.assert_nothing_held();
}
