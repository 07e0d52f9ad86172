//! One function for each parser of bytes from outside: whatever the bytes are, it returns.
//!
//! The fuzz targets call them with what the fuzzer makes up; the tests of the package (which take
//! this file in by path) with random bytes and with every input that was ever a finding. Each
//! function sets checksums right first, as far as the bytes are still what they should be, so that
//! the fuzzer reaches what lies behind them.

#![allow(
    clippy::expect_used,
    reason = "a fixture that is not as it should be has to stop the run"
)]

pub mod containers;
mod edits;
pub mod images;
pub mod seal;
mod small;

pub use containers::{extractor, mfa1, mfa2, pldm, zip};
pub use images::{fs2, fs3, fs4, fs5, rom};
pub use small::{name, registers, vpd};

/// A parser's function.
pub type Target = fn(&[u8]);

/// All of them, by the names of the fuzz targets.
pub const TARGETS: [(&str, Target); 13] = [
    ("mfa1", mfa1),
    ("mfa2", mfa2),
    ("pldm", pldm),
    ("zip", zip),
    ("extractor", extractor),
    ("fs2", fs2),
    ("fs3", fs3),
    ("fs4", fs4),
    ("fs5", fs5),
    ("rom", rom),
    ("name", name),
    ("vpd", vpd),
    ("registers", registers),
];
