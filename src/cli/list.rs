//! `cxfw list`: what is in bundles and images, without taking it out.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::settings::{Format, Settings};
use crate::bundle::{Bundle, Entry};
use crate::report::json::ListedFile;
use crate::report::{json, list};

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Bundles, images, or folders of them
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
}

impl ListArgs {
    /// Lists every file that can be read, and names the others.
    ///
    /// # Errors
    /// Only when the result cannot be written.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("list")?;
        let mut bundles = Vec::new();
        let mut failures = Vec::new();
        for path in &self.paths {
            match Bundle::open(path) {
                Ok(mut bundle) => {
                    bundle.deep_versions();
                    failures.extend(problems(&bundle));
                    bundles.push(bundle);
                }
                Err(error) => failures.push(error.into()),
            }
        }
        print(settings, &bundles, &failures)?;
        Ok(if failures.is_empty() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}

/// Files of a folder, or images, that cannot be used; the others are listed all the same.
fn problems(bundle: &Bundle) -> Option<CliError> {
    let problems = bundle.problems();
    (!problems.is_empty()).then(|| CliError::Damaged {
        path: bundle.path().to_owned(),
        problems: problems.iter().map(ToString::to_string).collect(),
    })
}

fn print(settings: &Settings, bundles: &[Bundle], failures: &[CliError]) -> Result<(), CliError> {
    let mut out = BufWriter::new(io::stdout().lock());
    if settings.format == Format::Json {
        let files: Vec<ListedFile<'_>> = bundles
            .iter()
            .map(|bundle| ListedFile {
                file: bundle.path().display().to_string(),
                kind: bundle.kind().to_string(),
                entries: bundle.entries(),
            })
            .collect();
        let problems: Vec<_> = failures.iter().map(CliError::problem).collect();
        json::list(&mut out, &files, &problems)?;
    } else if !bundles.is_empty() {
        let entries: Vec<&Entry> = bundles.iter().flat_map(Bundle::entries).collect();
        list::table(&mut out, &entries)?;
    }
    out.flush()?;
    for error in failures {
        super::tell(settings, error);
    }
    Ok(())
}
