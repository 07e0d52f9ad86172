//! Everything that ends a command, with what to do next and the exit code.

use std::io;
use std::path::PathBuf;

use super::exit::Exit;
use super::release_error::ReleaseError;
use crate::access::AccessError;
use crate::bundle::BundleError;
use crate::card::advice_for;
use crate::config::ConfigError;
use crate::flash::backup::BackupError;
use crate::flash::component;
use crate::flash::{BurnFault, LockError};
use crate::image::ImageError;
use crate::lab::LabError;
use crate::lab::host::HostError;
#[cfg(feature = "mount")]
use crate::lab::mount::MountError;
use crate::pci::{EnumerationError, FunctionError, NameError};
use crate::report::json::Problem;

/// Advice beside an error. Libraries need not know the options of a command line, so theirs is
/// kept apart and added here.
pub trait Hint {
    /// What to do about it.
    fn hint(&self) -> Option<String>;
}

/// Why a command ended.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The site's configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Releases cannot be found, fetched or listed.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// A firmware file cannot be used.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// An image inside a file cannot be used.
    #[error("{place}: {source}")]
    Image {
        /// The file, and the image in it.
        place: String,
        /// What is wrong.
        source: ImageError,
    },
    /// An image is not what it was when the plan was made.
    #[error("{place}: the file has changed since it was read")]
    Changed {
        /// The file, and the image in it.
        place: String,
    },
    /// Standard input was asked for, and is a terminal.
    #[error("standard input is a terminal, not a firmware file")]
    NothingOnInput,
    /// A folder was given where a file belongs.
    #[error("{}: is a directory", path.display())]
    Directory {
        /// The folder.
        path: PathBuf,
    },
    /// A file was given where a folder belongs.
    #[error("{}: is not a directory", path.display())]
    NotADirectory {
        /// The file, or what is not there.
        path: PathBuf,
    },
    /// Firmware files of a folder cannot be used.
    #[error("{}: {} firmware file(s) cannot be used: {}", path.display(), problems.len(), problems.join("; "))]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// Each file with what is wrong.
        problems: Vec<String>,
    },
    /// Nothing to update from.
    #[error("no firmware was given to update from")]
    NoSource,
    /// None of the images is for any of the cards.
    #[error(
        "no image in {source_name} is for any of these cards: images are for {}, cards are {}",
        some_of(boards),
        some_of(cards)
    )]
    Unmatched {
        /// Where the images are.
        source_name: String,
        /// Boards there are images for.
        boards: Vec<String>,
        /// Boards there are cards of.
        cards: Vec<String>,
    },
    /// Addresses were given for a card whose firmware runs and keeps its own.
    #[error(
        "--guid and --mac are not for {device}: it is burned through its firmware, which keeps the addresses it has"
    )]
    IdentityKept {
        /// The card.
        device: String,
    },
    /// A lab cannot be made or used.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A lab cannot be mounted.
    #[cfg(feature = "mount")]
    #[error(transparent)]
    Mount(#[from] MountError),
    /// A program could not be run in a lab.
    #[error("cannot run `{program}`: {source}")]
    Program {
        /// Its name as given.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A description of a simulated host cannot be used.
    #[error("{}: {source}", path.display())]
    HostFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: HostError,
    },
    /// No such command.
    #[error("there is no command `{name}`")]
    NoCommand {
        /// The name.
        name: String,
    },
    /// The bus could not be read.
    #[error(transparent)]
    Enumeration(#[from] EnumerationError),
    /// A PCI function could not be described.
    #[error("a PCI function is left out: {0}")]
    Function(#[from] FunctionError),
    /// No card has that name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no card at all.
    #[error("no devices found")]
    NoDevice,
    /// The addresses of one card, and not one card.
    #[error("--guid and --mac belong to one card, which has to be named")]
    IdentityOfMany,
    /// A question that nobody can answer.
    #[error("{cards} card(s) would be burned, and there is no terminal to ask on")]
    NoTerminal {
        /// How many.
        cards: usize,
    },
    /// A card could not be reached.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The update handle of a card could not be asked for or taken away.
    #[error(transparent)]
    UpdateHandle(#[from] component::Fault),
    /// A card could not be locked.
    #[error(transparent)]
    CardLock(#[from] LockError),
    /// A card that a command works on cannot be opened.
    #[error("{device}: the card cannot be used, so nothing was done: {reason}")]
    Closed {
        /// The card.
        device: String,
        /// Stable word for programs.
        code: &'static str,
        /// Why not.
        reason: String,
        /// What to do about it.
        advice: Option<String>,
    },
    /// A command for one card, and there are several.
    #[error("`{command}` works on one card, which has to be named")]
    NotOneCard {
        /// The command.
        command: &'static str,
    },
    /// No backup was made.
    #[error("{device}: no backup was made: {source}")]
    Backup {
        /// The card.
        device: String,
        /// Why not.
        source: Box<BackupError>,
    },
    /// A lock is freed on one card that was named.
    #[error("--release-lock frees the locks of one card, which has to be named")]
    NotOneDevice,
    /// A question about a lock that nobody can answer.
    #[error("there is no terminal to ask on")]
    NoTerminalForLock,
    /// A lock whose owner lives.
    #[error("{device}: {lock}: it is not freed, its owner lives")]
    LockInUse {
        /// The card.
        device: String,
        /// What is held, by whom.
        lock: String,
        /// The owner.
        pid: u32,
    },
    /// The user said no.
    #[error("{device}: the {lock} was not freed, as you wished")]
    LockKept {
        /// The card.
        device: String,
        /// Which.
        lock: String,
    },
    /// A form the command does not have.
    #[error("`{command}` has no {format} output")]
    Format {
        /// The command.
        command: &'static str,
        /// The form.
        format: &'static str,
    },
    /// The board asked for is not in the bundle.
    #[error("{}: no image for {psid}", file.display())]
    NotInBundle {
        /// The bundle.
        file: PathBuf,
        /// The board.
        psid: String,
        /// Boards that are there.
        present: Vec<String>,
    },
    /// Several images for the board, and none is the newest.
    #[error("{}: {} images for {psid}: {}", file.display(), hits.len(), some_of(hits))]
    SeveralInBundle {
        /// The bundle.
        file: PathBuf,
        /// The board.
        psid: String,
        /// Each by member, tag and version.
        hits: Vec<String>,
    },
    /// A text that is no PSID.
    #[error("`{text}` is not a PSID (1 to 32 printable characters, such as MT_2420110034)")]
    NotAPsid {
        /// The text.
        text: String,
    },
    /// Reading or writing on the way.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing the result.
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    /// The exit code.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Release(error) => error.exit(),
            Self::NoSource
            | Self::NoTerminal { .. }
            | Self::NotOneDevice
            | Self::NotOneCard { .. }
            | Self::IdentityOfMany
            | Self::NoTerminalForLock
            | Self::Format { .. }
            | Self::NotAPsid { .. }
            | Self::NothingOnInput
            | Self::NoCommand { .. } => Exit::Usage,
            Self::Unmatched { .. }
            | Self::LockInUse { .. }
            | Self::LockKept { .. }
            | Self::IdentityKept { .. } => Exit::Refused,
            Self::Backup { source, .. } if source.is_refusal() => Exit::Refused,
            Self::NoDevice | Self::Name(_) => Exit::NoDevice,
            // as shells tell it
            Self::Program { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Exit::Program(127)
            }
            Self::Program { .. } => Exit::Program(126),
            _ => Exit::Failed,
        }
    }

    /// Stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Config(_) => "bad_config",
            Self::Release(error) => error.code(),
            Self::Bundle(error) => error.class(),
            Self::Image { .. } => "bad_image",
            Self::Changed { .. } => "file_changed",
            Self::NothingOnInput => "no_input",
            Self::Directory { .. } => "is_directory",
            Self::NotADirectory { .. } => "not_a_directory",
            Self::Damaged { .. } => "damaged",
            Self::NoSource => "no_source",
            Self::Unmatched { .. } => "psid_not_found",
            Self::Lab(_) | Self::HostFile { .. } => "lab",
            #[cfg(feature = "mount")]
            Self::Mount(_) => "mount",
            Self::Program { .. } => "program",
            Self::NoCommand { .. } => "usage",
            Self::Enumeration(_) => "enumeration",
            Self::Function(_) => "function_unreadable",
            Self::Name(_) => "unknown_device",
            Self::NoDevice => "no_device",
            Self::NoTerminal { .. } | Self::NoTerminalForLock => "no_terminal",
            Self::Access(_) => "access",
            Self::UpdateHandle(fault) => fault.reason(),
            Self::CardLock(_) => "card_locked",
            Self::NotOneDevice | Self::NotOneCard { .. } | Self::IdentityOfMany => "usage",
            Self::IdentityKept { .. } => "identity_kept",
            Self::Closed { code, .. } => code,
            Self::Backup { source, .. } => source.reason(),
            Self::LockInUse { .. } => "lock_in_use",
            Self::LockKept { .. } => "declined",
            Self::Format { .. } => "format",
            Self::NotInBundle { .. } => "psid_not_found",
            Self::SeveralInBundle { .. } => "ambiguous",
            Self::NotAPsid { .. } => "bad_psid",
            Self::File { .. } => "io",
            Self::Output(_) => "output",
        }
    }

    /// The reader of stdout went away: no error, the rest is simply not wanted.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// For the `errors` of the JSON output.
    #[must_use]
    pub fn problem(&self) -> Problem {
        Problem {
            code: self.code().to_owned(),
            message: self.to_string(),
            advice: self.hint(),
        }
    }
}

impl Hint for CliError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Config(ConfigError::Wrong { .. }) => {
                "correct it there; the example in docs/config.toml has every key"
            }
            Self::Config(ConfigError::Io { .. }) => {
                "check the name and the permissions of the file"
            }
            Self::Release(error) => return error.hint(),
            Self::Bundle(error) => return error.hint(),
            Self::Image { .. } => "the file is damaged or was edited; fetch it once more",
            Self::Changed { .. } => {
                "leave the firmware files alone during an update, and run it again"
            }
            Self::Directory { path } => {
                return Some(format!(
                    "use --image-dir {} for a folder of firmware",
                    path.display()
                ));
            }
            Self::NothingOnInput => "pipe or redirect a file into it, or name the file",
            Self::NotADirectory { .. } => "name a folder, or a file with --image",
            Self::Damaged { .. } => {
                "fetch these files once more or take them out of the folder; one of them may hold the newest firmware"
            }
            Self::NoSource => {
                "give --image FILE, --image-dir DIR, --online or --index URL-or-FILE (or --lab for the simulated host)"
            }
            Self::Enumeration(_) => "run on Linux with sysfs mounted, or give --sysfs DIR",
            Self::NoDevice => {
                "check with `lspci -d 15b3:` that the system sees a card; --lab works on simulated ones"
            }
            Self::NotOneDevice | Self::NotOneCard { .. } | Self::IdentityOfMany => {
                "name it with -d DEV"
            }
            Self::IdentityKept { .. } => {
                "leave them out; they are for a card in recovery whose flash has lost its own"
            }
            Self::Closed { advice, .. } => return advice.clone(),
            Self::Backup { source, .. } if source.reason() == "secure_firmware" => {
                "no tool can copy such a flash: keep the image file of the version it runs; the way \
                 back is `cxfw update --image FILE --allow-downgrade`"
            }
            Self::Backup { device, source } if source.is_interrupted() => {
                return Some(format!(
                    "no file is left; make it again when convenient: `cxfw backup -d {device} -o FILE`"
                ));
            }
            Self::Backup { device, source } => {
                let advice = source.advice().replace("run the update", "run the backup");
                return Some(advice_for(device, &advice));
            }
            Self::NoTerminalForLock => "look whether its owner is dead, then run again with --yes",
            Self::LockInUse { pid, .. } => {
                return Some(format!("let process {pid} end, or end it"));
            }
            Self::CardLock(error) => return Some(error.advice()),
            Self::UpdateHandle(fault) => return Some(fault.advice()),
            Self::NoTerminal { .. } => "look at the plan with --dry-run, then run again with --yes",
            Self::Format { .. } => "use --format text or --format json",
            Self::NotInBundle { present, .. } => {
                return Some(format!("there are images for {}", some_of(present)));
            }
            Self::SeveralInBundle { .. } => "choose one with --tag or --member",
            Self::Unmatched { .. } => {
                "the PSID names the board, and only an image for that very board goes on a card"
            }
            Self::Lab(error) => return error.hint(),
            #[cfg(feature = "mount")]
            Self::Mount(error) => return error.hint(),
            Self::HostFile { source, .. } => return source.hint(),
            Self::Function(_) => {
                "look at the function with `lspci -vvs`; the others are not affected"
            }
            Self::Access(_)
            | Self::LockKept { .. }
            | Self::Name(_)
            | Self::NotAPsid { .. }
            | Self::File { .. }
            | Self::Program { .. }
            | Self::NoCommand { .. }
            | Self::Output(_) => return None,
        };
        Some(text.to_owned())
    }
}

#[cfg(feature = "mount")]
impl Hint for MountError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Tree { .. } => "make the lab anew with `cxfw lab new --replace`",
            Self::NoFuse => {
                "load the kernel's module (`modprobe fuse`); start a container with --device /dev/fuse"
            }
            Self::Refused { .. } => {
                "name an existing folder; run as root (in a container: with --cap-add SYS_ADMIN), or \
                 install fuse3, whose fusermount3 lets other users mount"
            }
            Self::View { .. } => {
                "run as root; in a container: with --cap-add SYS_ADMIN --device /dev/fuse"
            }
            Self::HelperNode { .. } => {
                "unload the vendor's kernel module first (`mst stop`), so that no program takes the \
                 real card for the simulated one"
            }
        };
        Some(text.to_owned())
    }
}

/// The first few, and how many more.
fn some_of(items: &[String]) -> String {
    const SHOWN: usize = 8;
    match items {
        [] => "none".to_owned(),
        few if few.len() <= SHOWN => few.join(", "),
        many => format!(
            "{} and {} more",
            many[..SHOWN].join(", "),
            many.len() - SHOWN
        ),
    }
}

impl Hint for BundleError {
    fn hint(&self) -> Option<String> {
        let text = match self.class() {
            "entry_not_found" => return None,
            "io" | "not_a_file" => "check the name and the permissions of the file",
            "empty" => "the download was cut off; fetch the file once more",
            "no_firmware" => "give an .mfa bundle or a .bin image",
            "limit_exceeded" | "unsupported_version" | "unsupported_compression" => {
                "update cxfw if the file is from a trusted place"
            }
            _ => "the file is damaged; fetch it once more",
        };
        Some(text.to_owned())
    }
}
