//! Every wait has an end; the one for a whole body grows with its size.

use std::time::Duration;

/// Longest waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, TLS and proxy included.
    pub connect: Duration,
    /// For the beginning of an answer, and for each further byte.
    pub stall: Duration,
    /// What every body may take, whatever its size and speed.
    pub grace: Duration,
    /// Slowest average speed of a body beyond that, in bytes a second.
    pub slowest: u64,
}

/// Like the vendor's client: a connection that moves next to nothing for a minute is given up
/// (mft-compat 5.1); but a large file over a slow line may take its time.
impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            stall: Duration::from_secs(30),
            grace: Duration::from_secs(60),
            slowest: 16 << 10,
        }
    }
}

impl Timeouts {
    /// How long a body may have taken when `bytes` of it have arrived. So the whole of a body of
    /// N bytes takes at most this for N, and a trickle is found long before.
    #[must_use]
    pub fn allowed(&self, bytes: u64) -> Duration {
        let seconds = bytes / self.slowest.max(1);
        self.grace.saturating_add(Duration::from_secs(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_body_may_take_longer() {
        let timeouts = Timeouts::default();
        assert_eq!(timeouts.allowed(0), Duration::from_secs(60));
        assert_eq!(
            timeouts.allowed(160 << 20),
            Duration::from_secs(60 + 10_240)
        );
        let broken = Timeouts {
            slowest: 0,
            ..timeouts
        };
        assert!(broken.allowed(u64::MAX) > Duration::from_secs(60));
    }
}
