//! Direct burns: cxfw writes the flash itself.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic is the report of a failure"
)]

mod boards;

mod lost;
mod nor;
mod on_lab;
#[path = "../one_card/mod.rs"]
mod one_card;
mod power;
mod recovery;
mod refusals;
mod whole;
