//! MCQS: which components can be updated, and in what state they are (device-access 4.2).
//!
//! The component index is a position, not an id: scan index 0, 1, 2 … up to the entry with
//! `last_index_flag`, and use the index found there with MCQI and MCC.

use super::layout::{codes, register};

codes! {
    /// What a component is. One byte covers every id known; the register has 16 bits, see
    /// [`Mcqs::component`].
    Component {
        /// The firmware that boots.
        BootImage = 0x01, "boot image";
        /// Runtime image.
        RuntimeImage = 0x02, "runtime image";
        /// Non-volatile configuration of the user.
        UserNvConfig = 0x03, "user NV config";
        /// Non-volatile configuration of the OEM.
        OemNvConfig = 0x04, "OEM NV config";
        /// Non-volatile configuration of the vendor.
        VendorNvConfig = 0x05, "vendor NV config";
        /// Customer-support token.
        CsToken = 0x06, "CS token";
        /// Debug token.
        DebugToken = 0x07, "debug token";
        /// Device info.
        DeviceInfo = 0x08, "device info";
        /// Gearbox firmware.
        Gearbox = 0x0a, "gearbox";
        /// Congestion-control algorithm.
        CongestionControl = 0x0b, "congestion control";
        /// Cable or module firmware.
        LinkX = 0x0c, "LinkX image";
        /// Crypto to commissioning.
        CryptoToCommissioning = 0x0d, "crypto to commissioning";
        /// Clock-synchronisation EEPROM.
        ClockSyncEeprom = 0x12, "clock-sync EEPROM";
        /// Certificate of an authority.
        CaCertificate = 0x15, "CA certificate";
        /// BlueField bundle.
        Bfb = 0x1b, "BFB";
        /// Data-path accelerator program.
        Dpa = 0x1c, "DPA component";
        /// CPLD.
        Cpld = 0x22, "CPLD";
    }
}

codes! {
    /// State of an update.
    UpdateState {
        /// Nothing happens.
        Idle = 0, "idle";
        /// An update is going on.
        InProgress = 1, "in progress";
        /// Applied.
        Applied = 2, "applied";
        /// Active.
        Active = 3, "active";
        /// Becomes active with the next reset.
        ActivePendingReset = 4, "active pending reset";
        /// The last update failed.
        Failed = 5, "failed";
        /// The last update was cancelled.
        Canceled = 6, "canceled";
        /// Busy.
        Busy = 7, "busy";
    }
}

codes! {
    /// Whether a component is there.
    ComponentStatus {
        /// Not there.
        NotPresent = 0, "not present";
        /// There.
        Present = 1, "present";
        /// There and in use.
        InUse = 2, "in use";
    }
}

codes! {
    /// Who holds an update handle or changed a component last.
    Owner {
        /// Nobody, or not said.
        Unknown = 0, "unknown";
        /// Management controller of the chassis.
        ChassisBmc = 1, "chassis BMC";
        /// In-band management.
        Mad = 2, "in-band management (MAD)";
        /// Management controller of the host.
        Bmc = 3, "BMC";
        /// The driver's command interface.
        CommandInterface = 4, "driver (command interface)";
        /// A tool.
        Icmd = 5, "tool (ICMD)";
    }
}

register! {
    /// MCQS. Set the index fields when reading.
    Mcqs = 0x9060, "MCQS", 16 bytes {
        /// Position in the component table.
        component_index: u16 = 0x0 [15:0],
        /// Device behind the card; valid with MCAM feature 18.
        device_index: u16 = 0x0 [27:16],
        /// The entry is not supported; valid with MCAM feature 76.
        component_not_supported: bool = 0x0 [30],
        /// No entries follow.
        last_index_flag: bool = 0x0 [31],
        /// Component id.
        identifier: u16 = 0x4 [15:0],
        /// State of an update.
        component_update_state: UpdateState = 0x8 [3:0],
        /// Whether it is there.
        component_status: ComponentStatus = 0x8 [8:4],
        /// Percent done; valid with MCAM feature 26.
        progress: u8 = 0x8 [15:9],
        /// 0 adapter or switch, 1 gearbox; valid with MCAM feature 18.
        device_type: u8 = 0xc [7:0],
        /// Host of the last change.
        last_update_state_changer_host_id: u8 = 0xc [27:24],
        /// Who made the last change.
        last_update_state_changer_type: Owner = 0xc [31:28],
    }
}

impl Mcqs {
    /// The component of this entry; `None` for an id of more than 8 bits.
    #[must_use]
    pub fn component(&self) -> Option<Component> {
        u8::try_from(self.identifier).ok().map(Component::from_code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn a_boot_image_waiting_for_reset_at_the_last_index() {
        let image = [
            0x80, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0xc8, 0x14, 0x52, 0x00,
            0x00, 0x00,
        ];
        let mcqs = Mcqs {
            component_index: 7,
            last_index_flag: true,
            identifier: 1,
            component_update_state: UpdateState::ActivePendingReset,
            component_status: ComponentStatus::Present,
            progress: 100,
            last_update_state_changer_host_id: 2,
            last_update_state_changer_type: Owner::Icmd,
            ..Mcqs::default()
        };
        assert_eq!(mcqs.encode(), image);
        assert_eq!(Mcqs::decode(&image).unwrap(), mcqs);
        assert_eq!(mcqs.component(), Some(Component::BootImage));
    }
}
