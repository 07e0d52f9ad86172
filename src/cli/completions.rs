//! `cxfw completions`: shell completions on stdout.

use std::io;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::args::Cli;
use super::error::CliError;
use super::exit::Exit;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    /// Prints them.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub fn run(&self) -> Result<Exit, CliError> {
        // clap_complete panics on a failing writer, so it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "cxfw", &mut script);
        io::Write::write_all(&mut io::stdout(), &script)?;
        Ok(Exit::Done)
    }
}
