//! The `cxfw` program.

fn main() {}
