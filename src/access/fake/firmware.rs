//! The fake's firmware: answers frames in the mailbox.

use crate::bytes::bits;

/// What a register answers: its image in and out, and the status.
pub type Answer = Box<dyn FnMut(u16, u32, &mut Vec<u8>) -> u32 + Send>;

/// The firmware and its mailbox.
pub struct Firmware {
    /// Mailbox size as reported.
    pub mailbox_size: u32,
    /// Reads of control that still show busy after a command.
    pub busy_reads: u32,
    /// ICMD status of the next command.
    pub status: u32,
    /// Syndrome.
    pub syndrome: u32,
    /// Register id in the answer, where it is not the one asked for.
    pub wrong_echo: Option<u16>,
    /// Answers registers: id, method code, image; returns the TLV status.
    pub answer: Answer,
    /// Registers that arrived: space, id.
    pub seen: Vec<(u16, u16)>,
    control: u32,
    busy: u32,
    mailbox: Vec<u32>,
}

impl Default for Firmware {
    fn default() -> Self {
        Self {
            mailbox_size: 0x340,
            busy_reads: 0,
            status: 0,
            syndrome: 0,
            wrong_echo: None,
            answer: Box::new(|id, _, _| panic!("register {id:#x}")),
            seen: Vec::new(),
            control: 0,
            busy: 0,
            mailbox: vec![0xdead_beef; 0x100],
        }
    }
}

impl Firmware {
    /// Makes the mailbox busy as a command of somebody else would, for so many reads of control.
    pub fn be_busy(&mut self, reads: u32) {
        self.busy = reads;
    }

    pub(super) fn read(&mut self, address: u32) -> u32 {
        match address {
            0x0 => {
                let busy = u32::from(self.busy > 0);
                self.busy = self.busy.saturating_sub(1);
                self.control | busy
            }
            0x1000 => self.mailbox_size,
            0x1008 => self.syndrome,
            0x10_0000.. => self.mailbox[usize::try_from(address - 0x10_0000).unwrap() / 4],
            _ => panic!("read of ICMD {address:#x}"),
        }
    }

    pub(super) fn write(&mut self, space: u16, address: u32, value: u32) {
        match address {
            0x0 => {
                self.control = value & !1;
                if value & 1 == 1 {
                    assert_eq!(self.busy, 0, "a command is started while one is under way");
                    self.run(space, value >> 16);
                }
            }
            0x10_0000.. => {
                self.mailbox[usize::try_from(address - 0x10_0000).unwrap() / 4] = value;
            }
            _ => panic!("write of {value:#x} to ICMD {address:#x}"),
        }
    }

    fn run(&mut self, space: u16, opcode: u32) {
        assert_eq!(opcode, 0x9001, "access register");
        self.busy = self.busy_reads;
        self.control |= self.status << 8;
        if self.status != 0 {
            return;
        }
        let id = u16::try_from(self.mailbox[1] >> 16).unwrap();
        self.seen.push((space, id));
        assert_eq!(self.mailbox[0], 0x0804_0000, "operation TLV");
        assert_eq!(bits(self.mailbox[1], 7, 0), 1, "register class");
        assert_eq!(bits(self.mailbox[4], 31, 27), 3, "register TLV");
        let dwords = usize::try_from(bits(self.mailbox[4], 26, 16)).unwrap() - 1;
        let mut image: Vec<u8> = self.mailbox[5..5 + dwords]
            .iter()
            .flat_map(|dword| dword.to_be_bytes())
            .collect();
        let status = (self.answer)(id, bits(self.mailbox[1], 14, 8), &mut image);
        for (dword, bytes) in self.mailbox[5..].iter_mut().zip(image.chunks_exact(4)) {
            *dword = u32::from_be_bytes(bytes.try_into().unwrap());
        }
        self.mailbox[0] |= status << 8;
        let echo = self.wrong_echo.unwrap_or(id);
        self.mailbox[1] = u32::from(echo) << 16 | 0x8101;
    }
}
