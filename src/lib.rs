//! cxfw: query and update the firmware of Mellanox/NVIDIA ConnectX network cards.
//!
//! The rooms of the house, top down; a room uses only rooms below it (`docs/design.md`):
//!
//! - [`cli`] one file a command, [`report`] text and JSON;
//! - [`config`] what a site says for all its hosts;
//! - [`plan`] cards x images -> decisions, every policy rule;
//! - [`card`] what a card is and runs, [`flash`] burning it, [`release`] firmware from elsewhere,
//!   [`bundle`] containers of images;
//! - [`access`] ways to a card's insides, [`registers`] access-register layouts,
//!   [`image`] firmware image formats;
//! - [`lab`] simulated hosts and cards, below [`pci`]'s config space;
//! - [`pci`] functions, config space, VPD, link;
//! - leaves: [`bytes`], [`sys`], [`model`], [`version`], [`identity`], [`progress`].
//!
//! Two traits carry the weight, so that hardware and the lab run the same code above them:
//! [`pci::ConfigSpace`] and [`access::RegisterAccess`].

pub mod access;
pub mod bundle;
pub mod bytes;
pub mod card;
pub mod cli;
pub mod config;
pub mod flash;
pub mod identity;
pub mod image;
pub mod lab;
pub mod model;
pub mod pci;
pub mod plan;
pub mod progress;
pub mod registers;
pub mod release;
pub mod report;
pub mod sys;
pub mod version;
