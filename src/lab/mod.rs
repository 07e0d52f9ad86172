//! Simulated hosts and cards, below [`crate::pci::ConfigSpace`].

pub mod build;
#[cfg(feature = "mount")]
pub mod mount;
