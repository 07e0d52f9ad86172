//! A card: everything one report says of it, from whatever source could be read.
//!
//! [`survey`] reads all cards of a host at once. The running firmware is asked first; where none
//! runs or none can be asked, the flash; and when the card cannot be opened at all, what the
//! kernel knows of it. A value that could not be read stays empty, with the reason beside it.

mod boot_image;
mod error;
mod from_flash;
mod from_sysfs;
mod live;
#[cfg(test)]
mod live_tests;
pub mod report;
mod survey;

pub use boot_image::{BootImage, ImageVersion};
pub use error::{CardError, advice_for, cold_boot, revival};
pub use live::{base_addresses, missing_for_update, security as security_of};
pub use report::{CardReport, Firmware, PortType, UpdatePath};
pub use survey::{Card, survey};
