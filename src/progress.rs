//! What a long job reports while it runs. The jobs emit [`Event`]s, the front end draws them.
//!
//! Order for one burn: [`Event::Started`], then each [`Phase`] as any number of
//! [`Event::Progress`] with `done` never going back, closed by one [`Event::PhaseDone`]; the
//! caller knows the end from the job's return value.

/// A step of a burn that takes long enough to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The firmware erases the target slot ("FSMST_INITIALIZE" to mlxup users).
    Initialize,
    /// Image bytes travel to the card ("Writing Boot image component").
    Write,
    /// The card, or cxfw, checks what was written.
    Verify,
    /// The new image is made the one that boots next.
    Activate,
    /// Flash contents are read out, for a backup or a comparison.
    Read,
    /// Flash is erased by cxfw itself (direct burn).
    Erase,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The burn starts: image bytes to move.
    Started {
        /// Total bytes.
        bytes: u64,
    },
    /// A phase advanced. `total` is 0 where the end is not known beforehand.
    Progress {
        /// Which.
        phase: Phase,
        /// Units done (bytes, or polls of a phase without a size).
        done: u64,
        /// Units in all, 0 if unknown.
        total: u64,
    },
    /// A phase ended well.
    PhaseDone {
        /// Which.
        phase: Phase,
    },
    /// Something the user should know that is no failure (a retry, a fall-back).
    Note {
        /// One sentence.
        text: String,
    },
}

/// Where events go.
pub type Sink<'a> = dyn FnMut(Event) + Send + 'a;

/// What a download reports. Order: [`Transfer::Started`], then any number of
/// [`Transfer::Advanced`] and [`Transfer::Note`]; another `Started` when it had to begin anew or
/// goes on after a cut. The end is the job's return value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transfer {
    /// Bytes begin to arrive.
    Started {
        /// Name of the file.
        name: String,
        /// Bytes that were there already.
        done: u64,
        /// Bytes in all, where the server tells.
        total: Option<u64>,
    },
    /// More bytes are there.
    Advanced {
        /// Bytes there are now.
        done: u64,
    },
    /// Something the user should know that is no failure (a retry, a wait).
    Note {
        /// One sentence.
        text: String,
    },
}

/// Where a download reports to.
pub type TransferSink<'a> = dyn FnMut(Transfer) + Send + 'a;
