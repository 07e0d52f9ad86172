//! `cxfw lab`: make, inspect and restart a simulated host.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::error::CliError;
use super::exit::Exit;
use super::settings::{Format, Settings, Target};
use crate::lab::host::HostSpec;
use crate::lab::{Lab, LabError};
use crate::report::lab as report;
use crate::sys;

/// Arguments of `lab`.
#[derive(Debug, Args)]
pub struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Make a lab in the folder of `--lab`
    New {
        /// Description of the host (see fixtures/lab/default.json), instead of the built-in one
        #[arg(long, value_name = "FILE")]
        host: Option<PathBuf>,

        /// Throw away the lab that is there
        #[arg(long)]
        replace: bool,
    },
    /// Show what every simulated chip is doing
    Status,
    /// Restart the simulated host: every chip boots from its flash
    Reset,
}

impl LabArgs {
    /// Works on the lab of `--lab`, which needs not be given for the default one.
    ///
    /// # Errors
    /// When the lab cannot be made, opened or restarted.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("lab")?;
        let dir = match &settings.target {
            Target::Lab(dir) => dir.clone(),
            Target::Host(_) => sys::default_lab_dir(),
        };
        match &self.command {
            LabCommand::New { host, replace } => {
                let host = match host {
                    Some(file) => from_file(file)?,
                    None => HostSpec::default_host().map_err(LabError::from)?,
                };
                if *replace {
                    remove(&dir)?;
                }
                show(&Lab::create(&dir, &host)?, settings)
            }
            LabCommand::Status => show(&Lab::open(&dir)?, settings),
            LabCommand::Reset => {
                let lab = Lab::open(&dir)?;
                lab.reset()?;
                show(&lab, settings)
            }
        }
    }
}

fn show(lab: &Lab, settings: &Settings) -> Result<Exit, CliError> {
    let status = lab.status()?;
    let mut out = io::stdout().lock();
    if settings.format == Format::Json {
        report::json(&mut out, lab.dir(), &status)?;
    } else {
        report::text(&mut out, lab.dir(), &status)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn from_file(path: &Path) -> Result<HostSpec, CliError> {
    let text = fs::read_to_string(path).map_err(|source| CliError::File {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    HostSpec::from_json(&text).map_err(|source| CliError::HostFile {
        path: path.to_owned(),
        source,
    })
}

/// Removes a lab, and nothing that is not one.
fn remove(dir: &Path) -> Result<(), CliError> {
    match Lab::open(dir) {
        Ok(_) | Err(LabError::Broken { .. }) => {}
        Err(LabError::Missing(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    fs::remove_dir_all(dir).map_err(|source| CliError::File {
        action: "remove",
        path: dir.to_owned(),
        source,
    })
}
