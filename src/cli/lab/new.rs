//! `cxfw lab new`: make a simulated host.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::CliError;
use crate::lab::host::HostSpec;
use crate::lab::{Lab, LabError};

/// Arguments of `lab new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// Description of the host (see fixtures/lab/default.json), instead of the built-in one
    #[arg(long, value_name = "FILE")]
    host: Option<PathBuf>,

    /// Throw away the lab that is there
    #[arg(long)]
    replace: bool,
}

impl NewArgs {
    /// Makes the lab in `dir`.
    pub(super) fn run(&self, dir: &Path) -> Result<Lab, CliError> {
        let host = match &self.host {
            Some(file) => from_file(file)?,
            None => HostSpec::default_host().map_err(LabError::from)?,
        };
        Ok(if self.replace {
            Lab::replace(dir, &host)?
        } else {
            Lab::create(dir, &host)?
        })
    }
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
