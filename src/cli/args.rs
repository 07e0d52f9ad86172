//! The command line as typed. What it means is [`super::settings`]'s business.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};

use crate::flash::direct::RecoveryIdentity;
use crate::identity::{Guid, Mac};

use super::release_args::ReleaseArgs;
use super::{
    backup, completions, download, extract, lab, list, man, mirror, query, restore, update, verify,
};

/// Query and update the firmware of Mellanox/NVIDIA ConnectX network cards.
#[derive(Debug, Parser)]
#[command(
    name = "cxfw",
    version,
    about,
    propagate_version = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what is plugged in, running, stored and on offer
    Query(query::QueryArgs),
    /// Plan, show, ask, burn, verify and report, card by card
    Update(update::UpdateArgs),
    /// Save the whole flash of a card to a file, or its firmware image where only that can be read
    Backup(backup::BackupArgs),
    /// Put the firmware of a backup back on its card
    Restore(restore::RestoreArgs),
    /// List the images in bundles
    List(list::ListArgs),
    /// Make every check on bundles and images
    Verify(verify::VerifyArgs),
    /// Take one image out of a bundle
    Extract(extract::ExtractArgs),
    /// Fetch releases into a folder, verified
    Download(download::DownloadArgs),
    /// Make a folder of firmware a source for other hosts: an index over it
    Mirror(mirror::MirrorArgs),
    /// Make, inspect, break and restart a simulated host
    Lab(lab::LabArgs),
    /// Print shell completions
    Completions(completions::CompletionsArgs),
    /// Print the manual page
    Man(man::ManArgs),
}

impl Command {
    /// The word, as in the schema of its JSON.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Query(_) => "query",
            Self::Update(_) => "update",
            Self::Backup(_) => "backup",
            Self::Restore(_) => "restore",
            Self::List(_) => "list",
            Self::Verify(_) => "verify",
            Self::Extract(_) => "extract",
            Self::Download(_) => "download",
            Self::Mirror(_) => "mirror",
            Self::Lab(_) => "lab",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
        }
    }

    /// Whether the site's configuration has a say in it. The others work although it is broken.
    #[must_use]
    pub const fn is_configured(&self) -> bool {
        !matches!(
            self,
            Self::List(_)
                | Self::Verify(_)
                | Self::Extract(_)
                | Self::Lab(_)
                | Self::Completions(_)
                | Self::Man(_)
        )
    }
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Work on a simulated host kept in DIR instead of this machine (without DIR: in the user's
    /// state directory); it is made if it is not there
    #[arg(long, global = true, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    pub lab: Option<Option<PathBuf>>,

    /// Look for cards below DIR instead of /sys
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "lab")]
    pub sysfs: Option<PathBuf>,

    /// Configuration of the site in place of /etc/cxfw/config.toml
    #[arg(long, global = true, value_name = "FILE", env = "CXFW_CONFIG")]
    pub config: Option<PathBuf>,

    /// Form of the result on stdout
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    pub format: FormatArg,

    /// Folder of the lock files, one a card
    #[arg(long, global = true, value_name = "DIR", env = "CXFW_LOCK_DIR")]
    pub lock_dir: Option<PathBuf>,

    /// Longest wait for a card that another process holds, in seconds
    #[arg(long, global = true, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub timeout: Duration,

    /// Only results and errors: no report before an update, no progress, no warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Log what is done; twice: log every access
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Log to FILE instead of stderr
    #[arg(long, global = true, value_name = "FILE")]
    pub log_file: Option<PathBuf>,

    /// Show no progress
    #[arg(long, global = true, conflicts_with = "progress")]
    pub no_progress: bool,

    /// Form of the progress on stderr
    #[arg(long, global = true, value_enum, value_name = "FORM")]
    pub progress: Option<ProgressArg>,

    /// Colour of messages
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorArg,
}

impl GlobalArgs {
    /// Options that exclude each other. The parser sees them only where they stand on the same
    /// side of the command, so they are looked at once more.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        if self.lab.is_some() && self.sysfs.is_some() {
            Some("--sysfs cannot be used with --lab")
        } else if self.quiet && self.verbose > 0 {
            Some("--quiet cannot be used with --verbose")
        } else if self.no_progress && self.progress.is_some() {
            Some("--no-progress cannot be used with --progress")
        } else {
            None
        }
    }
}

/// `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum FormatArg {
    /// As mlxup prints it
    #[default]
    Text,
    /// One object, see docs/schema
    Json,
    /// As mlxfwmanager prints it (query only)
    Xml,
}

/// `--progress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressArg {
    /// A bar on a terminal, lines otherwise
    Text,
    /// One object a line
    Json,
}

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorArg {
    /// When stderr is a terminal and NO_COLOR is not set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Word that names every card.
const ALL: &str = "all";

/// Which cards.
#[derive(Debug, Clone, Default, Args)]
pub struct DeviceArgs {
    /// A card: PCI address, RDMA or network interface, MFT name, or `all`; repeatable
    #[arg(short, long = "device", value_name = "DEV")]
    pub device: Vec<String>,
}

impl DeviceArgs {
    /// No card was singled out.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.device.is_empty() || self.device.iter().any(|name| name == ALL)
    }

    /// The names of single cards among those given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.device
            .iter()
            .map(String::as_str)
            .filter(|&name| name != ALL)
    }
}

/// Where images come from.
#[derive(Debug, Clone, Default, Args)]
pub struct SourceArgs {
    /// Firmware file (image or bundle); repeatable
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["image_dir", "online", "index", "cafile", "proxy", "no_proxy", "refresh"])]
    pub image: Vec<PathBuf>,

    /// Folder of firmware files
    #[arg(short = 'D', long, value_name = "DIR", conflicts_with_all = ["online", "index", "cafile", "proxy", "no_proxy", "refresh"])]
    pub image_dir: Option<PathBuf>,

    /// Lists of releases.
    #[command(flatten)]
    pub releases: ReleaseArgs,
}

/// The addresses of one card, as its label tells them.
#[derive(Debug, Clone, Default, Args)]
pub struct IdentityArgs {
    /// Base GUID of a card whose flash has lost it, from the label; with --mac, and --method direct if
    /// firmware runs
    #[arg(long, value_name = "GUID", requires = "mac")]
    guid: Option<Guid>,

    /// Base MAC of a card whose flash has lost it, from the label; with --guid
    #[arg(long, value_name = "MAC", requires = "guid")]
    mac: Option<Mac>,

    /// How many GUIDs and MACs that card owns
    #[arg(long, value_name = "N", requires = "guid", default_value_t = RecoveryIdentity::USUAL_COUNT,
          value_parser = value_parser!(u8).range(1..))]
    addresses: u8,
}

impl IdentityArgs {
    /// The identity, if one was given.
    #[must_use]
    pub fn given(&self) -> Option<RecoveryIdentity> {
        let identity = RecoveryIdentity::new(self.guid?, self.mac?);
        Some(RecoveryIdentity {
            count: self.addresses,
            ..identity
        })
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn lab_takes_its_folder_only_behind_an_equals_sign() {
        let lab = |line: &[&str]| Cli::try_parse_from(line).unwrap().global.lab;
        assert_eq!(lab(&["cxfw", "query"]), None);
        assert_eq!(lab(&["cxfw", "--lab", "query"]), Some(None));
        assert_eq!(
            lab(&["cxfw", "query", "--lab=/tmp/x"]),
            Some(Some(PathBuf::from("/tmp/x")))
        );
    }
}
