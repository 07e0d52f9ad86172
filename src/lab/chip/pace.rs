//! A slow bus: config cycles that take their time without taking the processor's.
//!
//! A sleep costs tens of microseconds, a config cycle a few; so cycles are not slept one by one.
//! Each moves the moment the bus is free again, and once that moment is far enough ahead the
//! thread sleeps until then. What a cycle costs to simulate is part of its time, and a bus that
//! fell behind (a sleep that took too long, a busy machine) catches up. So a run takes the time
//! of its cycles, and many cards of one process overlap on few processors, as real ones do.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How far ahead the bus may be before its user sleeps.
const SLICE: Duration = Duration::from_micros(500);
/// How far behind the bus may be and still catch up; a longer gap was a pause of its user.
const LAG: Duration = Duration::from_millis(50);

/// The pace of one function's config cycles.
#[derive(Debug)]
pub(super) struct Pace {
    cycle: Duration,
    /// When the bus is free again; `None` before its first use.
    free: Mutex<Option<Instant>>,
}

impl Pace {
    /// Cycles of `nanoseconds` each; 0 = as fast as this machine can.
    pub(super) fn new(nanoseconds: u64) -> Self {
        Self {
            cycle: Duration::from_nanos(nanoseconds),
            free: Mutex::default(),
        }
    }

    /// Takes the time of one cycle.
    pub(super) fn cycle(&self) {
        if self.cycle.is_zero() {
            return;
        }
        let now = Instant::now();
        let ahead = self.occupy(now).saturating_duration_since(now);
        if ahead + self.cycle > SLICE {
            thread::sleep(ahead);
        }
    }

    /// Moves the moment the bus is free by one cycle.
    fn occupy(&self, now: Instant) -> Instant {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let start = free.filter(|&free| now.saturating_duration_since(free) < LAG);
        let end = start.unwrap_or(now) + self.cycle;
        *free = Some(end);
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_the_time_of_its_cycles() {
        for nanoseconds in [3_000, 400_000] {
            let pace = Pace::new(nanoseconds);
            let cycles = u32::try_from(12_000_000 / nanoseconds).unwrap();
            let start = Instant::now();
            for _ in 0..cycles {
                pace.cycle();
            }
            let expected = Duration::from_nanos(nanoseconds) * cycles;
            assert!(start.elapsed() >= expected - SLICE, "{nanoseconds} ns");
        }
    }

    #[test]
    fn a_pause_is_no_time_saved_up() {
        let pace = Pace::new(100_000);
        pace.cycle();
        thread::sleep(LAG + Duration::from_millis(20));
        let start = Instant::now();
        for _ in 0..100 {
            pace.cycle();
        }
        assert!(start.elapsed() >= Duration::from_millis(10) - SLICE);
    }
}
