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
    Asked, DownloadError, Fetched, FilePath, Findings, Freshness, How, Place, Release, Searched,
    Sources, Unsorted,
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

    /// Everything that the sources list.
    pub fn everything(&self, board: &mut TransferBoard) -> Haul {
        let mut findings = self.sources.everything();
        let (files, searched) = self.sources.files();
        // Each source is told of once: the services by how their list of files was had.
        let is_service = |list: &Searched| searched.iter().any(|one| one.name == list.name);
        findings.searched.retain(|list| !is_service(list));
        findings.searched.extend(searched);
        let (mut haul, findings) = self.look(findings);
        for release in &findings.releases {
            self.fetch(release, &mut haul, board);
        }
        for file in &files {
            self.fetch_file(file, &mut haul, board);
        }
        haul
    }

    fn look(&self, mut findings: Findings) -> (Haul, Findings) {
        let searched = std::mem::take(&mut findings.searched);
        let (searched, mut failures) = releases::told(searched, self.sources.list());
        let faulty = std::mem::take(&mut findings.faulty).into_iter();
        failures.extend(faulty.map(|faulty| releases::faulty(faulty).1));
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
        let result = haul
            .make_room(self, &release.file, &release.place)
            .and_then(|freshness| {
                let fetched =
                    self.sources
                        .fetch_to(self.folder, release, freshness, &mut |event| {
                            board.show(&event);
                        });
                self.end(fetched, board)
            });
        haul.note(result, |file| {
            let psid = release.psid.to_string();
            if !file.psids.contains(&psid) {
                file.psids.push(psid);
            }
            file.version = release.firmware().map(|version| version.to_string());
            self.tell_source(file, &release.source, release.notes.as_ref());
        });
    }

    fn fetch_file(&self, unsorted: &Unsorted, haul: &mut Haul, board: &mut TransferBoard) {
        let result = haul
            .make_room(self, &unsorted.file, &unsorted.place)
            .and_then(|freshness| {
                let fetched =
                    self.sources
                        .fetch_file(self.folder, unsorted, freshness, &mut |event| {
                            board.show(&event);
                        });
                self.end(fetched, board)
            });
        haul.note(result, |file| {
            self.tell_source(file, &unsorted.source, unsorted.notes.as_ref());
        });
    }

    fn end(
        &self,
        fetched: Result<Fetched, DownloadError>,
        board: &mut TransferBoard,
    ) -> Result<FetchedFile, CliError> {
        board.end(fetched.is_ok());
        let file = fetched.and_then(|fetched| described(&fetched));
        Ok(file.map_err(ReleaseError::Download)?)
    }

    fn tell_source(&self, file: &mut FetchedFile, source: &str, notes: Option<&String>) {
        file.kind = releases::kind(self.sources.list(), source);
        source.clone_into(&mut file.source);
        file.notes = notes.cloned();
    }
}

impl Haul {
    /// Whether a file of this name may come from there; a file that this run fetched is good
    /// enough for the next board.
    fn make_room(
        &mut self,
        fetch: &Fetch<'_>,
        name: &FilePath,
        place: &Place,
    ) -> Result<Freshness, CliError> {
        let file = name.below(fetch.folder);
        match self.places.get(&file) {
            Some(known) if known == place => Ok(Freshness::Keep),
            Some(_) => Err(ReleaseError::SameName { file }.into()),
            None => {
                self.places.insert(file, place.clone());
                Ok(fetch.freshness)
            }
        }
    }

    /// Notes how it ended. A file may be for several boards: it is told of once.
    fn note(&mut self, result: Result<FetchedFile, CliError>, tell: impl FnOnce(&mut FetchedFile)) {
        let file = match result {
            Ok(file) => file,
            Err(error) => return self.failures.push(error),
        };
        let known = self.files.iter().position(|known| known.file == file.file);
        let index = known.unwrap_or_else(|| {
            self.files.push(file);
            self.files.len() - 1
        });
        tell(&mut self.files[index]);
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

/// The file, without what only its source knows.
fn described(fetched: &Fetched) -> Result<FetchedFile, DownloadError> {
    let facts = fs::metadata(&fetched.path).map_err(|source| DownloadError::Io {
        action: "look at",
        path: fetched.path.clone(),
        source,
    })?;
    Ok(FetchedFile {
        file: fetched.path.clone(),
        size: facts.len(),
        sha256: fetched.sha256.to_string(),
        result: match fetched.how {
            How::Kept => "kept",
            How::Downloaded => "downloaded",
            How::Copied => "copied",
        },
        ..FetchedFile::default()
    })
}
