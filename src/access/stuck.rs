//! Semaphores of a chip that their owner never gives back: named, and on the user's word freed.
//!
//! A semaphore names its owner by a number that does not tell whether the owner still lives
//! (device-access 2.2, burn 11.1). What a dead process of cxfw held is freed when it is wanted
//! ([`super::claims`]). This is for everybody else's: a semaphore that stays with one owner for
//! [`OBSERVED`], where a living one keeps it for milliseconds (the flash semaphore: for a burn).
//! One whose owner is known to live is never freed.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::claims::{self, Slot};
use super::error::AccessError;
use super::patience::Patience;
use super::semaphore::Semaphore;
use super::vsec::{self, SEMAPHORE, Vsec};
use crate::pci::ConfigSpace;

/// How long a semaphore must stay with one owner before it is called stuck.
pub const OBSERVED: Duration = Duration::from_secs(2);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A semaphore that can be stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChipLock {
    /// Of the vendor-specific capability.
    Capability,
    /// Of the command interface.
    Icmd,
    /// Of flash programming.
    Flash,
}

impl ChipLock {
    /// What nobody can do meanwhile.
    #[must_use]
    pub const fn blocks(self) -> &'static str {
        match self {
            Self::Capability => "every access to the card",
            Self::Icmd => "every access to the card's firmware",
            Self::Flash => "every burn",
        }
    }
}

impl std::fmt::Display for ChipLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Capability => "capability semaphore",
            Self::Icmd => "ICMD semaphore",
            Self::Flash => "flash semaphore",
        })
    }
}

/// A stuck semaphore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Which.
    pub lock: ChipLock,
    /// The owner's ticket (capability) or token.
    pub number: u32,
    /// How long it was watched.
    pub seen: Duration,
    /// The process behind the number, where one of this host is known to live.
    pub owner: Option<Owner>,
}

/// A living owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Name of its program.
    pub program: String,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (lock, number) = (self.lock, self.number);
        match &self.owner {
            Some(Owner { pid, program }) => write!(
                f,
                "the {lock} is held by process {pid} (`{program}`, number {number:#x})"
            )?,
            None => write!(
                f,
                "the {lock} is held by {number:#x}, which is no process known here"
            )?,
        }
        let (seen, blocks) = (self.seen.as_secs(), lock.blocks());
        write!(f, ", without a change for {seen} s; it blocks {blocks}")
    }
}

/// Watches the semaphores of a function for [`OBSERVED`] and names the stuck ones. While the
/// capability's is stuck, the others cannot be seen. A function without a capability has none.
///
/// # Errors
/// [`AccessError`].
pub fn look(config: &Arc<dyn ConfigSpace>, locks: &Path) -> Result<Vec<Stuck>, AccessError> {
    let Some((base, _)) = vsec::find(&**config)? else {
        return Ok(Vec::new());
    };
    let device = config.device();
    let capability = watch(|| Ok([config.read(base + SEMAPHORE)?]))?;
    if let [Some((number, seen))] = capability {
        return Ok(vec![Stuck {
            lock: ChipLock::Capability,
            number,
            seen,
            owner: claimant(locks, &device, Slot::Ticket, number),
        }]);
    }
    let Some(vsec) = Vsec::open(Arc::clone(config), Some(locks), Patience::USUAL)? else {
        return Ok(Vec::new());
    };
    let tokens = watch(|| {
        let mut session = vsec.hold()?;
        let mut read = |at: Semaphore| session.read(at.space, at.offset);
        Ok([read(Semaphore::ICMD)?, read(Semaphore::FLASH)?])
    })?;
    let stuck = [ChipLock::Icmd, ChipLock::Flash].into_iter().zip(tokens);
    Ok(stuck
        .filter_map(|(lock, token)| {
            let (number, seen) = token?;
            let owner =
                claimant(locks, &device, Slot::Token, number).or_else(|| tool_with_id(number));
            Some(Stuck {
                lock,
                number,
                seen,
                owner,
            })
        })
        .collect())
}

/// Frees a stuck semaphore. Returns whether it was still held by the same owner; if not, nothing
/// is written. To be called on the user's word only.
///
/// # Errors
/// [`AccessError`].
pub fn free(
    config: &Arc<dyn ConfigSpace>,
    locks: &Path,
    stuck: &Stuck,
) -> Result<bool, AccessError> {
    let semaphore = match stuck.lock {
        ChipLock::Capability => return free_capability(config, stuck.number),
        ChipLock::Icmd => Semaphore::ICMD,
        ChipLock::Flash => Semaphore::FLASH,
    };
    let Some(vsec) = Vsec::open(Arc::clone(config), Some(locks), Patience::USUAL)? else {
        return Ok(false);
    };
    let mut session = vsec.hold()?;
    let same = session.read(semaphore.space, semaphore.offset)? == stuck.number;
    if same {
        semaphore.free(&mut session)?;
    }
    session.finish()?;
    Ok(same)
}

fn free_capability(config: &Arc<dyn ConfigSpace>, ticket: u32) -> Result<bool, AccessError> {
    let Some((base, _)) = vsec::find(&**config)? else {
        return Ok(false);
    };
    let same = config.read(base + SEMAPHORE)? == ticket;
    if same {
        config.write(base + SEMAPHORE, 0)?;
    }
    Ok(same)
}

/// Reads `N` owners again and again; those that are there and never change, and for how long they
/// were watched. Ends early when all of them moved.
fn watch<const N: usize>(
    read: impl Fn() -> Result<[u32; N], AccessError>,
) -> Result<[Option<(u32, Duration)>; N], AccessError> {
    let start = Instant::now();
    // all ones is a function that left the bus
    let mut owners =
        read()?.map(|owner| Some(owner).filter(|owner| ![0, u32::MAX].contains(owner)));
    while owners.iter().any(Option::is_some) && start.elapsed() < OBSERVED {
        thread::sleep(LOOK);
        for (owner, now) in owners.iter_mut().zip(read()?) {
            *owner = owner.filter(|&owner| owner == now);
        }
    }
    Ok(owners.map(|owner| owner.map(|owner| (owner, start.elapsed()))))
}

/// The living process of cxfw that wrote down this number.
fn claimant(locks: &Path, function: &str, slot: Slot, number: u32) -> Option<Owner> {
    let pid = claims::living(locks, function, slot, number)?;
    Some(Owner {
        pid,
        program: program(pid)?,
    })
}

/// Other tools use their process id for a token (burn 11.1). That a process has it proves nothing;
/// that this process is such a tool is reason enough to leave it alone.
fn tool_with_id(token: u32) -> Option<Owner> {
    let program = program(token)?;
    let known = ["mst", "flint", "mlx", "mft"];
    known
        .iter()
        .any(|start| program.starts_with(start))
        .then_some(Owner {
            pid: token,
            program,
        })
}

fn program(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(crate::bytes::text(name.trim().as_bytes()))
}
