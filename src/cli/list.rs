//! `cxfw list`: what is in bundles and images, without taking it out.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::settings::{Format, Settings};
use super::source;
use crate::bundle::{Bundle, ComponentVersion, Entry};
use crate::image::ImageInfo;
use crate::report::json::ListedFile;
use crate::report::{json, list};

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Bundles, images, or folders of them
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
}

/// One readable file or folder with its entries.
struct Listed {
    bundle: Bundle,
    entries: Vec<Entry>,
}

impl ListArgs {
    /// Lists every file that can be read, and names the others.
    ///
    /// # Errors
    /// Only when the result cannot be written.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("list")?;
        let mut listed = Vec::new();
        let mut failures = Vec::new();
        for path in &self.paths {
            match Bundle::open(path) {
                Ok(bundle) => listed.push(Listed::new(bundle, &mut failures)),
                Err(error) => failures.push(error.into()),
            }
        }
        print(settings, &listed, &failures)?;
        Ok(if failures.is_empty() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}

impl Listed {
    /// The entries as the container describes them. A bare image has no container, so it
    /// describes itself.
    fn new(bundle: Bundle, failures: &mut Vec<CliError>) -> Self {
        let problems = bundle.problems().iter().map(|problem| CliError::Damaged {
            path: bundle.path().to_owned(),
            problems: vec![problem.to_string()],
        });
        failures.extend(problems);
        let mut entries = Vec::new();
        for mut entry in bundle.entries().iter().cloned() {
            let is_bare = entry.psid.is_none() && entry.other.is_none();
            if is_bare && let Err(error) = describe_itself(&bundle, &mut entry) {
                failures.push(error);
                continue;
            }
            entries.push(entry);
        }
        Self { bundle, entries }
    }
}

fn describe_itself(bundle: &Bundle, entry: &mut Entry) -> Result<(), CliError> {
    let bytes = bundle.read(entry.index)?;
    let info = source::describe(&bytes).map_err(|source| CliError::Image {
        place: source::place(entry),
        source,
    })?;
    describe(entry, info);
    Ok(())
}

fn describe(entry: &mut Entry, info: ImageInfo) {
    let filled = |text: String| Some(text).filter(|text| !text.is_empty());
    entry.psid = info.psid;
    entry.part_number = filled(info.part_number);
    entry.description = filled(info.description);
    entry.versions = info
        .version
        .map(|version| ComponentVersion {
            kind: "FW".to_owned(),
            text: info.branch.unwrap_or_else(|| version.to_string()),
            firmware: Some(version),
            trusted: true,
        })
        .into_iter()
        .chain(info.roms.iter().map(|rom| ComponentVersion {
            kind: rom.kind.clone(),
            text: rom.version_text(),
            firmware: None,
            trusted: true,
        }))
        .collect();
}

fn print(settings: &Settings, listed: &[Listed], failures: &[CliError]) -> Result<(), CliError> {
    let mut out = BufWriter::new(io::stdout().lock());
    if settings.format == Format::Json {
        let files: Vec<ListedFile<'_>> = listed
            .iter()
            .map(|listed| ListedFile {
                file: listed.bundle.path().display().to_string(),
                kind: listed.bundle.kind().to_string(),
                entries: &listed.entries,
            })
            .collect();
        let problems: Vec<_> = failures.iter().map(CliError::problem).collect();
        json::list(&mut out, &files, &problems)?;
    } else if !listed.is_empty() {
        let entries: Vec<&Entry> = listed.iter().flat_map(|listed| &listed.entries).collect();
        list::table(&mut out, &entries)?;
    }
    out.flush()?;
    for error in failures {
        super::tell(settings, error);
    }
    Ok(())
}
