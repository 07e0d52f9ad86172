//! Fetches the newest release for each board into a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::CliError;
use super::release_error::ReleaseError;
use super::releases;
use crate::identity::Psid;
use crate::model::Model;
use crate::plan::Branch;
use crate::release::record::next_step;
use crate::release::{
    Asked, DownloadError, Fetched, Findings, Freshness, How, Place, Release, Sources,
};
use crate::report::json::{FetchedFile, SearchedSource};
use crate::report::transfer::TransferBoard;

/// How to fetch.
pub struct Fetch<'a> {
    /// Where to look.
    pub sources: &'a Sources,
    /// Where files go.
    pub folder: &'a Path,
    /// About files that are there.
    pub freshness: Freshness,
    /// Release lines to stay on, by chip.
    pub lines: &'a [(&'static Model, Branch)],
}

/// What was found and fetched.
#[derive(Debug, Default)]
pub struct Haul {
    /// Where was looked.
    pub searched: Vec<SearchedSource>,
    /// What is there now.
    pub files: Vec<FetchedFile>,
    /// Boards that no source lists.
    pub not_listed: Vec<Psid>,
    /// Sources that gave no answer, files that could not be had.
    pub failures: Vec<CliError>,
    /// What the user should know, one sentence each.
    pub warnings: Vec<String>,
    /// Which release each file is from.
    places: BTreeMap<PathBuf, Place>,
}

impl Fetch<'_> {
    /// The newest release for each of these boards, and those a card has to take before it.
    pub fn boards(&self, asked: &[Asked], board: &mut TransferBoard) -> Haul {
        let (mut haul, findings) = self.look(self.sources.find(asked));
        for one in asked {
            let of_board: Vec<&Release> = findings
                .of(&one.psid)
                .filter(|release| self.is_on_line(release))
                .collect();
            let steps = steps(&of_board, one);
            if steps.is_empty() && haul.failures.is_empty() {
                haul.not_listed.push(one.psid.clone());
            }
            for release in steps {
                self.fetch(release, &mut haul, board);
            }
        }
        haul
    }

    /// Everything that the indexes among the sources list.
    pub fn everything(&self, board: &mut TransferBoard) -> Haul {
        let (mut haul, findings) = self.look(self.sources.everything());
        for release in &findings.releases {
            self.fetch(release, &mut haul, board);
        }
        haul
    }

    fn look(&self, mut findings: Findings) -> (Haul, Findings) {
        let searched = std::mem::take(&mut findings.searched);
        let (searched, failures) = releases::told(searched, self.sources.list());
        let haul = Haul {
            searched,
            failures,
            warnings: std::mem::take(&mut findings.warnings),
            ..Haul::default()
        };
        (haul, findings)
    }

    fn is_on_line(&self, release: &Release) -> bool {
        let Some(version) = release.firmware() else {
            return true;
        };
        let line = self
            .lines
            .iter()
            .find(|(chip, _)| chip.fw_major == version.major);
        line.is_none_or(|(_, line)| line.holds(version))
    }

    fn fetch(&self, release: &Release, haul: &mut Haul, board: &mut TransferBoard) {
        let target = release.file.below(self.folder);
        if let Some(other) = haul.places.get(&target)
            && *other != release.place
        {
            let error = ReleaseError::SameName { file: target };
            haul.failures.push(error.into());
            return;
        }
        let freshness = if haul.places.contains_key(&target) {
            Freshness::Keep
        } else {
            self.freshness
        };
        let fetched = self
            .sources
            .fetch_to(self.folder, release, freshness, &mut |event| {
                board.show(&event);
            });
        board.end(fetched.is_ok());
        match fetched.and_then(|fetched| Ok((size(&fetched.path)?, fetched))) {
            Ok((size, fetched)) => {
                haul.places.insert(target, release.place.clone());
                haul.note(release, &fetched, size, self.sources);
            }
            Err(error) => haul.failures.push(ReleaseError::Download(error).into()),
        }
    }
}

impl Haul {
    /// A file may be for several boards.
    fn note(&mut self, release: &Release, fetched: &Fetched, size: u64, sources: &Sources) {
        let psid = release.psid.to_string();
        let known = self.files.iter_mut().find(|file| file.file == fetched.path);
        if let Some(known) = known {
            if !known.psids.contains(&psid) {
                known.psids.push(psid);
            }
            return;
        }
        self.files.push(FetchedFile {
            file: fetched.path.clone(),
            psids: vec![psid],
            version: release.firmware().map(|version| version.to_string()),
            size,
            sha256: fetched.sha256.to_string(),
            result: match fetched.how {
                How::Kept => "kept",
                How::Downloaded => "downloaded",
                How::Copied => "copied",
            },
            kind: releases::kind(sources.list(), &release.source),
            source: release.source.to_string(),
            notes: release.notes.clone(),
        });
    }
}

/// The newest release, behind those that a card with what is on flash has to take before it. None
/// when there is none.
fn steps<'a>(releases: &[&'a Release], asked: &Asked) -> Vec<&'a Release> {
    let Some(&goal) = releases.first() else {
        return Vec::new();
    };
    let mut steps = Vec::new();
    let mut current = asked.version;
    while let Some(step) = next_step(goal, releases, current) {
        steps.push(step);
        if step == goal {
            return steps;
        }
        current = step.firmware();
    }
    // The way to it is not listed as a whole; it is still the newest.
    steps.push(goal);
    steps
}

fn size(path: &Path) -> Result<u64, DownloadError> {
    let facts = fs::metadata(path).map_err(|source| DownloadError::Io {
        action: "look at",
        path: path.to_owned(),
        source,
    })?;
    Ok(facts.len())
}
