//! Hosts with cards, as the pci room sees them through a sysfs tree.

#![expect(
    clippy::unwrap_used,
    reason = "the tree builder may panic, as tests may"
)]

mod adapters;
mod config;
mod enumeration;
mod link;
mod lookup;
mod tree;
mod vpd;
