//! Images on offer, and which of them is the one for a board.

use std::path::PathBuf;

use super::branch::Branch;
use crate::identity::Psid;
use crate::image::ImageInfo;
use crate::version::FwVersion;

/// One image on offer, as the image itself describes it.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The file it is in.
    pub file: PathBuf,
    /// Name of the member, where the file is an archive with named members.
    pub member: Option<String>,
    /// SHA-256 of the image: two files with the same contents are one offer.
    pub digest: [u8; 32],
    /// What the image says of itself.
    pub info: ImageInfo,
}

impl Offer {
    /// The file, with the member behind it where there is one: `bundle.zip(fw.bin)`.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.member {
            Some(member) => format!("{}({member})", self.file.display()),
            None => self.file.display().to_string(),
        }
    }

    /// Development builds carry a branch tag and cannot be compared by number (mft-compat 4.4).
    const fn is_development(&self) -> bool {
        self.info.branch.is_some()
    }

    /// Order among the offers for one board: releases before development builds, then by number;
    /// an image without a version comes last.
    const fn rank(&self) -> (bool, Option<FwVersion>) {
        (!self.is_development(), self.info.version)
    }
}

/// The offers for one board, sorted out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// The newest.
    pub newest: usize,
    /// Offers of the same version and other contents: nobody can say which is meant.
    pub rivals: Vec<usize>,
    /// Older offers.
    pub older: Vec<usize>,
}

/// Which offers are for this board and on this line. PSIDs are compared whole.
pub(super) fn for_board(offers: &[Offer], psid: &Psid, branch: Option<&Branch>) -> Vec<usize> {
    let on_branch = |offer: &Offer| match (branch, offer.info.version) {
        (None, _) => true,
        (Some(branch), Some(version)) => branch.holds(version),
        (Some(_), None) => false,
    };
    (0..offers.len())
        .filter(|&index| {
            offers[index].info.psid.as_ref() == Some(psid) && on_branch(&offers[index])
        })
        .collect()
}

/// The newest of `candidates` (indices into `offers`), or `None` when there is none. Offers with
/// equal contents count once: the first stands for all.
pub(super) fn choose(offers: &[Offer], candidates: &[usize]) -> Option<Choice> {
    let mut distinct: Vec<usize> = Vec::new();
    for &index in candidates {
        if !distinct
            .iter()
            .any(|&seen| offers[seen].digest == offers[index].digest)
        {
            distinct.push(index);
        }
    }
    let best = distinct.iter().map(|&index| offers[index].rank()).max()?;
    let (mut newest, older): (Vec<_>, Vec<_>) = distinct
        .into_iter()
        .partition(|&index| offers[index].rank() == best);
    let rivals = newest.split_off(1);
    Some(Choice {
        newest: newest.pop()?,
        rivals,
        older,
    })
}
