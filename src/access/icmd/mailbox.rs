//! One command in the mailbox, under its semaphore.

use std::time::Instant;

use super::{Half, Icmd, IcmdError, MAILBOX};
use crate::access::error::AccessError;
use crate::access::patience::TIGHT_BUSY_POLLS;
use crate::access::vsec::Session;
use crate::bytes::{bits, with_bits};

/// Busy `[0]`, status `[15:8]`, opcode `[31:16]`.
const CONTROL: u32 = 0x0;
const SYNDROME: u32 = 0x1008;

const BUSY: u32 = 1;

/// Looks at the busy bit while the command of a process that died comes to its end: about 1 s.
const PREDECESSOR_POLLS: u32 = 128;

/// The mailbox, its semaphore held.
pub(super) struct Mailbox<'a> {
    icmd: &'a Icmd,
    session: Session<'a>,
    half: Half,
    held: bool,
}

impl<'a> Mailbox<'a> {
    /// Takes the semaphore of the mailbox.
    pub fn take(icmd: &'a Icmd, half: Half, mut session: Session<'a>) -> Result<Self, AccessError> {
        half.semaphore.take(&mut session, &icmd.vsec, icmd.token)?;
        Ok(Self {
            icmd,
            session,
            half,
            held: true,
        })
    }

    /// Reads dwords from an address of the ICMD space on.
    pub fn read(&mut self, address: u32, dwords: &mut [u32]) -> Result<(), AccessError> {
        self.session.read_block(self.half.mailbox, address, dwords)
    }

    fn control(&mut self) -> Result<u32, AccessError> {
        self.session.read(self.half.mailbox, CONTROL)
    }

    /// Steps 4 to 7. A command that a process left under way when it died comes to its end first:
    /// its semaphore is free, its mailbox is not.
    pub fn submit(&mut self, opcode: u32, request: &[u32]) -> Result<(), IcmdError> {
        match self.try_submit(opcode, request) {
            Err(IcmdError::Busy { .. }) if self.idles()? => self.try_submit(opcode, request),
            result => result,
        }
    }

    /// Whether the mailbox comes free.
    fn idles(&mut self) -> Result<bool, AccessError> {
        let pause = self.icmd.vsec.patience().busy_pause;
        for _ in 0..PREDECESSOR_POLLS {
            self.session.rest(pause)?;
            if self.control()? & BUSY == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Opcode, mailbox, and busy set if nobody else did.
    fn try_submit(&mut self, opcode: u32, request: &[u32]) -> Result<(), IcmdError> {
        let command = opcode << 16;
        self.session.write(self.half.mailbox, CONTROL, command)?;
        self.session
            .write_block(self.half.mailbox, MAILBOX, request)?;
        let control = self.control()?;
        if control & BUSY != 0 {
            return Err(IcmdError::Busy {
                device: self.icmd.vsec.device(),
            });
        }
        let found = bits(control, 31, 16);
        if found != opcode {
            return Err(IcmdError::Disturbed {
                device: self.icmd.vsec.device(),
                expected: opcode,
                found,
            });
        }
        self.session
            .write(self.half.mailbox, CONTROL, with_bits(command, 0, 0, BUSY))?;
        Ok(())
    }

    /// Steps 8 and 9: a few tight reads, then with growing pauses in which others may use the
    /// capability.
    pub fn await_answer(&mut self, opcode: u32) -> Result<(), IcmdError> {
        let patience = *self.icmd.vsec.patience();
        let start = Instant::now();
        let mut pause = patience.busy_pause / 8;
        for poll in 0..TIGHT_BUSY_POLLS + patience.busy_polls {
            if poll >= TIGHT_BUSY_POLLS {
                self.session.rest(pause)?;
                pause = (pause * 2).min(patience.busy_pause);
            }
            let control = self.control()?;
            if control & BUSY == 0 {
                return self.check_status(opcode, control);
            }
        }
        Err(IcmdError::Timeout {
            device: self.icmd.vsec.device(),
            opcode,
            waited: start.elapsed(),
        })
    }

    fn check_status(&mut self, opcode: u32, control: u32) -> Result<(), IcmdError> {
        let status = bits(control, 15, 8);
        if status == 0 {
            return Ok(());
        }
        Err(IcmdError::Status {
            device: self.icmd.vsec.device(),
            opcode,
            status,
            syndrome: self.session.read(self.half.mailbox, SYNDROME)?,
        })
    }

    /// Frees the semaphore. Dropping does the same, without saying whether it worked.
    pub fn finish(mut self) -> Result<(), AccessError> {
        self.held = false;
        self.half.semaphore.free(&mut self.session)
    }
}

impl Drop for Mailbox<'_> {
    fn drop(&mut self) {
        if !self.held {
            return;
        }
        if let Err(error) = self.half.semaphore.free(&mut self.session) {
            error.log_unreleased("ICMD semaphore");
        }
    }
}
