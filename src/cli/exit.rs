//! Exit codes, a promise to scripts.

use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// Done, or nothing to do.
    Done,
    /// Something failed; each failure was named.
    Failed,
    /// The command line does not make sense, or a question could not be asked.
    Usage,
    /// An update is available (`query --exit-code`).
    UpdateAvailable,
    /// Refused by policy: PSID, downgrade, hardware id, signature.
    Refused,
    /// No device found.
    NoDevice,
    /// Burned, restart needed to activate (`update --exit-code`).
    RestartNeeded,
    /// What a program said that was run in a lab.
    Program(u8),
    /// Ended by this signal.
    Interrupted(i32),
}

impl Exit {
    /// The number the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::UpdateAvailable => 3,
            Self::Refused => 4,
            Self::NoDevice => 5,
            Self::RestartNeeded => 6,
            Self::Program(code) => code,
            Self::Interrupted(signal) => u8::try_from(signal).map_or(1, |n| n.saturating_add(128)),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
