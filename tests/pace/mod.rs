//! How long a job takes, and how long it may.

use std::time::{Duration, Instant};

/// The promise for a release build; a debug build is given twenty times as long, so that a job that
/// became slow by an order is seen there too.
pub const fn allowed(release: Duration) -> Duration {
    if cfg!(debug_assertions) {
        release.saturating_mul(20)
    } else {
        release
    }
}

/// The shortest of `runs` runs of a job, since the machine may be busy.
pub fn shortest(runs: usize, mut job: impl FnMut()) -> Duration {
    let times = (0..runs).map(|_| {
        let start = Instant::now();
        job();
        start.elapsed()
    });
    times.min().unwrap_or(Duration::MAX)
}
