//! One image on offer inside a bundle, as far as the container itself tells.

use crate::identity::Psid;
use crate::version::FwVersion;

/// Version of one part of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentVersion {
    /// `FW`, `PXE`, `UEFI`, `CLP`, `FCODE` or what the container calls it.
    pub kind: String,
    /// The printed version.
    pub text: String,
    /// The numbers, where the text is a three-number firmware version.
    pub firmware: Option<FwVersion>,
    /// False when the container is known to cut or exchange the numbers, so that only the image
    /// itself can tell (bundles 2.7).
    pub trusted: bool,
}

/// One image in a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Position, to hand back to the bundle.
    pub index: usize,
    /// File this entry came from.
    pub file: std::path::PathBuf,
    /// Name of the member inside an archive, where there is one.
    pub member: Option<String>,
    /// Board.
    pub psid: Option<Psid>,
    /// Part number.
    pub part_number: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Selector tag (MFA v1); empty = none.
    pub tag: String,
    /// Versions, firmware first.
    pub versions: Vec<ComponentVersion>,
    /// Size of the image in bytes, where the container says it.
    pub size: Option<u64>,
    /// What else than adapter firmware this is, as the package calls it (`BFB`, `0x3040`); `None`
    /// for a firmware image. Such an entry can be extracted, but is never offered to a card.
    pub other: Option<String>,
}

impl Entry {
    /// The firmware version, if the container gives a trustworthy one.
    #[must_use]
    pub fn firmware(&self) -> Option<FwVersion> {
        self.versions
            .iter()
            .find(|version| version.kind == "FW" && version.trusted)
            .and_then(|version| version.firmware)
    }
}
