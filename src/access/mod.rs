//! Ways to a card's insides: CR space and access registers through the vendor-specific
//! capability, the legacy gateway, the flash gateway.
//!
//! [`Device::open`] finds the way in. From it come [`RegisterAccess`] for everything the running
//! firmware does, CR space for what the chip says itself, and [`gateway::Flash`] for a chip
//! without firmware. Changing a flash is [`FlashAccess`], past the firmware or through it. Every lock of the chip that is taken on the way is a guard here.

mod claims;
pub mod cr;
mod device;
pub mod error;
mod exchange;
pub mod flash;
mod frame;
pub mod gate;
pub mod gateway;
pub mod icmd;
pub mod legacy;
mod lock_folder;
mod mstflint_lock;
mod patience;
mod semaphore;
mod space;
pub mod stuck;
mod trouble;
pub mod vsec;

pub use device::{Device, RecoveryState};
pub use error::{AccessError, Operation};
pub use exchange::{
    Method, RegisterAccess, RegisterError, Way, post_register, read_register, read_register_head,
    tlv_status, write_register,
};
pub use flash::{EraseUnit, FirmwareFlash, FlashAccess, FlashError};
pub use gateway::GatewayError;
pub use icmd::IcmdError;
pub use patience::Patience;
pub use semaphore::FlashSemaphore;
pub use space::{Space, SpaceSet};
pub use trouble::Trouble;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;
