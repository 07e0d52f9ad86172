//! PCI: which functions there are, their configuration space, VPD, link and names.
//!
//! [`inventory()`] reads a sysfs tree and groups the functions of vendor 15b3 to cards; [`find`]
//! picks one by any name a user may have for it. [`SysfsSource`] opens configuration space for
//! the rooms above, which only know [`ConfigSpace`].

pub mod adapters;
pub mod address;
pub mod capability;
pub mod card;
pub mod config;
pub mod database;
pub mod function;
pub mod inventory;
pub mod kind;
pub mod link;
pub mod lookup;
mod mst;
pub mod names;
pub mod sysfs;
pub mod vpd;

pub use adapters::{Adapter, Bus, adapters};
pub use address::{Address, NotAnAddress};
pub use card::Card;
pub use config::{ConfigError, ConfigSource, ConfigSpace};
pub use database::Database;
pub use function::{Function, FunctionError};
pub use inventory::{EnumerationError, Inventory, enumerate, inventory};
pub use kind::CardKind;
pub use link::{Limit, Link};
pub use lookup::{NameError, find};
pub use sysfs::{SysfsConfig, SysfsSource};
pub use vpd::Vpd;

/// PCI vendor id of Mellanox (now NVIDIA networking).
pub const MELLANOX: u16 = 0x15b3;
