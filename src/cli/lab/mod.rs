//! `cxfw lab`: make, inspect, break and restart a simulated host. One file a subcommand that is more
//! than a line.

mod advice;
#[cfg(feature = "mount")]
mod exec;
mod fault;
#[cfg(feature = "mount")]
mod mount;
mod new;

use std::io::{self, Write};

use clap::{Args, Subcommand};

use super::error::CliError;
use super::exit::Exit;
use super::settings::{Format, Settings, Target};
use crate::lab::Lab;
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
    New(new::NewArgs),
    /// Show what every simulated chip is doing, what went by on it and what is broken
    Status {
        /// Begin to count anew, after showing
        #[arg(long)]
        reset_counters: bool,
    },
    /// Break a simulated chip
    Fault(fault::FaultArgs),
    /// Restart the simulated host: every chip boots from its flash
    Reset,
    /// Serve the lab as a live file tree, for programs that take another folder for /sys
    #[cfg(feature = "mount")]
    Mount(mount::MountArgs),
    /// Run a program that sees the lab in place of the hardware
    #[cfg(feature = "mount")]
    Exec(exec::ExecArgs),
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
            LabCommand::New(args) => show(&args.run(&dir)?, settings),
            LabCommand::Status { reset_counters } => {
                let lab = Lab::open(&dir)?;
                let exit = show(&lab, settings)?;
                if *reset_counters {
                    lab.reset_counters()?;
                }
                Ok(exit)
            }
            LabCommand::Fault(args) => {
                let lab = Lab::open(&dir)?;
                args.run(&lab)?;
                show(&lab, settings)
            }
            LabCommand::Reset => {
                let lab = Lab::open(&dir)?;
                lab.reset()?;
                show(&lab, settings)
            }
            #[cfg(feature = "mount")]
            LabCommand::Mount(args) => args.run(&Lab::open_or_create(&dir)?.0, settings),
            #[cfg(feature = "mount")]
            LabCommand::Exec(args) => args.run(&Lab::open_or_create(&dir)?.0),
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
