//! One release: which board it is for, its versions, where its file is and what that file must be.

use std::path::PathBuf;
use std::sync::Arc;

use reqwest::Url;

use super::digest::Digest;
use super::name::FilePath;
use crate::bundle::ComponentVersion;
use crate::identity::Psid;
use crate::version::{Date, FwVersion};

/// An image on offer, as a source describes it. Only the file itself proves any of it; see
/// [`super::Downloader::fetch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Board, in the spelling it was asked for.
    pub psid: Psid,
    /// Part numbers of the board.
    pub part_numbers: Vec<String>,
    /// Chip, as people write it.
    pub device: Option<String>,
    /// One line about the board.
    pub description: Option<String>,
    /// Versions, firmware first.
    pub versions: Vec<ComponentVersion>,
    /// Release line.
    pub branch: Option<String>,
    /// Date of the image.
    pub date: Option<Date>,
    /// A card with older firmware has to take a step in between.
    pub minimum: Option<FwVersion>,
    /// Name of the file, below the folder of the index.
    pub file: FilePath,
    /// Where the file is.
    pub place: Place,
    /// Size of the file in bytes.
    pub size: Option<u64>,
    /// SHA-256 of the file.
    pub sha256: Option<Digest>,
    /// SHA-256 of the image in the file: two files with the same image are one offer.
    pub image_sha256: Option<Digest>,
    /// Release notes: text, or where to read it.
    pub notes: Option<String>,
    /// Name of the source it is from.
    pub source: Arc<str>,
}

/// A file of firmware that a source lists without saying for which boards it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsorted {
    /// Its name.
    pub file: FilePath,
    /// Where it is.
    pub place: Place,
    /// Release notes: text, or where to read it.
    pub notes: Option<String>,
    /// Name of the source.
    pub source: Arc<str>,
}

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On this machine.
    Local(PathBuf),
    /// On a server.
    Remote(Url),
}

/// A board to find firmware for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The board.
    pub psid: Psid,
    /// What is on flash now, where that is known.
    pub version: Option<FwVersion>,
}

impl Asked {
    /// What to tell when a source offers this board firmware whose first number is another than
    /// that of the card: it is for another chip (mft-compat 4.4).
    pub(super) fn contradiction(&self, release: &Release) -> Option<String> {
        let (current, offered) = (self.version?, release.firmware()?);
        (offered.major != current.major).then(|| {
            let (source, psid) = (&release.source, &self.psid);
            format!("{source}: {offered} for {psid} is for another chip, left out")
        })
    }
}

impl Release {
    /// The firmware version.
    #[must_use]
    pub fn firmware(&self) -> Option<FwVersion> {
        let firmware = self.versions.iter().find(|version| version.kind == "FW");
        firmware.and_then(|version| version.firmware)
    }

    /// Whether a card that has `current` on flash can take it without a step in between.
    #[must_use]
    pub fn reachable_from(&self, current: Option<FwVersion>) -> bool {
        match (self.minimum, current) {
            (Some(minimum), Some(current)) => current >= minimum,
            _ => true,
        }
    }
}

/// PSIDs are compared without regard to case where people or servers wrote them.
#[must_use]
pub(super) fn same_board(one: &Psid, other: &str) -> bool {
    one.as_str().eq_ignore_ascii_case(other.trim())
}

/// A board as a key: without regard to case.
#[must_use]
pub(super) fn board_key(psid: &Psid) -> String {
    psid.as_str().to_ascii_uppercase()
}

/// One version as a source writes it: the numbers where it is a firmware version, the text always
/// (mft-compat 4.4: an unparseable version is unknown and shown as it is).
#[must_use]
pub(super) fn component_version(kind: &str, text: &str) -> ComponentVersion {
    let firmware = (kind == "FW").then(|| text.parse().ok()).flatten();
    ComponentVersion {
        kind: kind.to_owned(),
        text: text.to_owned(),
        firmware,
        trusted: firmware.is_some() || kind != "FW",
    }
}

/// The next image on the way to `goal`: `goal` itself where the card can take it, else the newest
/// of `releases` that it can take and that is newer than what it has.
#[must_use]
pub fn next_step<'a>(
    goal: &'a Release,
    releases: &[&'a Release],
    current: Option<FwVersion>,
) -> Option<&'a Release> {
    if goal.reachable_from(current) {
        return Some(goal);
    }
    releases
        .iter()
        .copied()
        .filter(|release| release.psid == goal.psid && release.reachable_from(current))
        .filter(|release| release.firmware() > current && release.firmware() < goal.firmware())
        .max_by_key(|release| release.firmware())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A release for board `MT_1` with this version and minimum.
    pub fn release(version: &str, minimum: Option<&str>) -> Release {
        Release {
            psid: Psid::new("MT_1").unwrap(),
            part_numbers: Vec::new(),
            device: None,
            description: None,
            versions: vec![component_version("FW", version)],
            branch: None,
            date: None,
            minimum: minimum.map(|text| text.parse().unwrap()),
            file: FilePath::new("x.bin").unwrap(),
            place: Place::Local(PathBuf::from("/d/x.bin")),
            size: None,
            sha256: None,
            image_sha256: None,
            notes: None,
            source: Arc::from("test"),
        }
    }

    #[test]
    fn a_card_that_is_too_old_takes_the_newest_step_it_can() {
        let goal = release("20.41.1000", Some("20.30.1004"));
        let releases = [
            release("20.28.1002", None),
            release("20.30.1004", None),
            release("20.35.1012", Some("20.30.1004")),
        ];
        let all: Vec<&Release> = releases.iter().chain([&goal]).collect();
        let step = |current: &str| {
            next_step(&goal, &all, current.parse().ok())
                .unwrap()
                .firmware()
        };
        assert_eq!(step("20.26.1040"), "20.30.1004".parse().ok());
        assert_eq!(step("20.30.1004"), goal.firmware());
        let too_old = [&goal];
        assert_eq!(next_step(&goal, &too_old, "20.26.1040".parse().ok()), None);
    }

    #[test]
    fn a_version_that_is_none_is_kept_as_text() {
        let version = component_version("FW", "16.35");
        assert_eq!((version.firmware, version.trusted), (None, false));
        assert_eq!(version.text, "16.35");
    }
}
