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
        })
    }

    /// What an image on a flash says.
    pub(super) fn of(image: &Image) -> Self {
        let info = &image.info;
        let (mac, guid) = match &info.uids {
            Some(Uids::Base { guid, mac }) => (mac.value, guid.value),
            Some(Uids::TwoPorts { guids, macs }) => (macs[0].value, guids[0].value),
            Some(Uids::Fs2 { entries }) => {
                let entry = |index: usize| entries.get(index).copied().unwrap_or(0);
                (entry(4), entry(0))
            }
            None => (0, 0),
        };
        Self {
            psid: info.psid.clone(),
            version: info.version,
            mac: Mac::new(mac),
            guid: Guid::new(guid),
        }
    }

    /// Whether both are the same card. Not so unless both say who they are.
    #[must_use]
    pub fn is_same_card(&self, other: &Self) -> bool {
        self.is_known() && self.mac == other.mac && self.guid == other.guid
    }

    /// It says who it is.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.mac.is_some() || self.guid.is_some()
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.mac, self.guid) {
            (Some(mac), _) => write!(f, "the card with MAC {mac}"),
            (None, Some(guid)) => write!(f, "the card with GUID {guid}"),
            (None, None) => write!(f, "a card that does not say who it is"),
        }
    }
}
