//! Which card a flash, or a backup of one, belongs to: told by its contents alone.

use crate::bytes::ByteSource;
use crate::identity::{Guid, Mac, Psid};
use crate::image::Uids;
use crate::version::FwVersion;

use super::error::Fault;
use super::facts::CardFacts;
use super::found::{Found, Image};

/// What a flash says of its card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// Board.
    pub psid: Option<Psid>,
    /// What boots from it.
    pub version: Option<FwVersion>,
    /// Base MAC; that of port 1 on older chips.
    pub mac: Option<Mac>,
    /// Base GUID; the node GUID on ConnectX-3.
    pub guid: Option<Guid>,
    /// The factory's base GUID and base MAC, where they are kept apart.
    pub factory: Option<(Guid, Mac)>,
}

impl Owner {
    /// Reads a flash of the card's kind.
    ///
    /// # Errors
    /// [`Fault::Read`].
    pub fn read(flash: &dyn ByteSource, card: &CardFacts) -> Result<Self, Fault> {
        let found = Found::read(flash, card, None)?;
        let owner = found.owner().map(Self::of).unwrap_or_default();
        let left = found.leftover.as_ref();
        Ok(Self {
            psid: found.firmware().and_then(|image| image.info.psid.clone()),
            version: found.kept.as_ref().and_then(|kept| kept.info.version),
            mac: owner.mac.or(left.map(|left| left.mac)),
            guid: owner.guid.or(left.map(|left| left.guid)),
            factory: owner.factory,
        })
    }

    /// What an image on a flash says.
    pub(super) fn of(image: &Image) -> Self {
        let info = &image.info;
        let (guid, mac) = info.uids.as_ref().map_or((None, None), addresses);
        let factory = info.original_uids.as_ref().map(addresses);
        Self {
            psid: info.psid.clone(),
            version: info.version,
            mac,
            guid,
            factory: factory.and_then(|(guid, mac)| guid.zip(mac)),
        }
    }

    /// Whether both are the same card. Not so unless both say who they are; what the factory wrote
    /// says it where the addresses in use are lost.
    #[must_use]
    pub fn is_same_card(&self, other: &Self) -> bool {
        if self.is_known() {
            return self.mac == other.mac && self.guid == other.guid;
        }
        self.factory.is_some() && self.factory == other.factory
    }

    /// It says who it is.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.mac.is_some() || self.guid.is_some()
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.mac, self.guid, self.factory) {
            (Some(mac), ..) => write!(f, "the card with MAC {mac}"),
            (None, Some(guid), _) => write!(f, "the card with GUID {guid}"),
            (None, None, Some((_, mac))) => write!(f, "the card the factory gave MAC {mac}"),
            (None, None, None) => write!(f, "a card that does not say who it is"),
        }
    }
}

/// Base GUID and MAC, or those that stand for them.
fn addresses(uids: &Uids) -> (Option<Guid>, Option<Mac>) {
    let (guid, mac) = match uids {
        Uids::Base { guid, mac } => (guid.value, mac.value),
        Uids::TwoPorts { guids, macs } => (guids[0].value, macs[0].value),
        Uids::Fs2 { entries } => {
            let entry = |index: usize| entries.get(index).copied().unwrap_or(0);
            (entry(0), entry(4))
        }
    };
    (Guid::new(guid), Mac::new(mac))
}
