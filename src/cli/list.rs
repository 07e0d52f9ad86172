//! `cxfw list`: what is in bundles and images, without taking it out.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::settings::{Format, Settings};
use super::source;
use crate::bundle::{Bundle, Entry, Members, Options, Subfolders};
use crate::report::json::ListedFile;
use crate::report::waiting::Waiting;
use crate::report::{json, list};

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Bundles, images, or folders of them; `-` for standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,

    /// Read versions from the images where the bundle does not tell them for certain (inflates it)
    #[arg(long)]
    deep: bool,

    /// Look into folders inside a folder
    #[arg(short, long)]
    recursive: bool,
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
        let waiting = Waiting::new(settings.progress);
        for path in &self.paths {
            match source::open(path, &self.options()) {
                Ok(mut bundle) => {
                    if self.deep {
                        waiting.reading(&bundle);
                        bundle.deep_versions();
                    }
                    failures.extend(bundle.problems().iter().cloned().map(CliError::from));
                    bundles.push(bundle);
                }
                Err(error) => failures.push(error),
            }
        }
        drop(waiting);
        print(settings, &bundles, &failures)?;
        Ok(if failures.is_empty() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }

    fn options(&self) -> Options {
        let subfolders = if self.recursive {
            Subfolders::Read
        } else {
            Subfolders::Ignore
        };
        Options {
            subfolders,
            members: Members::All,
        }
    }
}

fn print(settings: &Settings, bundles: &[Bundle], failures: &[CliError]) -> Result<(), CliError> {
    let mut out = BufWriter::new(io::stdout().lock());
    if settings.format == Format::Json {
        let files: Vec<ListedFile<'_>> = bundles.iter().map(ListedFile::of).collect();
        let problems: Vec<_> = failures.iter().map(CliError::problem).collect();
        json::list(&mut out, &files, &problems)?;
    } else if !bundles.is_empty() {
        let entries: Vec<&Entry> = bundles.iter().flat_map(Bundle::entries).collect();
        list::tables(&mut out, &entries)?;
    }
    out.flush()?;
    for error in failures {
        super::tell(settings, error);
    }
    Ok(())
}
