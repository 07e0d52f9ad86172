//! The addresses of a card that has lost them, as its owner gives them.

use crate::identity::{Guid, Mac};

use super::refusal::Refusal;

/// Bit of a MAC that says it is for many.
const MULTICAST: u64 = 1 << 40;

/// GUID entries of an FS2 image before its MACs: node, port 1, port 2, system image.
const FS2_GUIDS: u64 = 4;

/// Who a card in recovery is, when its flash does not tell any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryIdentity {
    /// Base GUID; on ConnectX-3 the node GUID.
    pub guid: Guid,
    /// Base MAC; on ConnectX-3 that of port 1.
    pub mac: Mac,
    /// How many of each the card owns (ConnectX-4 and later).
    pub count: u8,
}

impl RecoveryIdentity {
    /// How many addresses of each kind usual cards own.
    pub const USUAL_COUNT: u8 = 8;

    /// The identity with this GUID and MAC and the usual number of addresses.
    #[must_use]
    pub const fn new(guid: Guid, mac: Mac) -> Self {
        Self {
            guid,
            mac,
            count: Self::USUAL_COUNT,
        }
    }

    /// Refuses a MAC no port can have.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let mac = self.mac.value();
        if mac & MULTICAST == 0 {
            Ok(())
        } else {
            Err(Refusal::Multicast { mac })
        }
    }

    /// The entries of an FS2 GUID section: four GUIDs, two MACs, counted up (images-fs2 5.1).
    pub(super) fn fs2_entries(&self) -> Vec<u64> {
        let guids = (0..FS2_GUIDS).map(|step| self.guid.value().wrapping_add(step));
        let macs = (0..2).map(|step| self.mac.value() + step);
        guids.chain(macs).collect()
    }
}
