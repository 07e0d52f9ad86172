//! Simulated hosts and cards, below [`crate::pci::ConfigSpace`].

pub mod build;
