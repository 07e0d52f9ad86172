//! When two contents of a flash are the same to everybody who looks at it.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use cxfw::image::marker::{self, START_POSITIONS};
use cxfw::model::ImageFormat;
use sha2::{Digest, Sha256};

/// Digest of what a tool and a boot ROM can see.
pub type State = [u8; 32];

/// Where images lie on a flash.
#[derive(Debug, Clone)]
pub struct Slots {
    pub format: ImageFormat,
    /// Flash address and end of each slot; what belongs to the card lies in none.
    pub ranges: [(usize, usize); 2],
}

impl Slots {
    /// `flash` without what nobody looks at: the contents of a slot whose start pattern does not
    /// stand whole. The 16 bytes where it should stand are kept.
    fn visible(&self, flash: &[u8]) -> Vec<u8> {
        let pattern = marker::of(self.format);
        let mut seen = flash.to_vec();
        for (start, end) in self.ranges {
            let body = start + pattern.len();
            if &flash[start..body] == pattern {
                continue;
            }
            let places = START_POSITIONS.map(|at| usize::try_from(at).unwrap());
            for (at, byte) in (body..).zip(&mut seen[body..end]) {
                let is_start = |place: usize| (place..place + pattern.len()).contains(&at);
                if !places.into_iter().any(is_start) {
                    *byte = 0xff;
                }
            }
        }
        seen
    }

    /// Of a card with these contents that boots `boots`.
    pub fn state(&self, flash: &[u8], boots: &str) -> State {
        digest(&self.visible(flash), boots)
    }
}

/// Of all bytes.
pub fn digest(flash: &[u8], boots: &str) -> State {
    let mut digest = Sha256::new();
    digest.update(boots);
    digest.update([0]);
    digest.update(flash);
    digest.finalize().into()
}

/// States that were looked at.
#[derive(Debug, Default)]
pub struct Seen(Mutex<HashSet<State>>);

impl Seen {
    /// Whether it is the first time.
    pub fn is_new(&self, state: State) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(state)
    }
}
