//! Burning: writing a firmware image to a card, and what makes it run afterwards.
//!
//! A burn is a pure plan first, then steps; at every instant one valid image is bootable, and
//! every way out says what state the card is in. One card, one burn at a time ([`lock`]).

pub mod activation;
pub mod backup;
pub mod broken_off;
pub mod cancel;
pub mod component;
pub mod direct;
pub mod ending;
pub mod lock;
pub mod unbooted;

pub use activation::Activation;
pub use broken_off::{BrokenOff, BurnFault};
pub use cancel::Cancel;
pub use ending::{Boots, Burned};
pub use lock::{CardLock, LockError};
