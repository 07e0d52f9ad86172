//! What is behind the fake's capability: CR space, semaphores, ICMD.

use super::{Chip, expect, refuse};

/// The recovery space is kept with CR space, from here on.
const RECOVERY: u32 = 0xc000_0000;

impl Chip {
    pub(super) fn space_read(&mut self, space: u16, address: u32) -> u32 {
        match space {
            0x2 | 0x102 => self.cr_read(address),
            0x3 | 0x103 => {
                self.expect_icmd_semaphore(space, address);
                self.firmware.read(address)
            }
            0xa | 0x10a => *self.semaphore_of(space, address),
            0xc => self.cr_read(address | RECOVERY),
            _ => panic!("read of {address:#x} in space {space:#x}"),
        }
    }

    pub(super) fn space_write(&mut self, space: u16, address: u32, value: u32) {
        match space {
            0x2 | 0x102 => self.cr_write(address, value),
            0x3 | 0x103 => {
                self.expect_icmd_semaphore(space, address);
                self.firmware.write(space, address, value);
            }
            0xa | 0x10a => {
                let owner = self.semaphore_of(space, address);
                if *owner == 0 || value == 0 {
                    *owner = value;
                }
            }
            0xc => self.cr_write(address | RECOVERY, value),
            _ => refuse(&format!(
                "write of {value:#x} to {address:#x} in space {space:#x}"
            )),
        }
    }

    fn cr_read(&mut self, address: u32) -> u32 {
        if let Some(gateway) = &mut self.gateway
            && let Some(value) = gateway.read(address)
        {
            return value;
        }
        let register = self.cr.iter().find(|&&(at, _)| at == address);
        register
            .unwrap_or_else(|| panic!("read of CR {address:#x}"))
            .1
    }

    fn cr_write(&mut self, address: u32, value: u32) {
        if let Some(gateway) = &mut self.gateway
            && gateway.write(address, value)
        {
            return;
        }
        match self.cr.iter_mut().find(|(at, _)| *at == address) {
            Some(register) => register.1 = value,
            None => refuse(&format!("write of {value:#x} to CR {address:#x}")),
        }
    }

    fn semaphore_of(&mut self, space: u16, offset: u32) -> &mut u32 {
        let found = self
            .semaphores
            .iter_mut()
            .find(|(in_space, at, _)| *in_space == space && *at == offset);
        &mut found
            .unwrap_or_else(|| panic!("semaphore {space:#x}:{offset:#x}"))
            .2
    }

    /// Everything but the mailbox size is used with the semaphore only.
    fn expect_icmd_semaphore(&mut self, space: u16, address: u32) {
        let semaphores = if space == 0x3 { 0xa } else { 0x10a };
        let owner = *self.semaphore_of(semaphores, 0);
        expect(
            address == 0x1000 || owner != 0,
            "ICMD is used without its semaphore",
        );
    }
}
