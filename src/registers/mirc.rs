//! MIRC: makes the running image the active one again, so that an update can follow an update
//! (device-access 4.8). A write starts it, reads poll.

use super::layout::{codes, register};

codes! {
    /// How it went.
    Status {
        /// Done.
        Ok = 0, "ok";
        /// Going on.
        Busy = 1, "busy";
        /// The version is prohibited.
        ProhibitedVersion = 2, "prohibited version";
        /// The first page could not be copied.
        FirstPageCopyFailed = 3, "first-page copy failed";
        /// The first page could not be erased.
        FirstPageEraseFailed = 4, "first-page erase failed";
        /// The first page could not be restored.
        FirstPageRestoreFailed = 5, "first-page restore failed";
        /// The candidate could not be deactivated.
        CandidateDeactivationFailed = 6, "candidate deactivation failed";
        /// The running image is the active one: nothing to do.
        AlreadyActivated = 7, "already activated";
        /// The device must be reset.
        DeviceResetRequired = 8, "device reset required";
        /// Programming is needed.
        ProgrammingNeeded = 9, "programming needed";
    }
}

register! {
    /// MIRC.
    Mirc = 0x9162, "MIRC", 8 bytes {
        /// How it went.
        status_code: Status = 0x0 [7:0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn the_status_is_the_last_byte_of_the_first_dword() {
        let image = [0, 0, 0, 7, 0, 0, 0, 0];
        let mirc = Mirc::decode(&image).unwrap();
        assert_eq!(mirc.status_code, Status::AlreadyActivated);
        assert_eq!(mirc.encode(), image);
    }
}
