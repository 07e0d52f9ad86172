//! ConnectX-3: no capability, CR space behind config 0x58, flash semaphore, no ICMD.

use super::*;

struct Legacy(Client);

impl Legacy {
    fn read(&self, address: u32) -> u32 {
        self.0.set_config(0x58, address);
        self.0.config(0x5c)
    }

    fn write(&self, address: u32, value: u32) {
        self.0.set_config(0x58, address);
        self.0.set_config(0x5c, value);
    }
}

#[test]
fn cr_space_is_behind_the_old_gateway() {
    let card = connectx_3();
    let cr = Legacy(card.client());
    assert_eq!(cr.0.config(0), 0x1003_15b3);
    assert_eq!(cr.read(0xf_0014), 0x1f5);
    assert_eq!(cr.0.config(0x58), 0xf_0014);
    cr.write(0xf_0380, 0);
    assert_eq!(cr.read(0xf_0380), 0);
    // no vendor-specific capability where later chips have it
    assert_eq!(cr.0.config(0xc0), 0);
    card.assert_no_violation();
}

#[test]
fn in_recovery_the_id_is_one_above_the_hardware_id() {
    let card = Card::blank(chip_spec(CONNECTX_3));
    card.chip.boot().unwrap();
    let cr = Legacy(card.client());
    assert_eq!(cr.0.config(0), 0x01f6_15b3);
    assert_eq!(cr.read(0xf_0014), 0x1f5);
}

#[test]
fn reading_a_free_semaphore_takes_it() {
    let card = connectx_3();
    let cr = Legacy(card.client());
    for semaphore in [0xf_03bc, 0xf_03a0, 0xf_03fc] {
        assert_eq!(cr.read(semaphore), 0);
        assert_eq!(cr.read(semaphore), 1);
        cr.write(semaphore, 0);
        assert_eq!(cr.read(semaphore), 0);
    }
}

#[test]
fn tools_commands_are_refused() {
    let card = connectx_3();
    let cr = Legacy(card.client());
    cr.write(0x8_0798, (1 << 23) | 0x3b);
    assert_eq!(cr.read(0x8_0798), (2 << 24) | 0x3b);
}

#[test]
fn flash_is_read_under_its_semaphore() {
    let card = connectx_3();
    let cr = Legacy(card.client());
    let beat = |address: u32| {
        cr.write(0xf_0404, address);
        // read, all phases, 16 bytes, flash enable
        cr.write(
            0xf_0400,
            0x4000_0000 | (0x03 << 16) | (1 << 13) | (4 << 8) | 0x1d,
        );
        assert_eq!(cr.read(0xf_0400) & 0x4000_0000, 0);
        let data: Vec<u8> = (0..4)
            .flat_map(|index| cr.read(0xf_0410 + index * 4).to_be_bytes())
            .collect();
        data
    };
    assert_eq!(cr.read(0xf_03fc), 0);
    assert_eq!(beat(0x20), card.chip.read_flash(0x20, 16).unwrap());
    card.assert_no_violation();
    cr.write(0xf_03fc, 0);
    beat(0);
    assert_eq!(card.chip.violations().no_gateway_lock, 1);
    assert_eq!(card.chip.counters().gateway_commands, 2);
}
