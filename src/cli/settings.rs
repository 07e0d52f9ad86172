//! The command line as meant: defaults, environment and terminals resolved in one place.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use super::args::{ColorArg, Command, FormatArg, GlobalArgs, ProgressArg, SourceArgs};
use super::error::CliError;
use crate::config::Config;
use crate::release::{Freshness, Sources};
use crate::report::Palette;
use crate::report::progress::Style;
use crate::sys;

/// Which host to work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A real one; `None`: this machine's `/sys`.
    Host(Option<PathBuf>),
    /// A simulated one in this folder.
    Lab(PathBuf),
}

/// Form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For programs that know mlxfwmanager.
    Xml,
}

/// Where images come from.
#[derive(Debug)]
pub enum SourceChoice {
    /// Nowhere.
    None,
    /// These files.
    Files(Vec<PathBuf>),
    /// Every firmware file in this folder.
    Folder(PathBuf),
    /// The lab's own bundles.
    Lab,
    /// Lists of releases, to be asked, and whether files that were fetched before are good enough.
    Lists(Box<Sources>, Freshness),
}

/// What every command needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which host.
    pub target: Target,
    /// Form of the result.
    pub format: Format,
    /// Folder of lock files, if not the host's own.
    pub lock_dir: Option<PathBuf>,
    /// Longest wait for a held card.
    pub lock_wait: Duration,
    /// Only results and errors.
    pub quiet: bool,
    /// Form of the progress.
    pub progress: Style,
    /// Colour of messages on stderr.
    pub palette: Palette,
    /// What the site says for all its hosts.
    pub config: Config,
}

impl Settings {
    /// What `args` mean here.
    #[must_use]
    pub fn new(args: &GlobalArgs) -> Self {
        let format = match args.format {
            FormatArg::Text => Format::Text,
            FormatArg::Json => Format::Json,
            FormatArg::Xml => Format::Xml,
        };
        Self {
            target: match &args.lab {
                Some(dir) => Target::Lab(dir.clone().unwrap_or_else(sys::default_lab_dir)),
                None => Target::Host(args.sysfs.clone()),
            },
            format,
            lock_dir: args.lock_dir.clone(),
            lock_wait: args.timeout,
            quiet: args.quiet,
            progress: progress(args, format),
            palette: Palette::new(coloured(args.color)),
            config: Config::default(),
        }
    }

    /// Reads the site's configuration for a command that it has a say in.
    ///
    /// # Errors
    /// [`CliError::Config`].
    pub fn configure(&mut self, args: &GlobalArgs, command: &Command) -> Result<(), CliError> {
        if command.is_configured() {
            self.config = Config::load(args.config.as_deref())?;
        }
        Ok(())
    }

    /// Where images come from: what was given, else the site's sources, else the lab's own bundles,
    /// else nowhere.
    ///
    /// # Errors
    /// Options about sources that make no sense.
    pub fn source(&self, args: &SourceArgs) -> Result<SourceChoice, CliError> {
        if !args.image.is_empty() {
            return Ok(SourceChoice::Files(args.image.clone()));
        }
        if let Some(dir) = &args.image_dir {
            return Ok(SourceChoice::Folder(dir.clone()));
        }
        let list = args.releases.list(&self.config)?;
        if !list.is_empty() {
            let sources = args.releases.network.sources(list, &self.config)?;
            let freshness = args.releases.network.freshness();
            return Ok(SourceChoice::Lists(Box::new(sources), freshness));
        }
        Ok(match &self.target {
            Target::Lab(_) => SourceChoice::Lab,
            Target::Host(_) => SourceChoice::None,
        })
    }

    /// Refuses XML for a command that has none.
    ///
    /// # Errors
    /// [`CliError::Format`].
    pub fn no_xml(&self, command: &'static str) -> Result<(), CliError> {
        match self.format {
            Format::Xml => Err(CliError::Format {
                command,
                format: "XML",
            }),
            Format::Text | Format::Json => Ok(()),
        }
    }
}

/// A bar only where it can be redrawn: on a terminal that no log lines share.
fn progress(args: &GlobalArgs, format: Format) -> Style {
    let terminal = std::io::stderr().is_terminal();
    match args.progress {
        Some(ProgressArg::Json) => Style::Json,
        _ if args.no_progress || args.quiet => Style::Silent,
        _ if terminal && (args.verbose == 0 || args.log_file.is_some()) => Style::Bar,
        None if format != Format::Text => Style::Silent,
        _ => Style::Lines,
    }
}

fn coloured(choice: ColorArg) -> bool {
    match choice {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto => {
            let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            !refused && std::io::stderr().is_terminal()
        }
    }
}
