//! Simulated hosts and cards, below [`crate::pci::ConfigSpace`].

pub mod build;
pub mod chip;
#[cfg(feature = "mount")]
pub mod mount;
