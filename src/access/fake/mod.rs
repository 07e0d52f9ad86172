//! A chip for tests that fails on the unexpected: capability registers used without the
//! semaphore, tickets never issued, unknown addresses, a mailbox used without its semaphore all
//! end the test at the place that did it.

mod firmware;
mod flash_gateway;
mod flash_part;
mod inside;

pub use firmware::Firmware;
pub use flash_gateway::FakeGateway;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bytes::{bits, with_bits};
use crate::pci::{ConfigError, ConfigSpace};

/// Where the capability is.
pub const VSEC: u16 = 0xc0;
/// The owner of semaphores that others hold in tests.
pub const STRANGER: u32 = 0x57a6_0000;

const FLAG: u32 = 1 << 31;
const SYNDROME: u32 = 1 << 30;

/// Ends the test. Not while it ends already: clean-up on the way out must run to its end.
fn refuse(complaint: &str) {
    assert!(std::thread::panicking(), "{complaint}");
}

/// [`refuse`]s unless `rule` holds.
fn expect(rule: bool, complaint: &str) {
    if !rule {
        refuse(complaint);
    }
}

/// What a test makes go wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// The function leaves the bus when this many cycles were done.
    pub gone_after: Option<u64>,
    /// The address flag does not change in the first this many reads.
    pub slow_flag: u32,
    /// A stranger holds the capability semaphore for this many reads of it.
    pub stranger_reads: u32,
    /// A stranger takes the semaphore between our read and our write, this many times.
    pub lost_races: u32,
}

/// State of the chip, open for tests to look at and set up.
pub struct Chip {
    /// Fixed dwords of configuration space.
    pub config: [u32; 64],
    /// Space numbers there are, each with the end of its addresses.
    pub spaces: Vec<(u16, u32)>,
    /// Faults.
    pub faults: Faults,
    /// CR space: address and value of every register there is.
    pub cr: Vec<(u32, u32)>,
    /// Semaphores of spaces 0xa and 0x10a: space, offset, owner.
    pub semaphores: Vec<(u16, u32, u32)>,
    /// The firmware behind ICMD.
    pub firmware: Firmware,
    /// The flash gateway in CR space.
    pub gateway: Option<FakeGateway>,
    /// Config cycles so far.
    pub cycles: u64,
    /// Semaphore, owner's ticket.
    pub semaphore: u32,
    /// Every space that was selected, in order.
    pub selections: Vec<u16>,
    /// The legacy gateway reads as the write-only kind; `None` = no gateway at all.
    pub legacy: Option<bool>,
    legacy_address: u32,
    counter: u32,
    issued: u32,
    space: u16,
    syndrome: u32,
    address: u32,
    data: u32,
    flag_reads: u32,
}

/// The configuration space of the fake.
pub struct Fake(Mutex<Chip>);

impl Fake {
    /// A ConnectX-5 with the spaces of one, changed by `setup`.
    pub fn new(setup: impl FnOnce(&mut Chip)) -> Arc<Self> {
        let mut config = [0; 64];
        config[0] = 0x1017_15b3;
        config[1] = 0x0010_0406;
        config[0x34 / 4] = 0x60;
        config[0x60 / 4] = u32::from(VSEC) << 8 | 0x10;
        config[usize::from(VSEC / 4)] = 0x0018_0009;
        let mut chip = Chip {
            config,
            spaces: vec![
                (0x1, 0x1000),
                (0x2, 0x200_0000),
                (0x3, 0x10_0400),
                (0xa, 0x400),
            ],
            faults: Faults::default(),
            cr: vec![(0xf_0014, 0x0000_020d), (0xb_5e04, 0)],
            semaphores: vec![(0xa, 0x0, 0), (0xa, 0x10, 0)],
            firmware: Firmware::default(),
            gateway: None,
            cycles: 0,
            semaphore: 0,
            selections: Vec::new(),
            legacy: None,
            legacy_address: 0,
            counter: 0x100,
            issued: 0,
            space: 0,
            syndrome: 0,
            address: 0,
            data: 0,
            flag_reads: 0,
        };
        setup(&mut chip);
        Arc::new(Self(Mutex::new(chip)))
    }

    /// The chip.
    pub fn chip(&self) -> MutexGuard<'_, Chip> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No semaphore of the chip is held.
    pub fn assert_nothing_held(&self) {
        let chip = self.chip();
        assert_eq!(chip.semaphore, 0, "the capability semaphore is held");
        for &(space, offset, owner) in &chip.semaphores {
            assert_eq!(owner, 0, "semaphore {space:#x}:{offset:#x} is held");
        }
        if let Some(gateway) = &chip.gateway {
            gateway.assert_free();
        }
    }
}

impl ConfigSpace for Fake {
    fn read(&self, offset: u16) -> Result<u32, ConfigError> {
        let mut chip = self.chip();
        if chip.cycle() {
            return Ok(u32::MAX);
        }
        Ok(chip.config_read(offset))
    }

    fn write(&self, offset: u16, value: u32) -> Result<(), ConfigError> {
        let mut chip = self.chip();
        if !chip.cycle() {
            chip.config_write(offset, value);
        }
        Ok(())
    }

    fn device(&self) -> String {
        "0000:03:00.0".to_owned()
    }
}

impl Chip {
    /// Counts a cycle; true when the function is gone.
    fn cycle(&mut self) -> bool {
        self.cycles += 1;
        self.faults
            .gone_after
            .is_some_and(|last| self.cycles > last)
    }

    fn has_vsec(&self) -> bool {
        self.config[usize::from(VSEC / 4)] & 0xff == 0x09
    }

    fn config_read(&mut self, offset: u16) -> u32 {
        match offset {
            0x58 | 0x5c if self.legacy.is_some() => self.legacy_read(offset),
            0xc4..=0xd4 if self.has_vsec() => self.vsec_read(offset - VSEC),
            _ => self.config[usize::from(offset / 4)],
        }
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        match offset {
            0x58 | 0x5c if self.legacy.is_some() => self.legacy_write(offset, value),
            0xc4..=0xd4 if self.has_vsec() => self.vsec_write(offset - VSEC, value),
            _ => refuse(&format!("write of {value:#x} to config {offset:#x}")),
        }
    }

    fn vsec_read(&mut self, register: u16) -> u32 {
        match register {
            0x04 => {
                self.expect_owner();
                let there = self.spaces.iter().any(|&(number, _)| number == self.space);
                u32::from(self.space) | self.syndrome << 24 | u32::from(there) << 29
            }
            0x08 => {
                self.counter += 1;
                self.counter
            }
            0x0c => {
                if self.semaphore == STRANGER {
                    if self.faults.stranger_reads == 0 {
                        self.semaphore = 0;
                    } else {
                        self.faults.stranger_reads -= 1;
                    }
                }
                self.semaphore
            }
            0x10 => {
                self.expect_owner();
                if self.flag_reads > 0 {
                    self.flag_reads -= 1;
                    return self.address ^ FLAG;
                }
                self.address
            }
            0x14 => {
                self.expect_owner();
                self.data
            }
            _ => panic!("read of capability register {register:#x}"),
        }
    }

    fn vsec_write(&mut self, register: u16, value: u32) {
        match register {
            0x0c => self.write_semaphore(value),
            0x04 => {
                self.expect_owner();
                let known = [0x1, 0x2, 0x3, 0xa, 0xc, 0x102, 0x103, 0x10a];
                let number = u16::try_from(bits(value, 15, 0)).unwrap();
                assert!(known.contains(&number), "space {number:#x} selected");
                self.selections.push(number);
                self.space = number;
            }
            0x14 => {
                self.expect_owner();
                self.data = value;
            }
            0x10 => {
                self.expect_owner();
                self.transfer(value);
            }
            _ => refuse(&format!(
                "write of {value:#x} to capability register {register:#x}"
            )),
        }
    }

    fn write_semaphore(&mut self, value: u32) {
        if value == 0 {
            self.semaphore = 0;
        } else {
            expect(value == self.counter, "a ticket that was never issued");
            if self.faults.lost_races > 0 {
                self.faults.lost_races -= 1;
                self.faults.stranger_reads = 2;
                self.semaphore = STRANGER;
            } else if self.semaphore == 0 {
                self.semaphore = value;
                self.issued = value;
            }
        }
    }

    fn expect_owner(&self) {
        expect(
            self.semaphore != 0 && self.semaphore == self.issued,
            "a capability register is used without the semaphore",
        );
    }

    fn transfer(&mut self, value: u32) {
        let address = bits(value, 29, 0);
        let write = value & FLAG != 0;
        let end = self
            .spaces
            .iter()
            .find(|&&(number, _)| number == self.space)
            .map(|&(_, end)| end)
            .expect("an access to a space that is not there");
        self.flag_reads = self.faults.slow_flag;
        self.address = with_bits(value, 31, 31, u32::from(!write));
        if address >= end {
            self.syndrome = 3;
            self.address |= SYNDROME;
            return;
        }
        self.syndrome = 0;
        if write {
            self.space_write(self.space, address, self.data);
        } else {
            self.data = self.space_read(self.space, address);
        }
    }

    fn legacy_read(&mut self, offset: u16) -> u32 {
        let write_only = self.legacy.unwrap_or_default();
        match offset {
            0x58 if write_only => 0xbada_cce5,
            0x58 => self.legacy_address,
            _ => {
                let address = self.legacy_address;
                assert_eq!(address & 1 == 1, write_only, "a read is asked for wrongly");
                self.space_read(2, address & !1)
            }
        }
    }

    fn legacy_write(&mut self, offset: u16, value: u32) {
        let write_only = self.legacy.unwrap_or_default();
        match (offset, write_only) {
            (0x58, true) if value & 1 == 0 && value != 0xf_0014 => {
                self.space_write(2, value, self.data);
            }
            (0x58, _) => self.legacy_address = value,
            (_, true) => self.data = value,
            (_, false) => self.space_write(2, self.legacy_address, value),
        }
    }
}
