//! Images on offer, and which of them is the one for a board.

use std::path::PathBuf;

use super::branch::Branch;
use crate::identity::Psid;
use crate::image::ImageInfo;
use crate::version::FwVersion;

/// One image on offer.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The file it is in.
    pub file: PathBuf,
    /// Name of the member, where the file is an archive with named members.
    pub member: Option<String>,
    /// SHA-256 of the image: two files with the same contents are one offer. `None` where nobody
    /// knows it yet.
    pub digest: Option<[u8; 32]>,
    /// What is known of it.
    pub facts: Facts,
    /// The source it is from, where it is from a list of releases.
    pub provenance: Option<Provenance>,
}

/// What the source of an image says beyond the image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Kind of the source (`online`, `index`).
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// A card with older firmware has to take a step in between.
    pub minimum: Option<FwVersion>,
    /// Release notes: text, or where to read it.
    pub notes: Option<String>,
}

/// What is known of an image on offer.
#[derive(Debug, Clone)]
pub enum Facts {
    /// What the image says of itself.
    Image(Box<ImageInfo>),
    /// What a list of releases says of an image that is elsewhere. Whether it runs on a card is
    /// decided once it is here.
    Listed(Listed),
}

/// An image that is elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Board.
    pub psid: Psid,
    /// Firmware version, where the list has one that can be compared.
    pub version: Option<FwVersion>,
    /// Name and version of each expansion ROM.
    pub roms: Vec<(String, String)>,
}

impl Offer {
    /// What the image says of itself, if it is here.
    #[must_use]
    pub fn image(&self) -> Option<&ImageInfo> {
        match &self.facts {
            Facts::Image(info) => Some(info),
            Facts::Listed(_) => None,
        }
    }

    /// Board.
    #[must_use]
    pub fn psid(&self) -> Option<&Psid> {
        match &self.facts {
            Facts::Image(info) => info.psid.as_ref(),
            Facts::Listed(listed) => Some(&listed.psid),
        }
    }

    /// Firmware version.
    #[must_use]
    pub fn version(&self) -> Option<FwVersion> {
        match &self.facts {
            Facts::Image(info) => info.version,
            Facts::Listed(listed) => listed.version,
        }
    }

    /// Version a card must have before it can take this one.
    #[must_use]
    pub fn minimum(&self) -> Option<FwVersion> {
        self.provenance.as_ref().and_then(|source| source.minimum)
    }

    /// Branch tag of a development build.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.image().and_then(|info| info.branch.as_deref())
    }

    /// Name and version of each expansion ROM.
    #[must_use]
    pub fn roms(&self) -> Vec<(String, String)> {
        match &self.facts {
            Facts::Image(info) => {
                let roms = info.roms.iter();
                roms.map(|rom| (rom.kind.clone(), rom.version_text()))
                    .collect()
            }
            Facts::Listed(listed) => listed.roms.clone(),
        }
    }

    /// The file, with the member behind it where there is one: `bundle.zip(fw.bin)`.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.member {
            Some(member) => format!("{}({member})", self.file.display()),
            None => self.file.display().to_string(),
        }
    }

    /// Development builds carry a branch tag and cannot be compared by number (mft-compat 4.4).
    fn is_development(&self) -> bool {
        self.tag().is_some()
    }

    /// Order among the offers for one board: releases before development builds, then by number;
    /// an image without a version comes last.
    fn rank(&self) -> (bool, Option<FwVersion>) {
        (!self.is_development(), self.version())
    }
}

/// The offers for one board, sorted out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// The newest.
    pub newest: usize,
    /// Offers of the same source and version with other contents: nobody can say which is meant.
    pub rivals: Vec<usize>,
    /// Older offers, and those of sources that come later.
    pub older: Vec<usize>,
}

impl Choice {
    /// All but the newest.
    pub(super) fn others(&self) -> Vec<usize> {
        self.rivals.iter().chain(&self.older).copied().collect()
    }
}

/// Which offers are for this board and on this line. PSIDs are compared whole.
pub(super) fn for_board(offers: &[Offer], psid: &Psid, branch: Option<&Branch>) -> Vec<usize> {
    let on_branch = |offer: &Offer| match (branch, offer.version()) {
        (None, _) => true,
        (Some(branch), Some(version)) => branch.holds(version),
        (Some(_), None) => false,
    };
    (0..offers.len())
        .filter(|&index| offers[index].psid() == Some(psid) && on_branch(&offers[index]))
        .collect()
}

/// The candidates that a card with `current` on flash can take, and those for which it is too old.
pub(super) fn reachable(
    offers: &[Offer],
    candidates: &[usize],
    current: FwVersion,
) -> (Vec<usize>, Vec<usize>) {
    let takes = |offer: &Offer| offer.minimum().is_none_or(|minimum| current >= minimum);
    candidates.iter().partition(|&&index| takes(&offers[index]))
}

/// The newest of `candidates` (indices into `offers`), or `None` when there is none. Offers with
/// equal contents count once, and of equal versions the first source counts: the first stands for
/// all.
pub(super) fn choose(offers: &[Offer], candidates: &[usize]) -> Option<Choice> {
    let mut distinct: Vec<usize> = Vec::new();
    for &index in candidates {
        let is_known = |&seen: &usize| {
            let digest = offers[index].digest;
            digest.is_some() && offers[seen].digest == digest
        };
        if !distinct.iter().any(is_known) {
            distinct.push(index);
        }
    }
    let best = distinct.iter().map(|&index| offers[index].rank()).max()?;
    let (mut newest, older): (Vec<_>, Vec<_>) = distinct
        .into_iter()
        .partition(|&index| offers[index].rank() == best);
    let alike = newest.split_off(1);
    let newest = newest.pop()?;
    // Sources stand in the order of trust: what a later one has of the same version is no riddle.
    let list = |index: usize| {
        let source = offers[index].provenance.as_ref();
        source.map(|source| source.name.as_str())
    };
    let (rivals, later): (Vec<_>, Vec<_>) = alike
        .into_iter()
        .partition(|&index| list(index) == list(newest));
    Some(Choice {
        newest,
        rivals,
        older: later.into_iter().chain(older).collect(),
    })
}
