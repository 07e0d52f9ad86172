//! The `cxfw` program: parse, run, exit code. Everything else is the library.

use std::process::ExitCode;

use clap::Parser;
use cxfw::cli;

fn main() -> ExitCode {
    cli::run(&cli::args::Cli::parse()).into()
}
