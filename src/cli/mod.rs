//! The command line: one file a command.
//!
//! [`usage`] parses it, [`args`] is what was typed, [`settings`] what it means, [`host`] and
//! [`source`] what it works on. A command returns its [`Exit`] or a [`CliError`], which is told here and nowhere else.

pub mod args;
pub mod ask;
pub mod backup;
mod burn;
pub mod completions;
pub mod download;
pub mod error;
pub mod exit;
pub mod extract;
mod fetch;
mod fleet;
pub mod host;
pub mod interrupt;
mod keep;
pub mod lab;
pub mod list;
pub mod logging;
pub mod man;
pub mod mirror;
pub mod offers;
mod one_card;
pub mod query;
mod queue;
mod release_args;
mod release_error;
mod release_lock;
mod releases;
pub mod restore;
pub mod settings;
pub mod source;
pub mod standard_input;
pub mod update;
pub mod usage;
pub mod verify;

use std::io;

use args::{Cli, Command};
use error::{CliError, Hint};
use exit::Exit;
use settings::{Format, Settings};

use crate::card::CardError;
use crate::plan::Status;
use crate::report::{CardView, Ending, Outcome, failure, json, xml};

/// Runs the command and tells what went wrong.
#[must_use]
pub fn run(cli: &Cli) -> Exit {
    let mut settings = Settings::new(&cli.global);
    let result = logging::start(&cli.global)
        .and_then(|()| settings.configure(&cli.global, &cli.command))
        .and_then(|()| dispatch(&cli.command, &settings));
    match result {
        Ok(exit) => exit,
        Err(error) if error.is_closed_pipe() => Exit::Done,
        Err(error) => {
            tell(&settings, &error);
            // A reader that is gone cannot be told that it is.
            let _ = tell_programs(&settings, cli.command.word(), &error);
            error.exit()
        }
    }
}

fn dispatch(command: &Command, settings: &Settings) -> Result<Exit, CliError> {
    match command {
        Command::Query(args) => args.run(settings),
        Command::Update(args) => args.run(settings),
        Command::List(args) => args.run(settings),
        Command::Verify(args) => args.run(settings),
        Command::Extract(args) => args.run(settings),
        Command::Backup(args) => args.run(settings),
        Command::Restore(args) => args.run(settings),
        Command::Download(args) => args.run(settings),
        Command::Mirror(args) => args.run(settings),
        Command::Lab(args) => args.run(settings),
        Command::Completions(args) => args.run(),
        Command::Man(args) => args.run(),
    }
}

/// Error, causes, advice, on stderr. A stderr that cannot be written leaves nobody to tell.
fn tell(settings: &Settings, error: &CliError) {
    log::info!("failed: {error}");
    let hint = error.hint();
    let _ = failure::print(&mut io::stderr(), settings.palette, error, hint.as_deref());
}

/// The document that programs wait for on stdout, also when there is nothing to report.
fn tell_programs(settings: &Settings, command: &str, error: &CliError) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match (settings.format, error) {
        (Format::Json, _) if has_document(command) => {
            json::failed(&mut out, command, &error.problem())
        }
        (Format::Xml, CliError::NoDevice) => xml::no_devices(&mut out),
        _ => Ok(()),
    }
}

/// Tells of a command that a signal ended, which is then its exit.
fn interrupted(
    settings: &Settings,
    command: &str,
    error: &CliError,
    exit: Exit,
) -> Result<Exit, CliError> {
    tell(settings, error);
    tell_programs(settings, command, error)?;
    Ok(exit)
}

fn has_document(command: &str) -> bool {
    matches!(
        command,
        "query"
            | "update"
            | "list"
            | "verify"
            | "extract"
            | "download"
            | "mirror"
            | "backup"
            | "restore"
            | "lab"
    )
}

/// `text` with the card's name in front, unless it is there already.
fn about(device: &str, text: &str) -> String {
    if text.starts_with(device) {
        text.to_owned()
    } else {
        format!("{device}: {text}")
    }
}

/// A card whose update failed or was refused, on stderr.
fn tell_outcome(settings: &Settings, device: &str, outcome: &Outcome) {
    if !matches!(
        outcome.ending,
        Ending::Failed | Ending::Refused | Ending::Interrupted
    ) {
        return;
    }
    let mut text = about(device, &outcome.reason);
    if let Some(state) = &outcome.state {
        text = format!("{text} ({state})");
    }
    log::info!("{}: {text}", outcome.ending.word());
    let advice = outcome.advice.as_deref();
    let _ = failure::plain(&mut io::stderr(), settings.palette, &text, advice);
}

/// Sentences that the user should know, on stderr.
fn warn(settings: &Settings, warnings: &[String]) {
    for text in warnings {
        log::info!("{text}");
        if !settings.quiet {
            let _ = failure::warning(&mut io::stderr(), settings.palette, text);
        }
    }
}

/// What could not be read, on stderr: each by name, with the reason and the advice. What is only
/// odd about a card is a warning.
fn tell_unread(settings: &Settings, views: &[CardView<'_>], unread: &[CliError]) {
    let mut err = io::stderr();
    for error in unread {
        tell(settings, error);
    }
    for CardView { card, decision, .. } in views {
        let device = &card.device;
        if decision.status == Status::Failed {
            let text = about(device, &decision.reason.to_string());
            let advice = decision.reason.advice();
            let _ = failure::plain(&mut err, settings.palette, &text, advice.as_deref());
            continue;
        }
        let odd = card
            .warnings
            .iter()
            .cloned()
            .chain(card.error.iter().map(CardError::with_advice));
        for text in odd.filter(|_| !settings.quiet) {
            let _ = failure::warning(&mut err, settings.palette, &about(device, &text));
        }
    }
}
