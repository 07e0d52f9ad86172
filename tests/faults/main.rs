//! Cards break, and the program says what happened, what state the card is in and what to do; what
//! it advises works.
//!
//! Most tests are tables: a fault of `lab fault` on a card, what is said of it, and the remedy
//! (`case`). Each row is played through from the user's chair: the card is broken, the command
//! fails, the advice is followed, and the same command succeeds.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the program's output has failed"
)]

mod armed;
mod backup;
mod bench;
mod case;
#[path = "../cli_common/mod.rs"]
mod cli_common;
mod component;
mod direct;
mod healed;
mod mcc_codes;
#[path = "../one_card/mod.rs"]
mod one_card;
mod query;
mod restore;
mod stopped;
mod waiting;
