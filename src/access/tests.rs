//! The ways into a chip, against a fake that ends the test at the first thing a chip would not
//! forgive.

mod claims;
mod device;
mod flash;
mod flash_writing;
mod noise;
mod registers;
mod vsec;

use std::sync::Arc;

use super::fake::{Chip, Fake};
use super::{AccessError, Device, Patience};

/// Opens the fake as it stands.
fn open(fake: &Arc<Fake>) -> Result<Device, AccessError> {
    Device::open_with(fake.clone(), None, None, Patience::SHORT)
}

/// A fake and the device opened on it; what `setup` does to the chip comes before.
fn opened(setup: impl FnOnce(&mut Chip)) -> (Arc<Fake>, Device) {
    let fake = Fake::new(setup);
    let device = open(&fake).unwrap();
    fake.assert_nothing_held();
    (fake, device)
}
