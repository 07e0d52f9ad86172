//! flash
