//! Registers sent by somebody who can wait: while the firmware has no room for one (status 8), it
//! is sent again a little later, a bounded number of times (burn 7.3). A user in a hurry
//! gets the answer as it is.

use crate::access::{Method, RegisterAccess, RegisterError, Way};
use crate::flash::cancel::Cancel;

use super::pacing::Pacing;

/// Register status "resource not available".
pub(super) const NOT_AVAILABLE: u8 = 0x08;

/// A way to the registers that repeats what found no room.
pub(super) struct Patient<'a> {
    registers: &'a dyn RegisterAccess,
    pacing: &'a Pacing,
    cancel: &'a Cancel,
}

impl<'a> Patient<'a> {
    pub(super) const fn new(
        registers: &'a dyn RegisterAccess,
        pacing: &'a Pacing,
        cancel: &'a Cancel,
    ) -> Self {
        Self {
            registers,
            pacing,
            cancel,
        }
    }
}

impl RegisterAccess for Patient<'_> {
    fn send(
        &self,
        id: u16,
        method: Method,
        image: &mut [u8],
        reply: usize,
    ) -> Result<(), RegisterError> {
        let mut left = self.pacing.retries;
        loop {
            match self.registers.send(id, method, image, reply) {
                Err(error)
                    if error.status() == Some(NOT_AVAILABLE)
                        && left > 0
                        && !self.cancel.urged() =>
                {
                    left -= 1;
                    std::thread::sleep(self.pacing.retry);
                }
                result => return result,
            }
        }
    }

    fn way(&self) -> Way {
        self.registers.way()
    }
}
