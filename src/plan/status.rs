//! Where a card stands against what is on offer.

use std::fmt;

/// Standing of one card; the words are the `status` field of the JSON output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Flash holds and the chip runs the version on offer.
    UpToDate,
    /// A newer version is on offer.
    UpdateRequired,
    /// Flash holds a newer version than any on offer.
    NewerThanSource,
    /// Flash holds another version than the one that runs, and nothing newer is on offer.
    ActivationPending,
    /// No image on offer is for this board.
    NoImage,
    /// No image on offer is for this board, and its brand publishes its own.
    OemNoImage,
    /// The boot ROM found no usable image.
    Recovery,
    /// The card could not be read.
    Failed,
    /// Nothing was given to compare with.
    NotCompared,
}

impl Status {
    /// The word for programs (`up_to_date`).
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::UpToDate => "up_to_date",
            Self::UpdateRequired => "update_required",
            Self::NewerThanSource => "newer_than_source",
            Self::ActivationPending => "activation_pending",
            Self::NoImage => "no_image",
            Self::OemNoImage => "oem_no_image",
            Self::Recovery => "recovery",
            Self::Failed => "failed",
            Self::NotCompared => "not_compared",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
