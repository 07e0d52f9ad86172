//! Ctrl-C and its relatives while a card is being burned.
//!
//! The first signal asks the burn to stop at its next safe point. The second ends the process at
//! once: the card survives that too, as it survives a power cut, but its update handle stays open
//! until the next run closes it.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::exit::Exit;
use crate::flash::Cancel;

/// Listens for signals until dropped.
#[derive(Debug)]
pub struct Interrupt {
    cancel: Cancel,
    signal: Arc<AtomicI32>,
    handle: Handle,
}

impl Interrupt {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub fn listen() -> io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let interrupt = Self {
            cancel: Cancel::new(),
            signal: Arc::new(AtomicI32::new(0)),
            handle: signals.handle(),
        };
        let cancel = interrupt.cancel.clone();
        let first = Arc::clone(&interrupt.signal);
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    if first.swap(signal, Ordering::SeqCst) != 0 {
                        leave(signal);
                    }
                    cancel.request();
                    say("\nstopping at the next safe point; once more stops at once");
                }
            })?;
        Ok(interrupt)
    }

    /// What a burn looks at.
    #[must_use]
    pub const fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The exit of a run that was stopped, if it was.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        match self.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(Exit::Interrupted(signal)),
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.handle.close();
    }
}

fn leave(signal: i32) -> ! {
    say(
        "stopped at once: the card boots its old firmware unless the new one was just being \
         activated; `cxfw query` tells, and the next update closes what was left open",
    );
    std::process::exit(i32::from(Exit::Interrupted(signal).code()))
}

/// Nobody may be there to read it.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
