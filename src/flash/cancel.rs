//! Asking a burn to stop. The burn looks at safe points only, so that the card is always left in
//! a state it can name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const REQUESTED: u8 = 1;
const URGED: u8 = 2;

/// A request to stop, shared between a signal handler (or another thread) and the burns it is
/// for. Once made it stays.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicU8>);

impl Cancel {
    /// Nobody has asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks every burn that holds this request to stop at its next safe point.
    pub fn request(&self) {
        self.0.fetch_max(REQUESTED, Ordering::SeqCst);
    }

    /// Asks them not to wait for the card any longer either: what is held on it is given back
    /// without looking whether the card is done.
    pub fn urge(&self) {
        self.0.fetch_max(URGED, Ordering::SeqCst);
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= REQUESTED
    }

    /// Whether somebody asked again.
    #[must_use]
    pub fn urged(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= URGED
    }
}
