//! The lock word: exclusive use of a chip for one config cycle, across processes, without a
//! system call while nobody else wants it.
//!
//! The word holds the process id of the owner, 0 = free. Hardware has no owner that dies; a
//! process can be killed between two stores, so a waiter looks whether the owner is still alive
//! (`/proc/PID`) and takes the word over when it is not. All processes of a lab must therefore
//! share one pid namespace.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for the chip. A reset of a chip with a large flash holds it longest: well below
/// a second.
const WAIT: Duration = Duration::from_secs(20);

/// Attempts before the scheduler is asked, then between looks at the clock and the owner.
const SPINS: u32 = 200;

/// The lock was not obtained: this process id held it all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("process {owner} has held the simulated chip for {} s", WAIT.as_secs())]
pub struct Held {
    /// Its id.
    pub owner: u32,
}

/// Takes the lock for process `me`. Returns whether it was taken over from a dead owner.
///
/// # Errors
/// [`Held`] after 20 s.
#[inline]
pub fn acquire(word: &AtomicU32, me: u32) -> Result<bool, Held> {
    match word.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
        Ok(_) => Ok(false),
        Err(_) => wait(word, me),
    }
}

/// Gives the lock back.
#[inline]
pub fn release(word: &AtomicU32) {
    word.store(0, Ordering::Release);
}

#[cold]
fn wait(word: &AtomicU32, me: u32) -> Result<bool, Held> {
    let start = Instant::now();
    loop {
        for _ in 0..SPINS {
            let free = word.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed);
            if free.is_ok() {
                return Ok(false);
            }
            std::hint::spin_loop();
        }
        std::thread::yield_now();
        let owner = word.load(Ordering::Relaxed);
        // `me` is another thread of this process, alive as we are
        if owner != 0 && owner != me && !alive(owner) {
            let taken = word.compare_exchange(owner, me, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_ok() {
                return Ok(true);
            }
        }
        if start.elapsed() > WAIT {
            return Err(Held { owner });
        }
    }
}

/// Whether a process still runs; one that only waits to be reaped does not.
pub(in crate::lab) fn alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // pid (name) state ...: the name may hold anything, so the last parenthesis counts
    let state = stat.rsplit(')').next().unwrap_or("").trim_start();
    !state.starts_with(['Z', 'X', 'x'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_dead_owner_is_replaced_even_before_it_is_reaped() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let word = AtomicU32::new(child.id());
        assert!(alive(child.id()));
        child.kill().unwrap();
        let me = std::process::id();
        assert_eq!(acquire(&word, me), Ok(true));
        assert_eq!(word.load(Ordering::Relaxed), me);
        release(&word);
        child.wait().unwrap();
        assert_eq!(acquire(&word, me), Ok(false));
    }

    #[test]
    fn threads_of_one_process_exclude_each_other() {
        let word = AtomicU32::new(0);
        let count = AtomicU32::new(0);
        let me = std::process::id();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        acquire(&word, me).unwrap();
                        let seen = count.load(Ordering::Relaxed);
                        count.store(seen + 1, Ordering::Relaxed);
                        release(&word);
                    }
                });
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), 8000);
    }
}
