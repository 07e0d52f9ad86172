//! `cxfw man`: the manual page on stdout.

use std::io::{self, Write};

use clap::{Args, CommandFactory};

use super::args::Cli;
use super::error::CliError;
use super::exit::Exit;

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Page of this command instead of the whole program
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

impl ManArgs {
    /// Prints it.
    ///
    /// # Errors
    /// When there is no such command, or stdout cannot be written.
    pub fn run(&self) -> Result<Exit, CliError> {
        let mut program = Cli::command();
        program.build();
        let command = match &self.command {
            None => program,
            Some(name) => match program.find_subcommand(name) {
                Some(command) => command.clone(),
                None => return Err(CliError::NoCommand { name: name.clone() }),
            },
        };
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        io::stdout().write_all(&page)?;
        Ok(Exit::Done)
    }
}
