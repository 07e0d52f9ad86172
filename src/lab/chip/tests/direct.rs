//! The flash gateway of ConnectX-4 and later, and the manners of NOR flash.

use super::client::CR;
use super::*;

pub const BUSY_AND_LOCK: u32 = 0xc000_0000;
pub const READ: u32 = 1;
pub const COMMAND: u32 = 1 << 2;
pub const ADDRESS: u32 = 1 << 3;
pub const DATA: u32 = 1 << 4;
pub const HOLD: u32 = 1 << 5;

/// A programmer that works through one generation of the gateway.
pub struct Gateway {
    pub client: Client,
    command: u32,
    address: u32,
    data: u32,
    shift: u32,
    /// Where the number of bytes goes.
    size: fn(&Client, u32) -> u32,
}

impl Gateway {
    pub fn old(card: &Card) -> Self {
        Self {
            client: card.client(),
            command: 0xf_0400,
            address: 0xf_0404,
            data: 0xf_0410,
            shift: 0,
            size: |_, bytes| bytes.ilog2() << 8,
        }
    }

    pub fn sixth(card: &Card) -> Self {
        Self {
            address: 0xf_0420,
            size: |_, bytes| bytes << 8,
            ..Self::old(card)
        }
    }

    pub fn seventh(card: &Card) -> Self {
        Self {
            client: card.client(),
            command: 0x8a_1000,
            address: 0x8a_103c,
            data: 0x8a_1010,
            shift: 5,
            size: |client, bytes| {
                client.write(CR, 0x8a_1044, bytes);
                0
            },
        }
    }

    pub fn lock(&self) {
        assert_eq!(self.client.read(CR, self.command) >> 31, 0);
        assert_eq!(self.client.read(CR, self.command) >> 31, 1);
    }

    pub fn unlock(&self) {
        self.client.write(CR, self.command, 0);
    }

    pub fn beat(&self, opcode: u32, phases: u32, bytes: u32) {
        let size = if phases & DATA == 0 {
            0
        } else {
            (self.size)(&self.client, bytes)
        };
        let command = BUSY_AND_LOCK | (opcode << 16) | size | (phases << self.shift);
        self.client.write(CR, self.command, command);
        assert_eq!(self.client.read(CR, self.command) >> 30, 2, "done, locked");
    }

    pub fn set_address(&self, address: u32) {
        self.client.write(CR, self.address, address);
    }

    pub fn take(&self, bytes: usize) -> Vec<u8> {
        let dwords = (0..4).map(|index| self.client.read(CR, self.data + index * 4));
        dwords.flat_map(u32::to_be_bytes).take(bytes).collect()
    }

    pub fn give(&self, bytes: &[u8; 16]) {
        for (index, dword) in (0..).zip(bytes.chunks_exact(4)) {
            let value = u32::from_be_bytes(dword.try_into().unwrap());
            self.client.write(CR, self.data + index * 4, value);
        }
    }

    pub fn read(&self, address: u32) -> Vec<u8> {
        self.set_address(address);
        self.beat(0x03, READ | COMMAND | ADDRESS | DATA, 16);
        self.take(16)
    }

    pub fn status(&self) -> u8 {
        self.beat(0x05, READ | COMMAND | DATA, 1);
        self.take(1)[0]
    }

    pub fn wait(&self) {
        let mut polls = 0;
        while self.status() & 1 != 0 {
            polls += 1;
        }
        assert!(polls > 0, "the part is busy for a while");
    }

    pub fn write_enable(&self) {
        self.beat(0x06, COMMAND, 0);
    }

    /// Programs beats of 16 bytes with chip select held between them.
    pub fn program(&self, address: u32, beats: &[[u8; 16]]) {
        self.set_address(address);
        for (index, beat) in beats.iter().enumerate() {
            self.give(beat);
            let first = if index == 0 { COMMAND | ADDRESS } else { 0 };
            let held = if index + 1 == beats.len() { 0 } else { HOLD };
            self.beat(0x02, DATA | first | held, 16);
        }
    }

    pub fn erase(&self, opcode: u32, address: u32) {
        self.set_address(address);
        self.beat(opcode, COMMAND | ADDRESS, 0);
    }
}

/// Card in recovery: nothing runs from flash.
pub fn recovered(hw_id: u16) -> Card {
    let card = Card::blank(chip_spec(hw_id));
    card.chip.boot().unwrap();
    card
}

fn programs_erases_and_reads(card: &Card, gateway: &Gateway) {
    gateway.lock();
    gateway.beat(0x9f, READ | COMMAND | DATA, 4);
    assert_eq!(gateway.take(3), [0xef, 0x40, 0x18]);
    gateway.write_enable();
    assert_eq!(gateway.status(), 2);
    let beats: Vec<[u8; 16]> = (0..16).map(|beat| [beat; 16]).collect();
    gateway.program(0x1_0000, &beats);
    gateway.wait();
    assert_eq!(gateway.status(), 0, "the write enable is used up");
    assert_eq!(card.chip.read_flash(0x1_0000, 256).unwrap(), beats.concat());
    assert_eq!(gateway.read(0x1_0010), [1; 16]);
    // chip select held: the address goes on
    gateway.set_address(0x1_0020);
    gateway.beat(0x03, READ | COMMAND | ADDRESS | DATA | HOLD, 16);
    gateway.beat(0x03, READ | DATA, 16);
    assert_eq!(gateway.take(16), [3; 16]);
    gateway.write_enable();
    gateway.erase(0x20, 0x1_0000);
    gateway.wait();
    assert_eq!(gateway.read(0x1_0010), [0xff; 16]);
    card.assert_no_violation();
    gateway.unlock();
    gateway.lock();
    assert_eq!(card.chip.counters().flash_erases, 1);
    assert_eq!(card.chip.counters().flash_programs, 1);
}

#[test]
fn every_generation_programs_erases_and_reads() {
    let card = recovered(CONNECTX_5);
    programs_erases_and_reads(&card, &Gateway::old(&card));
    let card = recovered(0x218);
    programs_erases_and_reads(&card, &Gateway::sixth(&card));
    let card = recovered(0x21e);
    programs_erases_and_reads(&card, &Gateway::seventh(&card));
}

#[test]
fn a_locked_gateway_looks_locked_to_others() {
    let card = recovered(CONNECTX_5);
    let gateway = Gateway::old(&card);
    gateway.lock();
    let other = Client::new(card.chip.function(0).unwrap());
    assert_eq!(other.read(CR, 0xf_0400) >> 31, 1);
    gateway.unlock();
    assert_eq!(other.read(CR, 0xf_0400) >> 31, 0);
}

#[test]
fn bad_manners_are_noticed() {
    let card = recovered(CONNECTX_5);
    let gateway = Gateway::old(&card);
    // no lock
    gateway
        .client
        .write(CR, 0xf_0400, BUSY_AND_LOCK | (0x06 << 16) | COMMAND);
    assert_eq!(card.chip.violations().no_gateway_lock, 1);
    card.chip.boot().unwrap();
    gateway.lock();
    // no write enable: nothing happens
    gateway.program(0, &[[0; 16]]);
    gateway.erase(0xd8, 0);
    assert_eq!(card.chip.violations().no_write_enable, 2);
    assert_eq!(gateway.read(0), [0xff; 16]);
    // over the end of the page: the rest goes to its start
    gateway.write_enable();
    gateway.program(0x1f8, &[[0xa5; 16]]);
    gateway.wait();
    assert_eq!(card.chip.violations().page_wrap, 1);
    assert_eq!(
        card.chip.read_flash(0x100, 9).unwrap(),
        [0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xff]
    );
    // ones cannot be programmed
    gateway.write_enable();
    gateway.program(0x100, &[[0x5a; 16]]);
    gateway.wait();
    assert_eq!(card.chip.violations().needs_erase, 1);
    assert_eq!(card.chip.read_flash(0x100, 1).unwrap(), [0]);
    // not the start of a sector
    gateway.write_enable();
    gateway.erase(0xd8, 0x1000);
    gateway.wait();
    assert_eq!(card.chip.violations().unaligned_erase, 1);
    assert_eq!(gateway.read(0x100), [0xff; 16]);
}

#[test]
fn a_busy_part_hears_nothing_but_status_reads() {
    let card = recovered(CONNECTX_5);
    let gateway = Gateway::old(&card);
    gateway.lock();
    gateway.write_enable();
    gateway.program(0, &[[0x11; 16]]);
    assert_eq!(gateway.read(0), [0xff; 16]);
    gateway.wait();
    assert_eq!(gateway.read(0), [0x11; 16]);
}

#[test]
fn unknown_commands_answer_ones_and_status_cannot_be_set() {
    let card = recovered(CONNECTX_5);
    let gateway = Gateway::old(&card);
    gateway.lock();
    gateway.beat(0x5a, READ | COMMAND | DATA, 16);
    assert_eq!(gateway.take(16), [0xff; 16]);
    gateway.beat(0x35, READ | COMMAND | DATA, 1);
    assert_eq!(gateway.take(1), [0]);
    gateway.beat(0x01, COMMAND | DATA, 1);
    assert_eq!(card.chip.violations().no_write_enable, 1);
    gateway.write_enable();
    gateway.beat(0x04, COMMAND, 0);
    assert_eq!(gateway.status(), 0);
}

#[test]
fn four_byte_addresses_reach_beyond_sixteen_megabytes() {
    let mut spec = chip_spec(CONNECTX_6_DX);
    spec.flash_size = 0x200_0000;
    let card = Card::blank(spec);
    card.chip.boot().unwrap();
    card.chip.write_flash(0x100_0000, &[0x42; 16]).unwrap();
    let gateway = Gateway::old(&card);
    gateway.lock();
    assert_eq!(gateway.read(0x100_0000), [0xff; 16], "three bytes wrap");
    gateway.set_address(0x100_0000);
    gateway.beat(0x13, READ | COMMAND | ADDRESS | DATA | (1 << 14), 16);
    assert_eq!(gateway.take(16), [0x42; 16]);
}

#[test]
fn firmware_that_runs_from_flash_wants_its_cache_stopped() {
    let card = connectx_5();
    let gateway = Gateway::old(&card);
    gateway.lock();
    gateway.read(0);
    assert_eq!(card.chip.violations().cache_replacement_on, 1);
    gateway.client.write(CR, 0xf_0420, 0);
    assert_eq!(gateway.read(0), card.chip.read_flash(0, 16).unwrap());
    assert_eq!(card.chip.violations().cache_replacement_on, 1);
}

#[test]
fn a_secure_card_shows_zeros() {
    let card = connectx_6_dx();
    let gateway = Gateway::old(&card);
    gateway.lock();
    gateway.client.write(CR, 0xf_0420, 0);
    assert_eq!(gateway.read(0), [0; 16]);
    gateway.write_enable();
    gateway.program(0x80_0000, &[[0; 16]]);
    assert_eq!(card.chip.read_flash(0x80_0000, 1).unwrap(), [0xff]);
}
