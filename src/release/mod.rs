//! Releases: firmware on offer elsewhere, found, fetched and checked.

pub mod http;
