//! Where log lines go.

use std::fs::OpenOptions;

use env_logger::{Builder, Target};
use log::LevelFilter;

use super::args::GlobalArgs;
use super::error::CliError;

/// Starts the log: warnings to stderr, more with `-v`, nothing below errors with `--quiet`; a log
/// file takes everything from `info` on.
///
/// # Errors
/// When the log file cannot be written.
pub fn start(args: &GlobalArgs) -> Result<(), CliError> {
    let level = match (args.quiet, args.verbose, &args.log_file) {
        (_, 2.., _) => LevelFilter::Trace,
        (_, 1, Some(_)) => LevelFilter::Debug,
        (_, 1, None) | (_, 0, Some(_)) => LevelFilter::Info,
        (true, 0, None) => LevelFilter::Error,
        (false, 0, None) => LevelFilter::Warn,
    };
    let mut builder = Builder::new();
    builder.filter_level(level).format_target(false);
    if level < LevelFilter::Trace {
        // It warns of every request that means nothing on a tree like sysfs (flush, xattr).
        builder.filter_module("fuser", LevelFilter::Error);
    }
    if let Some(path) = &args.log_file {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|source| CliError::File {
                action: "open",
                path: path.clone(),
                source,
            })?;
        builder.target(Target::Pipe(Box::new(file)));
    }
    // A second start in one process (a test) keeps the first log.
    if builder.try_init().is_ok() {
        let line: Vec<String> = std::env::args().collect();
        log::info!("cxfw {}: {}", env!("CARGO_PKG_VERSION"), line.join(" "));
    }
    Ok(())
}
