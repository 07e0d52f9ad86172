//! `cxfw lab mount`: serve the lab as a live file tree until Ctrl-C.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::CliError;
use crate::cli::exit::Exit;
use crate::cli::settings::{Format, Settings};
use crate::lab::Lab;
use crate::lab::mount::{Mount, Stopped};
use crate::report::{failure, lab as report};

/// How often is looked whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Arguments of `lab mount`.
#[derive(Debug, Args)]
pub struct MountArgs {
    /// An existing folder to mount on
    #[arg(value_name = "DIR")]
    mountpoint: PathBuf,
}

impl MountArgs {
    /// Serves until a signal or an unmount from outside.
    pub(super) fn run(&self, lab: &Lab, settings: &Settings) -> Result<Exit, CliError> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let roots = lab.roots();
        let mount = Mount::start(&roots.sysfs, lab.config_source(), &self.mountpoint)?;
        let mut out = io::stdout().lock();
        if settings.format == Format::Json {
            report::mounted_json(&mut out, lab.dir(), &self.mountpoint)?;
        } else {
            report::mounted(&mut out, lab.dir(), &self.mountpoint, &roots.locks)?;
        }
        out.flush()?;
        drop(out);
        loop {
            if mount.is_over() {
                return Ok(Exit::Done);
            }
            if signals.pending().next().is_some() {
                break;
            }
            std::thread::sleep(LOOK);
        }
        if mount.stop()? == Stopped::InUse {
            let text = format!(
                "{} was still in use; the programs that use it will fail",
                self.mountpoint.display()
            );
            failure::warning(&mut io::stderr(), settings.palette, &text)?;
        }
        Ok(Exit::Done)
    }
}
