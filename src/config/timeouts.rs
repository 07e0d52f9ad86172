//! `[timeouts]`: how long to wait for servers, and how often to try.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::{Fault, at_value};
use crate::release::http::{Retries, Timeouts};

/// Longest wait that makes sense, in seconds: a day.
const LONGEST: f64 = 86_400.0;
/// Most attempts that make sense.
const MOST: u32 = 1000;

/// The table as it is written; what is left out is as usual.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    connect: Option<Spanned<f64>>,
    stall: Option<Spanned<f64>>,
    grace: Option<Spanned<f64>>,
    slowest: Option<Spanned<u64>>,
    attempts: Option<Spanned<u32>>,
    pause: Option<Spanned<f64>>,
}

impl Written {
    /// What it means.
    pub(super) fn understand(self) -> Result<(Timeouts, Retries), Fault> {
        let (mut timeouts, mut retries) = (Timeouts::default(), Retries::default());
        set(&mut timeouts.connect, self.connect)?;
        set(&mut timeouts.stall, self.stall)?;
        set(&mut timeouts.grace, self.grace)?;
        set(&mut retries.pause, self.pause)?;
        if let Some(slowest) = self.slowest {
            timeouts.slowest = *slowest.get_ref();
        }
        if let Some(attempts) = self.attempts {
            retries.attempts = *attempts.get_ref();
            if !(1..=MOST).contains(&retries.attempts) {
                return Err(at_value(&attempts, format!("not 1 to {MOST} attempts")));
            }
        }
        Ok((timeouts, retries))
    }
}

fn set(wait: &mut Duration, written: Option<Spanned<f64>>) -> Result<(), Fault> {
    let Some(written) = written else {
        return Ok(());
    };
    let seconds = *written.get_ref();
    *wait = Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|wait| !wait.is_zero() && seconds <= LONGEST)
        .ok_or_else(|| at_value(&written, format!("not a time of up to {LONGEST} s")))?;
    Ok(())
}
