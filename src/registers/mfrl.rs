//! MFRL: resets and what they may be (device-access 4.8).

use super::layout::{codes, register};

codes! {
    /// Where a reset stands.
    ResetState {
        /// None goes on.
        Idle = 0, "idle";
        /// The hosts are being asked.
        Negotiation = 1, "negotiation";
        /// Going on.
        InProgress = 2, "in progress";
        /// A host did not answer.
        NegotiationTimeout = 3, "negotiation time-out";
        /// A host refused.
        NegotiationRefused = 4, "negotiation refused";
        /// A driver did not unload.
        DriverUnloadTimeout = 5, "driver unload time-out";
        /// The system on the card's processor is up.
        ArmOsUp = 6, "ARM OS up";
        /// It is going down.
        ArmOsShuttingDown = 7, "ARM OS shutting down";
        /// Everything is ready for the PCI reset.
        WaitingForTrigger = 8, "waiting for trigger";
    }
}

/// Trigger: live patch, the driver keeps running.
pub const TRIGGER_LIVE_PATCH: u8 = 1 << 0;
/// Trigger: at once.
pub const TRIGGER_IMMEDIATE: u8 = 1 << 1;
/// Trigger: PCIe link toggle or hot reset.
pub const TRIGGER_PCI_LINK: u8 = 1 << 3;
/// Trigger: PERST, which a warm reboot gives.
pub const TRIGGER_WARM_REBOOT: u8 = 1 << 6;

register! {
    /// MFRL. Triggers and types are sets when read, one choice when written.
    Mfrl = 0x9028, "MFRL", 8 bytes {
        /// What sets off the reset, `TRIGGER_…`.
        reset_trigger: u8 = 0x4 [7:0],
        /// Types there are: bit 0 whole chip, 1 keep the network ports, 3 ARM only, 4 ARM OS
        /// shutdown, 5 network.
        reset_type: u8 = 0x4 [15:8],
        /// Where it stands; valid with MCAM feature 21.
        reset_state: ResetState = 0x4 [19:16],
        /// 0 link disable, 1 hot reset; valid with MCAM feature 66.
        pci_reset_req_method: u8 = 0x4 [23:21],
        /// Type chosen when writing.
        rst_type_sel: u8 = 0x4 [26:24],
        /// The driver's answer: 1 yes, 2 no.
        pci_sync_for_fw_update_resp: u8 = 0x4 [28:27],
        /// Who takes part: 0 the tool alone, 1 the driver, 2 tool and firmware.
        pci_sync_for_fw_update_start: u8 = 0x4 [30:29],
        /// PCI must be scanned again; valid with MCAM feature 45.
        pci_rescan_required: bool = 0x4 [31],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn fields_lie_where_the_table_says() {
        let mfrl = Mfrl {
            reset_trigger: TRIGGER_PCI_LINK | TRIGGER_WARM_REBOOT,
            reset_type: 0x03,
            reset_state: ResetState::WaitingForTrigger,
            pci_reset_req_method: 1,
            rst_type_sel: 5,
            pci_sync_for_fw_update_resp: 2,
            pci_sync_for_fw_update_start: 1,
            pci_rescan_required: true,
        };
        // 1 01 10 101 | 001 0 1000 | 00000011 | 01001000
        let image = [0, 0, 0, 0, 0xb5, 0x28, 0x03, 0x48];
        assert_eq!(mfrl.encode(), image);
        assert_eq!(Mfrl::decode(&image).unwrap(), mfrl);
    }
}
