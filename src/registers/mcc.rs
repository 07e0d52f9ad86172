//! MCC: the state machine of an update (device-access 4.4, burn 7.2).
//!
//! A write carries an instruction and its answer the new state; a read is a query. A read with
//! `update_handle` 0 hands out a fresh handle.

mod error_code;

pub use error_code::ErrorCode;

use super::layout::{codes, register};
use super::mcqs::Owner;

codes! {
    /// What MCC is told to do.
    Instruction {
        /// Nothing (a query).
        None = 0x0, "none";
        /// Take the update handle.
        LockUpdateHandle = 0x1, "lock update handle";
        /// Give it back.
        ReleaseUpdateHandle = 0x2, "release update handle";
        /// Begin to update a component.
        UpdateComponent = 0x3, "update component";
        /// Check what was sent.
        VerifyComponent = 0x4, "verify component";
        /// Make one component the one that runs next.
        ActivateComponent = 0x5, "activate component";
        /// Make all updated components the ones that run next.
        Activate = 0x6, "activate";
        /// Begin to read a component.
        ReadComponent = 0x7, "read component";
        /// Give the update up.
        Cancel = 0x8, "cancel";
        /// Ask whether the handle is still ours.
        CheckUpdateHandle = 0x9, "check update handle";
        /// Take the handle away from whoever has it.
        ForceHandleRelease = 0xa, "force handle release";
        /// Begin to read the component that waits for a reset.
        ReadPendingComponent = 0xb, "read pending component";
        /// Pass the component on to a cable or peripheral.
        DownstreamDeviceTransfer = 0xc, "downstream device transfer";
    }
}

codes! {
    /// Where the state machine stands (burn 7.2).
    ControlState {
        /// Nobody updates.
        Idle = 0, "idle";
        /// A handle is held.
        Locked = 1, "locked";
        /// The target is being prepared (erased).
        Initialize = 2, "initialize";
        /// Data is awaited.
        Download = 3, "download";
        /// What was sent is checked.
        Verify = 4, "verify";
        /// What was sent is applied.
        Apply = 5, "apply";
        /// What was sent is made active.
        Activate = 6, "activate";
        /// Data can be read.
        Upload = 7, "upload";
        /// Data will be readable soon.
        UploadPending = 8, "upload pending";
        /// A cable or peripheral is being written.
        DownstreamDeviceTransfer = 9, "downstream device transfer";
    }
}

/// `control_progress` when the firmware does not count.
pub const PROGRESS_NOT_AVAILABLE: u8 = 101;

register! {
    /// MCC.
    Mcc = 0x9062, "MCC", 32 bytes {
        /// What to do.
        instruction: Instruction = 0x00 [7:0],
        /// Seconds before an activation.
        activation_delay_sec: u8 = 0x00 [15:8],
        /// Seconds since the last command of the handle's owner.
        time_elapsed_since_last_cmd: u16 = 0x00 [27:16],
        /// Position in the component table, from MCQS.
        component_index: u16 = 0x04 [15:0],
        /// The handle.
        update_handle: u32 = 0x08 [23:0],
        /// Firmware updates by itself.
        auto_update: bool = 0x08 [31],
        /// Where the state machine stands.
        control_state: ControlState = 0x0c [3:0],
        /// Why the last instruction failed.
        error_code: ErrorCode = 0x0c [15:8],
        /// Percent done, [`PROGRESS_NOT_AVAILABLE`] if not counted.
        control_progress: u8 = 0x0c [22:16],
        /// Host of the handle's owner.
        handle_owner_host_id: u8 = 0x0c [27:24],
        /// Who owns the handle.
        handle_owner_type: Owner = 0x0c [31:28],
        /// Bytes of the component.
        component_size: u32 = 0x10 [31:0],
        /// 0 adapter or switch, 1 gearbox.
        device_type: u8 = 0x14 [7:0],
        /// 1, 2: DPA interface does not fit the OS part or the firmware.
        warning_code: u8 = 0x14 [15:8],
        /// Device behind the card; valid with MCAM feature 18.
        device_index: u16 = 0x14 [27:16],
        /// How many devices from `device_index`.
        device_index_size: u16 = 0x18 [11:0],
        /// Device that refused the component.
        rejected_device_index: u16 = 0x18 [27:16],
        /// A code of the component's own; valid with MCAM feature 59.
        component_specific_err_code: u32 = 0x1c [31:0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn an_update_instruction_is_laid_out_as_the_table_says() {
        let mcc = Mcc {
            instruction: Instruction::UpdateComponent,
            component_index: 2,
            update_handle: 0xa1_b2c3,
            component_size: 0x40_0000,
            ..Mcc::default()
        };
        let mut image = [0; 32];
        image[0x03] = 3;
        image[0x07] = 2;
        image[0x08..0x0c].copy_from_slice(&[0x00, 0xa1, 0xb2, 0xc3]);
        image[0x10..0x14].copy_from_slice(&[0x00, 0x40, 0x00, 0x00]);
        assert_eq!(mcc.encode(), image);
    }

    #[test]
    fn a_refusal_says_state_code_and_owner() {
        let mut image = [0; 32];
        image[0x00..0x04].copy_from_slice(&[0x00, 0x2a, 0x00, 0x03]);
        image[0x0c..0x10].copy_from_slice(&[0x41, 0x65, 0x09, 0x01]);
        let mcc = Mcc::decode(&image).unwrap();
        assert_eq!(mcc.control_state, ControlState::Locked);
        assert_eq!(mcc.error_code, ErrorCode::PendingReset);
        assert_eq!(mcc.control_progress, PROGRESS_NOT_AVAILABLE);
        assert_eq!(mcc.handle_owner_type, Owner::CommandInterface);
        assert_eq!(mcc.handle_owner_host_id, 1);
        assert_eq!(mcc.time_elapsed_since_last_cmd, 42);
        assert_eq!(mcc.encode(), image);
    }
}
