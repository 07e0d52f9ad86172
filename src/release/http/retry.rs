//! Repeated attempts: few, with growing pauses, and only where a second one may help.

use std::thread;
use std::time::Duration;

use super::error::HttpError;

/// How often, and how long to wait in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// Attempts in a row that bring nothing.
    pub attempts: u32,
    /// Attempts in all, for a transfer that goes on a little each time.
    pub attempts_in_all: u32,
    /// Pause before the second attempt; doubled before each further one.
    pub pause: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            attempts: 5,
            attempts_in_all: 50,
            pause: Duration::from_millis(500),
        }
    }
}

/// Longest pause.
const LONGEST: Duration = Duration::from_secs(30);

impl Retries {
    /// Pause before the attempt that follows `failed` fruitless ones.
    #[must_use]
    pub fn pause_after(&self, failed: u32) -> Duration {
        let doublings = failed.saturating_sub(1).min(16);
        self.pause.saturating_mul(1 << doublings).min(LONGEST)
    }

    /// Runs `attempt` until it succeeds, fails for good, or has failed often enough.
    ///
    /// # Errors
    /// The last attempt's.
    pub fn run<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, HttpError>,
    ) -> Result<T, HttpError> {
        let mut failed = 0;
        loop {
            match attempt() {
                Err(error) if error.is_passing() && failed + 1 < self.attempts => {
                    failed += 1;
                    let pause = self.pause_after(failed);
                    log::info!("{error}; trying again in {} ms", pause.as_millis());
                    thread::sleep(pause);
                }
                done => return done,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;

    const QUICK: Retries = Retries {
        attempts: 3,
        attempts_in_all: 3,
        pause: Duration::ZERO,
    };

    fn status(status: StatusCode) -> HttpError {
        HttpError::Status {
            url: "https://x.example/".to_owned(),
            status,
        }
    }

    #[test]
    fn a_server_error_is_tried_again_a_bounded_number_of_times() {
        let mut tried = 0;
        let result: Result<(), _> = QUICK.run(|| {
            tried += 1;
            Err(status(StatusCode::BAD_GATEWAY))
        });
        assert_eq!(result, Err(status(StatusCode::BAD_GATEWAY)));
        assert_eq!(tried, 3);
    }

    #[test]
    fn a_client_error_is_not_tried_again() {
        let mut tried = 0;
        let result: Result<(), _> = QUICK.run(|| {
            tried += 1;
            Err(status(StatusCode::NOT_FOUND))
        });
        assert!(result.is_err());
        assert_eq!(tried, 1);
    }

    #[test]
    fn pauses_grow_and_end() {
        let retries = Retries::default();
        assert_eq!(retries.pause_after(1), Duration::from_millis(500));
        assert_eq!(retries.pause_after(3), Duration::from_secs(2));
        assert_eq!(retries.pause_after(u32::MAX), LONGEST);
    }
}
