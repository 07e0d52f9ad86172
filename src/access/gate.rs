//! The gate every transaction with a chip passes, so that the process can end between two.
//!
//! A chip frees none of its semaphores when their owner ends. So whoever wants to end the process
//! from outside the jobs, a signal handler, first closes the gate ([`close`]): transactions that
//! have begun go on to their end, new ones wait for an end that comes before their turn.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often [`close`] looks.
const LOOK: Duration = Duration::from_millis(1);

/// Nobody enters any more.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Threads that have entered and not left.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Passages of this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The right to be inside, until dropped. Belongs to its thread.
#[derive(Debug)]
pub(super) struct Passage(PhantomData<*const ()>);

/// Enters. Never returns once the gate is closed, unless this thread is inside already.
pub(super) fn enter() -> Passage {
    let depth = DEPTH.get();
    if depth == 0 {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        if is_closed() {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
            loop {
                thread::park();
            }
        }
    }
    DEPTH.set(depth + 1);
    Passage(PhantomData)
}

impl Drop for Passage {
    fn drop(&mut self) {
        let depth = DEPTH.get().saturating_sub(1);
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Whether the process is about to end: waiting for somebody else has become pointless.
pub(super) fn is_closed() -> bool {
    CLOSED.load(Ordering::SeqCst)
}

/// Closes the gate for good and waits, at most `longest`, until nobody is inside. Returns whether
/// that is so: then no semaphore of a transaction is held, and the process may end. Not to be
/// called from inside.
#[must_use]
pub fn close(longest: Duration) -> bool {
    CLOSED.store(true, Ordering::SeqCst);
    let start = Instant::now();
    loop {
        if INSIDE.load(Ordering::SeqCst) == 0 {
            return true;
        }
        if start.elapsed() >= longest {
            return false;
        }
        thread::sleep(LOOK);
    }
}
