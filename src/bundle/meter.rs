//! How far a long job on a bundle is: bytes it inflated so far. Whoever shows progress looks at it
//! from another thread while the job runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter of inflated bytes; a clone counts the same ones.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<AtomicU64>);

impl Meter {
    /// Bytes inflated so far, in all passes.
    #[must_use]
    pub fn inflated(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn advance(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}
