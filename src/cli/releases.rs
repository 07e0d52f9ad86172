//! What lists of releases offer to the cards of a run, and the files of it that are needed.
//!
//! A listed release is planned with by what the list says. Only what is to be burned is fetched;
//! then it is planned with by what the image says of itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::CliError;
use super::release_error::ReleaseError;
use crate::bundle::{Bundle, Entry};
use crate::card::CardReport;
use crate::identity::Psid;
use crate::image::ImageInfo;
use crate::plan::{Facts, Listed, Offer, Provenance};
use crate::release::findings::Faulty;
use crate::release::{Asked, Freshness, Release, Searched, Source, Sources, content};
use crate::report::json::SearchedSource;
use crate::report::transfer::TransferBoard;

/// Lists that were asked, and what they answered.
#[derive(Debug)]
pub struct Listing {
    sources: Sources,
    freshness: Freshness,
    /// Releases for the boards of the run; one for each offer, in the same order.
    releases: Vec<Release>,
    /// Every list that was asked, with how it went.
    pub searched: Vec<SearchedSource>,
    /// Files that are here already, with their number among the run's containers.
    fetched: BTreeMap<PathBuf, usize>,
}

/// What lists answered.
pub struct Answers {
    /// What they offer.
    pub listing: Listing,
    /// Lists that gave no answer.
    pub failures: Vec<CliError>,
    /// Boards of which a list that answered says what makes no sense.
    pub faulty: Vec<(Psid, CliError)>,
    /// What the user should know, one sentence each.
    pub warnings: Vec<String>,
}

/// An image that was fetched: its container, its place in that, and what it says.
pub struct Found {
    /// Number of the container.
    pub bundle: usize,
    /// Its place there.
    pub entry: usize,
    /// What it says of itself.
    pub offer: Offer,
}

impl Listing {
    /// Asks every list for the boards of these cards.
    #[must_use]
    pub fn ask(sources: Sources, freshness: Freshness, cards: &[CardReport]) -> Answers {
        let findings = sources.find(&asked(cards));
        let faulty = findings.faulty.into_iter().map(faulty).collect();
        let (searched, failures) = told(findings.searched, sources.list());
        Answers {
            listing: Self {
                sources,
                freshness,
                releases: findings.releases,
                searched,
                fetched: BTreeMap::new(),
            },
            failures,
            faulty,
            warnings: findings.warnings,
        }
    }

    /// Checks every listed file of the folders among the lists.
    ///
    /// # Errors
    /// The first that is not what is listed.
    pub fn check_folders(&self) -> Result<(), CliError> {
        Ok(self
            .sources
            .check_folders()
            .map_err(ReleaseError::Download)?)
    }

    /// What is on offer, as far as it was read.
    #[must_use]
    pub fn offers(&self) -> Vec<Offer> {
        let kind = |release: &Release| kind(self.sources.list(), &release.source);
        self.releases
            .iter()
            .map(|release| listed(release, kind(release)))
            .collect()
    }

    /// Fetches the release at `index` and takes its image out; `bundles` are the containers that
    /// are open already.
    ///
    /// # Errors
    /// The file cannot be had, or is not what was listed.
    pub fn fetch(
        &mut self,
        index: usize,
        listed: &Offer,
        bundles: &mut Vec<Bundle>,
        board: &mut TransferBoard,
    ) -> Result<Found, CliError> {
        let release = &self.releases[index];
        let result = self
            .sources
            .fetch(release, self.freshness, &mut |event| board.show(&event));
        board.end(result.is_ok());
        let path = result.map_err(ReleaseError::Download)?.path;
        let number = match self.fetched.get(&path) {
            Some(&number) => number,
            None => {
                bundles.push(content::open(&path)?);
                self.fetched.insert(path.clone(), bundles.len() - 1);
                bundles.len() - 1
            }
        };
        take_out(&bundles[number], release, listed, number)
    }
}

/// The image of `release`, out of its container. It was verified when it was fetched; it must
/// still be the one.
fn take_out(
    bundle: &Bundle,
    release: &Release,
    listed: &Offer,
    number: usize,
) -> Result<Found, CliError> {
    let entries = bundle.entries();
    let candidates = entries
        .iter()
        .filter(|entry| may_be(entry, release) && entry.is_for_everybody(entries));
    for entry in candidates {
        let bytes = bundle.read(entry.index)?;
        let digest: [u8; 32] = Sha256::digest(&bytes).into();
        let info = entry.describe(&bytes)?;
        if is_listed(&info, entry, digest, release) {
            let offer = Offer {
                member: entry.member.clone(),
                digest: Some(digest),
                facts: Facts::Image(Box::new(info)),
                ..listed.clone()
            };
            return Ok(Found {
                bundle: number,
                entry: entry.index,
                offer,
            });
        }
    }
    Err(ReleaseError::NotAsListed {
        place: place(bundle.path()),
        source_name: release.source.to_string(),
    }
    .into())
}

fn may_be(entry: &Entry, release: &Release) -> bool {
    let same = |psid: &crate::identity::Psid| *psid == release.psid;
    entry.other.is_none() && entry.psid.as_ref().is_none_or(same)
}

/// Whether this is the image that was promised: its digest where that is listed, else its board
/// and version.
fn is_listed(info: &ImageInfo, entry: &Entry, digest: [u8; 32], release: &Release) -> bool {
    let board = info.psid.as_ref().or(entry.psid.as_ref());
    let promised = release.firmware();
    board == Some(&release.psid)
        && (promised.is_none() || info.version == promised)
        && release
            .image_sha256
            .is_none_or(|listed| *listed.bytes() == digest)
}

fn place(path: &Path) -> String {
    path.display().to_string()
}

/// The board, and what the source says of it.
pub fn faulty(faulty: Faulty) -> (Psid, CliError) {
    let error = ReleaseError::Source {
        name: faulty.name.to_string(),
        source: faulty.error,
    };
    (faulty.psid, error.into())
}

/// Refuses to take firmware from an index that anybody on the way could change.
///
/// # Errors
/// [`ReleaseError::UnsignedOverHttp`].
pub fn refuse_unprotected(list: &[Source]) -> Result<(), CliError> {
    let unprotected = list.iter().find_map(|source| match source {
        Source::Index(index) if index.is_unprotected() => Some(index.place.shown()),
        _ => None,
    });
    match unprotected {
        Some(place) => Err(ReleaseError::UnsignedOverHttp { place }.into()),
        None => Ok(()),
    }
}

/// Each board once, with what is on flash.
pub fn asked(cards: &[CardReport]) -> Vec<Asked> {
    let mut asked: Vec<Asked> = Vec::new();
    for card in cards {
        let Some(psid) = &card.psid else { continue };
        if asked.iter().all(|known| known.psid != *psid) {
            asked.push(Asked {
                psid: psid.clone(),
                version: card.firmware.stored.or(card.firmware.running),
            });
        }
    }
    asked
}

/// How it went with each list, and the errors of those that gave no answer.
pub fn told(lists: Vec<Searched>, sources: &[Source]) -> (Vec<SearchedSource>, Vec<CliError>) {
    let mut failures = Vec::new();
    let searched = lists.into_iter().map(|list| {
        let failure = list.failure.map(|source| {
            let name = list.name.to_string();
            CliError::from(ReleaseError::Source { name, source })
        });
        let error = failure.as_ref().map(CliError::problem);
        failures.extend(failure);
        SearchedSource {
            kind: kind(sources, &list.name),
            name: list.name.to_string(),
            error,
        }
    });
    (searched.collect(), failures)
}

/// What the source of this name is, for programs.
pub fn kind(sources: &[Source], name: &str) -> &'static str {
    let source = sources.iter().find(|source| *source.name() == *name);
    source.map_or("index", Source::kind)
}

fn listed(release: &Release, kind: &'static str) -> Offer {
    let roms = release.versions.iter().filter(|part| part.kind != "FW");
    Offer {
        file: PathBuf::from(release.file.as_str()),
        member: None,
        digest: release.image_sha256.map(|digest| *digest.bytes()),
        facts: Facts::Listed(Listed {
            psid: release.psid.clone(),
            version: release.firmware(),
            roms: roms
                .map(|rom| (rom.kind.clone(), rom.text.clone()))
                .collect(),
        }),
        provenance: Some(Provenance {
            kind,
            name: release.source.to_string(),
            minimum: release.minimum,
            notes: release.notes.clone(),
        }),
    }
}
