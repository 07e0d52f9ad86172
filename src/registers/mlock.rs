//! MLOCK: secure host, the owner's lock of firmware and configuration (device-access 4.11,
//! burn 7.6).

use super::layout::{codes, register};

codes! {
    /// What is locked.
    LockState {
        /// Nothing.
        Unlocked = 0, "unlocked";
        /// Firmware update and configuration.
        Locked = 1, "locked";
        /// Firmware update.
        FirmwareUpdateLocked = 2, "firmware update locked";
        /// Host configuration.
        ConfigurationLocked = 3, "host configuration locked";
    }
}

register! {
    /// MLOCK. cxfw only reads it.
    Mlock = 0x402d, "MLOCK", 16 bytes {
        /// State when read, operation when written.
        operation: LockState = 0x0 [7:0],
        /// Key.
        key: u64 = 0x8 [8 bytes],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn fields_lie_where_the_table_says() {
        let image = [0, 0, 0, 2, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        let mlock = Mlock::decode(&image).unwrap();
        assert_eq!(mlock.operation, LockState::FirmwareUpdateLocked);
        assert_eq!(mlock.key, 0x0102_0304_0506_0708);
        assert_eq!(mlock.encode(), image);
    }
}
