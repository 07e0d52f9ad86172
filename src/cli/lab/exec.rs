//! `cxfw lab exec`: run a program that sees the lab where the hardware would be.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::thread;

use clap::Args;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::CliError;
use crate::cli::exit::Exit;
use crate::lab::Lab;
use crate::lab::mount::View;

/// Arguments of `lab exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// The program and its arguments; ends with its exit code
    #[arg(
        required = true,
        num_args = 1..,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

impl ExecArgs {
    /// Runs the program and ends as it did.
    pub(super) fn run(&self, lab: &Lab) -> Result<Exit, CliError> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Ok(Exit::Usage);
        };
        let view = View::enter(&lab.roots(), lab.config_source())?;
        let mut command = Command::new(program);
        view.prepare(command.args(arguments));
        let status = supervise(&mut command).map_err(|source| CliError::Program {
            program: program.to_string_lossy().into_owned(),
            source,
        })?;
        Ok(Exit::Program(code(status)))
    }
}

/// Runs a program to its end. The terminal's signals reach it by themselves and do not end this
/// process, which serves its files; those that were sent to this process alone are passed on.
fn supervise(command: &mut Command) -> io::Result<ExitStatus> {
    let mut signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
    let stop = signals.handle();
    let mut child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
    // Not the number: that may be another process's once this one has ended.
    let program = pidfd_open(pid, PidfdFlags::empty())?;
    thread::scope(|scope| {
        scope.spawn(move || {
            for signal in signals.forever() {
                let meant = match signal {
                    SIGTERM => Signal::TERM,
                    SIGHUP => Signal::HUP,
                    _ => continue,
                };
                // It may have ended by itself.
                let _ = pidfd_send_signal(&program, meant);
            }
        });
        let status = child.wait();
        stop.close();
        status
    })
}

/// As a shell tells it: 128 + n when signal n ended the program.
fn code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}
