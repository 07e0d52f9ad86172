//! CR space, whichever way leads there: the vendor-specific capability or the legacy gateway.

use std::sync::Arc;
use std::time::Duration;

use super::Way;
use super::error::AccessError;
use super::legacy::{self, Legacy};
use super::patience::Patience;
use super::space::Space;
use super::vsec::{self, Vsec};

/// A way to CR space.
#[derive(Debug, Clone)]
pub enum Cr {
    /// Through the vendor-specific capability.
    Vsec(Arc<Vsec>),
    /// Through the legacy gateway.
    Legacy(Arc<Legacy>),
}

impl Cr {
    /// Takes the way for ourselves, for as many accesses as belong together.
    ///
    /// # Errors
    /// [`AccessError`]: somebody else kept it.
    pub fn hold(&self) -> Result<Session<'_>, AccessError> {
        Ok(match self {
            Self::Vsec(vsec) => Session::Vsec(vsec.hold()?),
            Self::Legacy(legacy) => Session::Legacy(legacy.hold()?),
        })
    }

    /// Which way it is.
    #[must_use]
    pub const fn way(&self) -> Way {
        match self {
            Self::Vsec(_) => Way::Vsec,
            Self::Legacy(_) => Way::LegacyGateway,
        }
    }

    /// The function, for messages.
    #[must_use]
    pub fn device(&self) -> String {
        match self {
            Self::Vsec(vsec) => vsec.device(),
            Self::Legacy(legacy) => legacy.device(),
        }
    }

    /// Bounds of all waits.
    #[must_use]
    pub fn patience(&self) -> &Patience {
        match self {
            Self::Vsec(vsec) => vsec.patience(),
            Self::Legacy(legacy) => legacy.patience(),
        }
    }
}

/// The way to CR space, ours alone until dropped.
pub enum Session<'a> {
    /// Through the vendor-specific capability.
    Vsec(vsec::Session<'a>),
    /// Through the legacy gateway.
    Legacy(legacy::Session<'a>),
}

impl Session<'_> {
    /// The dword at byte `address` of `space`; the legacy gateway has only [`Space::Cr`].
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn read(&mut self, space: Space, address: u32) -> Result<u32, AccessError> {
        match self {
            Self::Vsec(session) => session.read(space, address),
            Self::Legacy(session) => session.read(address),
        }
    }

    /// Writes a dword.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn write(&mut self, space: Space, address: u32, value: u32) -> Result<(), AccessError> {
        match self {
            Self::Vsec(session) => session.write(space, address, value),
            Self::Legacy(session) => session.write(address, value),
        }
    }

    /// Lets others have the way for a while, then takes it again.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn rest(&mut self, pause: Duration) -> Result<(), AccessError> {
        match self {
            Self::Vsec(session) => session.rest(pause),
            Self::Legacy(session) => session.rest(pause),
        }
    }

    /// Lets others have the way until the next access, which takes it again.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn let_go(&mut self) -> Result<(), AccessError> {
        match self {
            Self::Vsec(session) => session.let_go(),
            Self::Legacy(session) => {
                session.let_go();
                Ok(())
            }
        }
    }
}
