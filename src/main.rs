//! The `cxfw` program: parse, run, exit code. Everything else is the library.

use std::process::ExitCode;

use cxfw::cli;

fn main() -> ExitCode {
    match cli::usage::parse(std::env::args_os()) {
        Ok(line) => cli::run(&line).into(),
        Err(exit) => exit.into(),
    }
}
