//! The semaphores of space 0xa: ICMD at 0x0, flash programming at 0x10 (device-access 2.3).
//!
//! A token that is written while the semaphore is free stays; whoever reads the own token back
//! owns it. The token is random, not the process id: those are equal in two containers, and
//! on two hosts of one card (burn 11.1).

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::claims::Slot;
use super::error::AccessError;
use super::gate;
use super::space::Space;
use super::stuck::ChipLock;
use super::vsec::{Session, Vsec};

/// A semaphore of the semaphore space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Semaphore {
    /// Which lock of the chip it is.
    pub lock: ChipLock,
    /// Space it lies in.
    pub space: Space,
    /// Byte offset in the space.
    pub offset: u32,
}

impl Semaphore {
    /// Around every ICMD command.
    pub const ICMD: Self = Self {
        lock: ChipLock::Icmd,
        space: Space::Semaphores,
        offset: 0x0,
    };
    /// Around the programming of flash, between tools.
    pub const FLASH: Self = Self {
        lock: ChipLock::Flash,
        space: Space::Semaphores,
        offset: 0x10,
    };

    /// Takes the semaphore; the session rests between the attempts.
    pub fn take(
        self,
        session: &mut Session<'_>,
        vsec: &Vsec,
        token: u32,
    ) -> Result<(), AccessError> {
        let patience = vsec.patience();
        let start = Instant::now();
        if let Some(claims) = vsec.claims() {
            claims.record(Slot::Token, token)?;
        }
        let mut owner = 0;
        for attempt in 0..patience.token_tries {
            if attempt > 0 {
                session.rest(random_below(patience.token_pause))?;
            }
            session.write(self.space, self.offset, token)?;
            owner = session.read(self.space, self.offset)?;
            if owner == token {
                return Ok(());
            }
            if gate::is_closed() {
                break;
            }
            self.free_abandoned(session, vsec, owner)?;
        }
        Err(AccessError::TokenHeld {
            device: vsec.device(),
            lock: self.lock,
            owner,
            process: vsec.owner(Slot::Token, owner),
            waited: start.elapsed(),
        })
    }

    fn free_abandoned(
        self,
        session: &mut Session<'_>,
        vsec: &Vsec,
        owner: u32,
    ) -> Result<(), AccessError> {
        let Some(claims) = vsec.claims() else {
            return Ok(());
        };
        let Some(_dead) = claims.abandoned(Slot::Token, owner)? else {
            return Ok(());
        };
        if session.read(self.space, self.offset)? == owner {
            log::warn!(
                "{}: freeing the {} of a dead process (token {owner:#x})",
                vsec.device(),
                self.lock
            );
            session.write(self.space, self.offset, 0)?;
        }
        Ok(())
    }

    /// Frees the semaphore.
    pub fn free(self, session: &mut Session<'_>) -> Result<(), AccessError> {
        session.write(self.space, self.offset, 0)
    }
}

/// The flash programming semaphore, held until dropped.
#[derive(Debug)]
pub struct FlashSemaphore {
    vsec: Arc<Vsec>,
}

impl FlashSemaphore {
    /// Takes it.
    ///
    /// # Errors
    /// [`AccessError::TokenHeld`] when another tool programs the flash,
    /// [`AccessError::UnsupportedSpace`] where the chip has no such semaphore.
    pub(super) fn take(vsec: &Arc<Vsec>, token: u32) -> Result<Self, AccessError> {
        let mut session = vsec.hold()?;
        Semaphore::FLASH.take(&mut session, vsec, token)?;
        Ok(Self { vsec: vsec.clone() })
    }
}

impl Drop for FlashSemaphore {
    fn drop(&mut self) {
        let freed = self
            .vsec
            .hold()
            .and_then(|mut session| Semaphore::FLASH.free(&mut session));
        if let Err(error) = freed {
            error.log_unreleased("flash semaphore");
        }
    }
}

/// A random number that is not zero, 31 bits.
pub(super) fn random_token() -> u32 {
    let [a, b, c, d, ..] = RandomState::new().build_hasher().finish().to_le_bytes();
    (u32::from_le_bytes([a, b, c, d]) >> 1).max(1)
}

/// A random pause of at most `longest`.
fn random_below(longest: Duration) -> Duration {
    longest.mul_f64(f64::from(random_token()) / f64::from(u32::MAX >> 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_are_never_zero() {
        let tokens: std::collections::HashSet<u32> = (0..100).map(|_| random_token()).collect();
        assert!(tokens.len() > 90);
        assert!(!tokens.contains(&0));
        assert!(tokens.iter().all(|token| token >> 31 == 0));
    }

    #[test]
    fn pauses_are_bounded() {
        let longest = Duration::from_millis(49);
        assert!((0..100).all(|_| random_below(longest) <= longest));
    }
}
