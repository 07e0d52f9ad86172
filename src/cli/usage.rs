//! The command line before it means anything: parsed, or refused so that programs are told too.

use std::ffi::OsString;
use std::io;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::args::Cli;
use super::exit::Exit;
use crate::report::json::{self, Problem};

/// Parses the command line.
///
/// # Errors
/// How the run ends when there is nothing to run: help and version were printed, or the command
/// line makes no sense, which is told on stderr and, where JSON was asked for, on stdout.
pub fn parse(words: impl Iterator<Item = OsString>) -> Result<Cli, Exit> {
    let words: Vec<OsString> = words.collect();
    let error = match Cli::try_parse_from(&words) {
        Ok(cli) => match cli.global.contradiction() {
            None => return Ok(cli),
            Some(text) => Cli::command().error(ErrorKind::ArgumentConflict, text),
        },
        Err(error) => error,
    };
    // A reader that is gone cannot be told that it is.
    let _ = error.print();
    if !error.use_stderr() {
        return Err(Exit::Done);
    }
    if wants_json(&words) {
        let _ = json::failed(&mut io::stdout().lock(), command(&words), &problem(&error));
    }
    Err(Exit::Usage)
}

fn problem(error: &clap::Error) -> Problem {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    Problem {
        code: "usage".to_owned(),
        message: first.trim_start_matches("error: ").to_owned(),
        advice: Some("see `cxfw help`".to_owned()),
    }
}

/// `--format json` as the words say it; the parser itself gave up before it could tell.
fn wants_json(words: &[OsString]) -> bool {
    let is = |word: &OsString, text: &str| word.to_str() == Some(text);
    words.iter().any(|word| is(word, "--format=json"))
        || words
            .iter()
            .zip(words.iter().skip(1))
            .any(|(option, value)| is(option, "--format") && is(value, "json"))
}

/// The command that was meant, for the name of the document.
fn command(words: &[OsString]) -> &str {
    let known: Vec<String> = Cli::command()
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    words
        .iter()
        .skip(1)
        .filter_map(|word| word.to_str())
        .find(|word| known.iter().any(|name| name == word))
        .unwrap_or("usage")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn json_is_asked_for_in_both_spellings() {
        assert!(wants_json(&words("cxfw --format json query --bogus")));
        assert!(wants_json(&words("cxfw query --bogus --format=json")));
        assert!(!wants_json(&words("cxfw query --format text json")));
    }

    #[test]
    fn the_document_is_named_by_the_command_that_was_meant() {
        assert_eq!(command(&words("cxfw --lab=/x update --bogus")), "update");
        assert_eq!(command(&words("cxfw --bogus")), "usage");
    }

    #[test]
    fn options_that_contradict_each_other_are_seen_on_both_sides_of_the_command() {
        for line in [
            "cxfw --lab=/x query --sysfs /y",
            "cxfw -q query -v",
            "cxfw --no-progress query --progress json",
        ] {
            assert_eq!(
                parse(words(line).into_iter()).err(),
                Some(Exit::Usage),
                "{line}"
            );
        }
        assert!(parse(words("cxfw --lab=/x query -v").into_iter()).is_ok());
    }
}
