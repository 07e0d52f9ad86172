//! Locks of a chip that their owner never gives back: named, and on the user's word freed.
//!
//! A semaphore names its owner by a number that does not tell whether the owner still lives
//! (device-access 2.2, burn 11.1), the flash gateway's lock names nobody at all. What a dead
//! process of cxfw held is freed when it is wanted ([`super::claims`]). This is for everybody
//! else's: a semaphore that stays with one owner for [`OBSERVED`], where a living one keeps it for
//! milliseconds (the flash semaphore: for a burn), and a gateway whose registers do not change for
//! [`GATEWAY_OBSERVED`]. One whose owner is known to live ([`Owner`]) is never freed.

mod owner;

pub use owner::Owner;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::claims::Slot;
use super::device::Device;
use super::error::AccessError;
use super::gateway::{Sight, sight};
use super::patience::Patience;
use super::semaphore::Semaphore;
use super::vsec::{self, SEMAPHORE, Vsec};
use crate::pci::ConfigSpace;

/// How long a semaphore must stay with one owner before it is called stuck.
pub const OBSERVED: Duration = Duration::from_secs(2);
/// How long the gateway must stand still: longer than the longest single operation of a flash part,
/// an erase of up to 3 s (burn 8.4), during which its user polls.
pub const GATEWAY_OBSERVED: Duration = Duration::from_secs(5);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A lock that can be stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChipLock {
    /// Of the vendor-specific capability.
    Capability,
    /// Of the command interface.
    Icmd,
    /// Of flash programming.
    Flash,
    /// Of the flash gateway.
    Gateway,
    /// The firmware's update handle.
    UpdateHandle,
}

impl ChipLock {
    /// What nobody can do meanwhile.
    #[must_use]
    pub const fn blocks(self) -> &'static str {
        match self {
            Self::Capability => "every access to the card",
            Self::Icmd => "every access to the card's firmware",
            Self::Flash => "every burn",
            Self::Gateway => "every direct access to the flash",
            Self::UpdateHandle => "every update through the firmware",
        }
    }
}

impl std::fmt::Display for ChipLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Capability => "capability semaphore",
            Self::Icmd => "ICMD semaphore",
            Self::Flash => "flash semaphore",
            Self::Gateway => "flash gateway",
            Self::UpdateHandle => "update handle",
        })
    }
}

/// What a stuck lock tells of its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A ticket (capability) or a token.
    Number(u32),
    /// Nothing: the gateway, as it was seen.
    Unnamed(Sight),
    /// What the firmware knows.
    Told(String),
}

/// A stuck lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Which.
    pub lock: ChipLock,
    /// What it tells of its owner.
    pub holder: Holder,
    /// How long nothing changed.
    pub seen: Duration,
    /// The process behind it, where one of this host is known to live.
    pub owner: Option<Owner>,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the {} is held by ", self.lock)?;
        match (&self.holder, &self.owner) {
            (Holder::Number(number), Some(owner)) => write!(f, "{owner}, number {number:#x}")?,
            (Holder::Number(number), None) => {
                write!(f, "{number:#x}, which is no process known here")?;
            }
            (Holder::Unnamed(_), Some(owner)) => write!(f, "{owner}, which has the card open")?,
            (Holder::Unnamed(_), None) => f.write_str("somebody it does not name")?,
            (Holder::Told(words), Some(owner)) => write!(f, "{words}, probably {owner}")?,
            (Holder::Told(words), None) => f.write_str(words)?,
        }
        let (seen, blocks) = (self.seen.as_secs(), self.lock.blocks());
        write!(f, ", without a change for {seen} s; it blocks {blocks}")
    }
}

/// The card a lock is looked for on.
pub struct Place<'a> {
    /// Configuration space of its first function.
    pub config: Arc<dyn ConfigSpace>,
    /// Addresses of all its functions.
    pub functions: Vec<String>,
    /// Folder of lock files.
    pub locks: &'a Path,
}

/// Watches the locks of a card for [`OBSERVED`], the gateway's for [`GATEWAY_OBSERVED`], and names
/// the stuck ones. While the capability's is stuck, the others cannot be seen. A card without a
/// capability has the gateway's only.
///
/// # Errors
/// [`AccessError`].
pub fn look(place: &Place<'_>) -> Result<Vec<Stuck>, AccessError> {
    let config = &place.config;
    let number = |lock, slot, number, seen| Stuck {
        lock,
        holder: Holder::Number(number),
        seen,
        owner: Owner::of(Some(place.locks), &config.device(), slot, number),
    };
    let mut stuck = Vec::new();
    if let Some((base, _)) = vsec::find(&**config)? {
        let capability = watch(OBSERVED, || Ok([shown(config.read(base + SEMAPHORE)?)]))?;
        if let [Some((ticket, seen))] = capability {
            return Ok(vec![number(
                ChipLock::Capability,
                Slot::Ticket,
                ticket,
                seen,
            )]);
        }
        let opened = Vsec::open(Arc::clone(config), Some(place.locks), Patience::USUAL)?;
        if let Some(vsec) = opened {
            let tokens = watch(OBSERVED, || {
                let mut session = vsec.hold()?;
                let mut read = |at: Semaphore| session.read(at.space, at.offset).map(shown);
                Ok([read(Semaphore::ICMD)?, read(Semaphore::FLASH)?])
            })?;
            for (lock, token) in [ChipLock::Icmd, ChipLock::Flash].into_iter().zip(tokens) {
                stuck.extend(token.map(|(token, seen)| number(lock, Slot::Token, token, seen)));
            }
        }
    }
    stuck.extend(look_at_gateway(place)?);
    Ok(stuck)
}

fn look_at_gateway(place: &Place<'_>) -> Result<Option<Stuck>, AccessError> {
    let device = Device::open_shared(Arc::clone(&place.config), None, place.locks)?;
    let Some((cr, layout)) = device.gateway()? else {
        return Ok(None);
    };
    let [still] = watch(GATEWAY_OBSERVED, || Ok([sight::look(cr, &layout)?]))?;
    Ok(still.map(|(seen, watched)| Stuck {
        lock: ChipLock::Gateway,
        holder: Holder::Unnamed(seen),
        seen: watched,
        owner: Owner::tool_on(&place.functions),
    }))
}

/// Frees a stuck lock of the chip. Returns whether it was still held by the same owner; if not,
/// nothing is written. To be called on the user's word only. The update handle is the firmware's to
/// free, and stays.
///
/// # Errors
/// [`AccessError`].
pub fn free(place: &Place<'_>, stuck: &Stuck) -> Result<bool, AccessError> {
    match (stuck.lock, &stuck.holder) {
        (ChipLock::Capability, &Holder::Number(ticket)) => free_capability(place, ticket),
        (ChipLock::Icmd, &Holder::Number(token)) => free_token(place, Semaphore::ICMD, token),
        (ChipLock::Flash, &Holder::Number(token)) => free_token(place, Semaphore::FLASH, token),
        (ChipLock::Gateway, Holder::Unnamed(seen)) => {
            let device = Device::open_shared(Arc::clone(&place.config), None, place.locks)?;
            let Some((cr, layout)) = device.gateway()? else {
                return Ok(false);
            };
            sight::free(cr, &layout, seen)
        }
        _ => Ok(false),
    }
}

fn free_capability(place: &Place<'_>, ticket: u32) -> Result<bool, AccessError> {
    let config = &place.config;
    let Some((base, _)) = vsec::find(&**config)? else {
        return Ok(false);
    };
    let same = config.read(base + SEMAPHORE)? == ticket;
    if same {
        config.write(base + SEMAPHORE, 0)?;
    }
    Ok(same)
}

fn free_token(place: &Place<'_>, semaphore: Semaphore, token: u32) -> Result<bool, AccessError> {
    let config = Arc::clone(&place.config);
    let Some(vsec) = Vsec::open(config, Some(place.locks), Patience::USUAL)? else {
        return Ok(false);
    };
    let mut session = vsec.hold()?;
    let same = session.read(semaphore.space, semaphore.offset)? == token;
    if same {
        semaphore.free(&mut session)?;
    }
    session.finish()?;
    Ok(same)
}

/// The owner a semaphore shows; all ones is a function that left the bus.
fn shown(owner: u32) -> Option<u32> {
    Some(owner).filter(|owner| ![0, u32::MAX].contains(owner))
}

/// Looks at `N` locks again and again; what those showed that were held and never changed, and for
/// how long they were watched. Ends early when all of them moved.
fn watch<T: PartialEq + Copy, const N: usize>(
    long: Duration,
    read: impl Fn() -> Result<[Option<T>; N], AccessError>,
) -> Result<[Option<(T, Duration)>; N], AccessError> {
    let start = Instant::now();
    let mut held = read()?;
    while held.iter().any(Option::is_some) && start.elapsed() < long {
        thread::sleep(LOOK);
        for (held, now) in held.iter_mut().zip(read()?) {
            *held = held.filter(|&held| now == Some(held));
        }
    }
    Ok(held.map(|held| held.map(|held| (held, start.elapsed()))))
}
