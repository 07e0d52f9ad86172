//! cxfw beside a witness nobody here wrote: Debian's `mstflint`, unmodified, on the lab's cards.
//!
//! The tests need root, FUSE and mstflint. Without them they say so in one line and pass; where
//! the environment says `CI=true` they fail instead.

#![cfg(feature = "mount")]
#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic is the report of a failure"
)]

#[path = "../cli_common/mod.rs"]
mod cli_common;

mod bench;
mod conformance;
mod cycles;
mod damage;
mod foreign;
mod images;
mod mount;
mod query_text;
mod read_back;
mod side_by_side;
