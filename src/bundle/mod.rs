//! Containers of firmware images, opened by content and never by name.

pub mod entry;

pub use entry::{ComponentVersion, Entry};
