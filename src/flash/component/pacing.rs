//! How long a burn waits for the firmware, and how often it looks.

use std::time::Duration;

/// Waits of a burn. The defaults are for cards; a test or a simulated card may hurry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    /// First pause between two looks at the state; each pause doubles the one before.
    pub shortest: Duration,
    /// Longest pause between two looks.
    pub longest: Duration,
    /// Pause before a register that the firmware had no room for (status 8) is sent again.
    pub retry: Duration,
    /// How often such a register is sent again.
    pub retries: u32,
    /// Bound of a lock or a release.
    pub handle: Duration,
    /// Bound of a cancel, which may have to wait for an erase that cannot be broken off.
    pub cancel: Duration,
    /// Bound of the erase before data is taken. Tools wait 12 minutes, the kernel 30 s; the
    /// erase of a 64 MiB slot takes minutes (burn 7.3, 12).
    pub initialize: Duration,
    /// Bound of verify, and of activate. Large images are still applied after the answer.
    pub finish: Duration,
    /// Bound of taking a staged update back (FSM_REACTIVATE, 5 s unless the card says otherwise;
    /// device-access 4.8).
    pub reactivate: Duration,
    /// Bound of every wait once the user has asked twice to stop.
    pub urged: Duration,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            shortest: Duration::from_millis(1),
            longest: Duration::from_millis(200),
            retry: Duration::from_millis(80),
            retries: 3000,
            handle: Duration::from_secs(10),
            cancel: Duration::from_secs(120),
            initialize: Duration::from_secs(15 * 60),
            finish: Duration::from_secs(5 * 60),
            reactivate: Duration::from_secs(30),
            urged: Duration::from_millis(500),
        }
    }
}
