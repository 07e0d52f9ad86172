//! Output: the only room that prints.
//!
//! Text is what mlxup prints, to the column, wherever mlxup has the field ([`text`]); XML is the
//! document of mlxfwmanager ([`xml`]); JSON is ours, with a schema in `docs/schema` ([`json`]).
//! Everything here takes plain data and a writer and returns `io::Error`, so that a closed pipe
//! reaches the outermost layer as what it is.

mod address;
pub mod backup;
pub mod failure;
pub mod flint;
pub mod json;
pub mod lab;
pub mod list;
pub mod outcome;
pub mod palette;
mod printable;
pub mod progress;
pub mod releases;
pub mod status;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod text;
pub mod transfer;
mod versions;
pub mod waiting;
pub mod xml;

pub use outcome::{Backup, Ending, Outcome};
pub use palette::Palette;
pub use printable::printable;

use crate::card::CardReport;
use crate::plan::{Decision, Offer};

/// One card with what was decided on it: a row of every report.
#[derive(Debug, Clone, Copy)]
pub struct CardView<'a> {
    /// The card.
    pub card: &'a CardReport,
    /// Its standing.
    pub decision: &'a Decision,
    /// The image on offer for it.
    pub offer: Option<&'a Offer>,
}

impl<'a> CardView<'a> {
    /// Joins cards, decisions (in the cards' order) and the offers the decisions speak of.
    #[must_use]
    pub fn all(
        cards: &'a [CardReport],
        decisions: &'a [Decision],
        offers: &'a [Offer],
    ) -> Vec<CardView<'a>> {
        cards
            .iter()
            .zip(decisions)
            .map(|(card, decision)| CardView {
                card,
                decision,
                offer: decision.offer.and_then(|index| offers.get(index)),
            })
            .collect()
    }
}
