//! A card: everything one report says of it, from whatever source could be read.

pub mod report;

pub use report::{CardError, CardReport, Firmware, UpdatePath};
