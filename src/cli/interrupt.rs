//! Ctrl-C and its relatives.
//!
//! While cards are burned, the first signal asks the burns to stop at their next safe point, and
//! each says what its card boots. The second one makes them stop at once: what they hold on their
//! cards they still give back, but they wait for no card any longer; if that takes too long, or
//! with the third signal, the process ends. At any other time nothing is being written, so the
//! first signal ends the process; one that waits for servers says so and what becomes of its
//! downloads ([`Farewell`]).
//!
//! It never ends inside a transaction with a chip ([`crate::access::gate`]), whose semaphores
//! would stay held. What a burn cannot give back in time is on record for the next run.

use std::fs;
use std::io::{self, Write};
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::exit::Exit;
use super::settings::{Format, Settings};
use crate::access::gate;
use crate::flash::Cancel;
use crate::report::json::{self, Problem};

/// Longest wait for transactions that have begun before the process ends.
const TRANSACTION: Duration = Duration::from_secs(2);
/// Longest wait for what is said of a signal.
const WORDS: Duration = Duration::from_millis(200);
/// Time that burns have to give back what they hold after the second signal.
const GIVING_BACK: Duration = Duration::from_secs(3);

/// Listens for signals until dropped.
#[derive(Debug)]
pub struct Interrupt {
    state: Arc<State>,
    handle: Handle,
}

#[derive(Debug, Default)]
struct State {
    cancel: Cancel,
    /// The first signal, 0 = none.
    signal: AtomicI32,
    /// The user was told that it was heard.
    told: AtomicBool,
    /// Cards are being burned.
    burning: AtomicBool,
    /// What to say when the process ends while it waits for servers.
    farewell: Mutex<Option<Farewell>>,
}

/// What a command that waits for servers says when a signal ends it.
#[derive(Debug)]
pub struct Farewell {
    /// The command, where programs wait for its document.
    document: Option<&'static str>,
    text: &'static str,
}

/// Servers are being asked, until dropped: a signal ends the process with a word about that.
#[derive(Debug)]
pub struct Waiting<'a>(&'a State);

/// Cards are being burned, until dropped: signals are theirs.
#[derive(Debug)]
pub struct Burning<'a>(&'a State);

impl Interrupt {
    /// Starts to listen. A signal that whoever started the program had it ignore (`nohup`) stays
    /// ignored.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub fn listen() -> io::Result<Self> {
        let ignored = ignored();
        let wanted = [SIGINT, SIGTERM, SIGHUP];
        let mut signals = Signals::new(wanted.iter().filter(|&&signal| !ignored.contains(signal)))?;
        let state = Arc::new(State::default());
        let interrupt = Self {
            state: Arc::clone(&state),
            handle: signals.handle(),
        };
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    state.receive(signal);
                }
            })?;
        Ok(interrupt)
    }

    /// From now on, until the answer is dropped, signals ask burns to stop instead of ending the
    /// process.
    #[must_use]
    pub fn burning(&self) -> Burning<'_> {
        self.state.burning.store(true, Ordering::SeqCst);
        Burning(&self.state)
    }

    /// From now on, until the answer is dropped, a signal ends the process with this word.
    #[must_use]
    pub fn waiting(&self, farewell: Farewell) -> Waiting<'_> {
        *self.state.farewell() = Some(farewell);
        Waiting(&self.state)
    }
}

impl Farewell {
    /// Of `command`, in the form that was asked for.
    #[must_use]
    pub fn of(command: &'static str, settings: &Settings, text: &'static str) -> Self {
        Self {
            document: (settings.format == Format::Json).then_some(command),
            text,
        }
    }

    /// Says it; nobody may be there to read it.
    fn tell(&self) {
        say(&format!("\n{}", self.text));
        if let Some(command) = self.document {
            let problem = Problem {
                code: "interrupted".to_owned(),
                message: self.text.to_owned(),
                advice: Some("run the command again".to_owned()),
            };
            let _ = json::failed(&mut io::stdout().lock(), command, &problem);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        *self.0.farewell() = None;
    }
}

impl Burning<'_> {
    /// What burns look at.
    #[must_use]
    pub const fn cancel(&self) -> &Cancel {
        &self.0.cancel
    }

    /// The exit of a run that was stopped, if it was. What ended it was heard before its end is told,
    /// unless nobody takes the words.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        match self.0.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => {
                let since = Instant::now();
                while !self.0.told.load(Ordering::SeqCst) && since.elapsed() < WORDS {
                    thread::sleep(WORDS / 100);
                }
                Some(Exit::Interrupted(signal))
            }
        }
    }
}

impl Drop for Burning<'_> {
    fn drop(&mut self) {
        self.0.burning.store(false, Ordering::SeqCst);
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.handle.close();
    }
}

impl State {
    fn farewell(&self) -> MutexGuard<'_, Option<Farewell>> {
        self.farewell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive(self: &Arc<Self>, signal: i32) {
        let first = self
            .signal
            .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
        if !self.burning.load(Ordering::SeqCst) {
            if let Some(farewell) = self.farewell().take() {
                farewell.tell();
            }
            leave(signal);
        }
        if first {
            self.cancel.request();
            say("\nstopping at the next safe point; once more stops at once");
            self.told.store(true, Ordering::SeqCst);
        } else if self.cancel.urged() {
            self.give_up(signal);
        } else {
            self.cancel.urge();
            say("\nstopping at once");
            let state = Arc::clone(self);
            thread::spawn(move || {
                thread::sleep(GIVING_BACK);
                state.give_up(signal);
            });
        }
    }

    /// Ends the process although burns may hold something.
    fn give_up(&self, signal: i32) -> ! {
        if self.burning.load(Ordering::SeqCst) {
            say(
                "a card does not answer in time: it boots its old firmware unless the new one was \
                 just being activated; `cxfw query` tells, and the next update closes what was \
                 left open",
            );
        }
        leave(signal)
    }
}

/// Ends the process between two transactions.
fn leave(signal: i32) -> ! {
    if !gate::close(TRANSACTION) {
        say("a card did not finish in time: it may still be locked; the next run frees it");
    }
    exit(i32::from(Exit::Interrupted(signal).code()))
}

/// A set of signals as the kernel writes it: bit `n - 1` is signal `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SignalSet(u64);

impl SignalSet {
    fn contains(self, signal: i32) -> bool {
        let bit = signal
            .checked_sub(1)
            .and_then(|bit| u32::try_from(bit).ok());
        bit.and_then(|bit| self.0.checked_shr(bit))
            .is_some_and(|rest| rest & 1 == 1)
    }

    /// From the text of `/proc/PID/status`.
    fn ignored(status: &str) -> Option<Self> {
        let set = status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(set.trim(), 16).ok().map(Self)
    }
}

/// Signals this process was started to ignore; none where the kernel does not tell.
fn ignored() -> SignalSet {
    fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| SignalSet::ignored(&status))
        .unwrap_or(SignalSet(0))
}

/// Nobody may be there to read it.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        // nohup: SIGHUP (1); Rust itself: SIGPIPE (13)
        let set = SignalSet::ignored("Name:\tcxfw\nSigIgn:\t0000000000001001\nSigCgt:\t0\n");
        let set = set.unwrap();
        assert!(set.contains(SIGHUP) && set.contains(13));
        assert!(!set.contains(SIGINT) && !set.contains(SIGTERM) && !set.contains(0));
        assert_eq!(SignalSet::ignored("Name:\tcxfw\n"), None);
    }
}
