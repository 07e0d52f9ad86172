//! Why something about a card could not be read: a stable word, the typed error's own message,
//! and what to do about it.

use std::io::ErrorKind;

use crate::access::{AccessError, GatewayError, IcmdError, RegisterError, Trouble};
use crate::bytes::ReadError;
use crate::image::ImageError;
use crate::pci::ConfigError;
use crate::version::FwVersion;

/// Why something about a card could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardError {
    /// Stable word for programs: `lockdown`, `not_root`, `no_capability`, `semaphore_busy`,
    /// `recovery`, `gone`, `firmware_not_ready`, `flash_unreadable`, ….
    pub code: &'static str,
    /// What happened: file or device, register or offset, expected and found.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl CardError {
    /// An error with advice.
    pub(super) fn new(code: &'static str, message: impl Into<String>, advice: &str) -> Self {
        Self {
            code,
            message: message.into(),
            advice: (!advice.is_empty()).then(|| advice.to_owned()),
        }
    }

    /// The message, and the advice if there is any, as one text.
    #[must_use]
    pub fn with_advice(&self) -> String {
        match &self.advice {
            Some(advice) => format!("{}; {advice}", self.message),
            None => self.message.clone(),
        }
    }

    /// The same of a card that is known: the advice names it.
    pub(super) fn of(self, device: &str) -> Self {
        let advice = self.advice.map(|advice| advice_for(device, &advice));
        Self { advice, ..self }
    }

    /// The word for a card without firmware.
    pub(super) const RECOVERY: &str = "recovery";

    /// The chip's boot ROM found no usable image, and there is one on the flash by now.
    pub(super) fn not_booted(device: &str, chip: &str, version: FwVersion) -> Self {
        Self::new(
            Self::RECOVERY,
            format!("{chip} is in flash recovery: {version} is on its flash and does not run yet"),
            &cold_boot(device),
        )
    }

    /// The same where that image does not start, for the card no longer says who it is.
    pub(super) fn unknown_card(device: &str, chip: &str, version: FwVersion) -> Self {
        Self::new(
            Self::RECOVERY,
            format!(
                "{chip} is in flash recovery: {version} is on its flash, and the card's GUIDs and \
                 MACs, without which it does not start, are lost or damaged"
            ),
            &format!(
                "`cxfw update -d {device} --image FILE --reinstall --guid GUID --mac MAC` writes \
                 them anew, with those of the board's label, or `cxfw restore -d {device} BACKUP` \
                 puts a backup of the card back; switch the machine off and on afterwards"
            ),
        )
    }

    /// The chip's boot ROM found no usable image.
    pub(super) fn recovery(device: &str, chip: &str) -> Self {
        Self::new(
            Self::RECOVERY,
            format!("{chip} is in flash recovery: no firmware runs on it"),
            &revival(device),
        )
    }

    /// The flash does not read the same twice.
    pub(super) fn unsteady(at: u64) -> Self {
        Self::new(
            "flash_unsteady",
            format!("the flash reads differently each time, first at {at:#x}"),
            "query again; if it stays so, the flash part or the chip is failing: leave the card \
             powered, and do not burn it",
        )
    }

    /// What is said of a flash that was read the second time.
    pub(super) fn misread(first: &ImageError) -> String {
        format!("the flash read wrong ({first}) and then right; watch this card")
    }

    /// The card left the bus.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.code == "gone"
    }

    /// The card, or what knows about it, could not be reached: nothing can be done with it now.
    #[must_use]
    pub fn is_out_of_reach(&self) -> bool {
        matches!(
            self.code,
            "semaphore_busy"
                | "gone"
                | "firmware_not_ready"
                | "flash_hangs"
                | "flash_unsteady"
                | "access_failed"
        )
    }

    /// The survey's own thread for a card broke down.
    pub(super) fn internal(device: &str) -> Self {
        Self::new(
            "internal",
            format!("the query of {device} broke down"),
            "this is a defect of cxfw; please report it with the output of -vv",
        )
    }
}

/// What to do about a card that left the bus.
const GONE: &str = "the card lost power or fell off the bus: look at the kernel log, then restart the \
     machine (without power for a moment, if the card stays away)";
/// What to do about a flash or its gateway that hangs.
const FLASH_HANGS: &str = "query again; if it stays so, restart the machine without power for a \
     moment, so that flash and chip begin anew";
/// What to do about a flash gateway that somebody holds.
const GATEWAY_HELD: &str = "let the other tool end (mlxup, mstflint); if none runs, a dead one left \
     the flash locked: `cxfw query -d DEV --release-lock` watches it and frees it";

/// Advice for any card, with this one's name in its commands.
#[must_use]
pub fn advice_for(device: &str, advice: &str) -> String {
    advice.replace(" -d DEV ", &format!(" -d {device} "))
}

/// What to do with a card in recovery whose flash holds an image.
#[must_use]
pub fn cold_boot(device: &str) -> String {
    format!(
        "switch the machine off and on (without power for a moment) to run it; if the card is in \
         recovery after that too, `cxfw update -d {device} --image FILE --reinstall` writes the \
         image once more"
    )
}

/// How a card in recovery is brought back.
#[must_use]
pub fn revival(device: &str) -> String {
    format!(
        "`cxfw update -d {device} --image FILE` writes the image for exactly this board (PSID on the \
         label); add --guid and --mac from the label if the flash has lost them, and switch the \
         machine off and on afterwards"
    )
}

impl From<&RegisterError> for CardError {
    fn from(error: &RegisterError) -> Self {
        let command = match error {
            RegisterError::Transport { reason, .. } => reason.downcast_ref::<IcmdError>(),
            _ => None,
        };
        match command {
            Some(IcmdError::Access(error)) => return error.into(),
            Some(
                IcmdError::NotReady { .. } | IcmdError::Timeout { .. } | IcmdError::Busy { .. },
            ) => {
                return Self::new(
                    "firmware_not_ready",
                    error.to_string(),
                    "wait a moment and query again; if it stays so, restart the machine without power \
                     for a moment",
                );
            }
            _ => {}
        }
        let (code, advice) = if error.is_unsupported() {
            (
                "register_unsupported",
                "newer firmware has this register; what it holds is shown as unknown",
            )
        } else {
            (
                "register_failed",
                "query again; if it stays so, restart the machine",
            )
        };
        Self::new(code, error.to_string(), advice)
    }
}

impl From<&ReadError> for CardError {
    /// The flash could not be read.
    fn from(error: &ReadError) -> Self {
        let told = format!("the flash cannot be read: {error}");
        let (code, advice) = match Trouble::of(error) {
            Some(Trouble::Gone) => ("gone", GONE),
            Some(Trouble::FlashHangs) => ("flash_hangs", FLASH_HANGS),
            Some(Trouble::Held | Trouble::GatewayHeld) => ("semaphore_busy", GATEWAY_HELD),
            Some(Trouble::FirmwareBusy) | None => (
                "flash_unreadable",
                "query again; if it stays so, restart the machine",
            ),
        };
        Self::new(code, told, advice)
    }
}

impl From<&ImageError> for CardError {
    /// The flash could not be read or holds no valid image.
    fn from(error: &ImageError) -> Self {
        let (code, advice) = match error {
            ImageError::Read { source, .. } => return source.into(),
            _ => (
                "no_valid_image",
                "query again; if it stays so, the flash needs an image written directly",
            ),
        };
        Self::new(code, format!("flash: {error}"), advice)
    }
}

impl From<&ConfigError> for CardError {
    fn from(error: &ConfigError) -> Self {
        let (code, advice) = match error {
            ConfigError::NotWritable {
                lockdown: Some(_), ..
            } => (
                "lockdown",
                "the kernel is locked down (Secure Boot), which forbids writing configuration \
                 space: update through the driver (devlink, with an MFA2 file) or a signed helper \
                 module, or boot without lockdown",
            ),
            ConfigError::NotWritable { source, .. } | ConfigError::Open { source, .. }
                if source.kind() == ErrorKind::PermissionDenied =>
            {
                ("not_root", "run as root")
            }
            ConfigError::NotWritable { .. } => ("not_writable", "run as root, outside a sandbox"),
            ConfigError::Open { .. } => (
                "cannot_open",
                "check that the device is still on the bus (lspci) and run as root",
            ),
            ConfigError::Transfer { .. } => (
                "config_failed",
                "query again; if it stays so, restart the machine",
            ),
            ConfigError::Gone { .. } => ("gone", GONE),
        };
        Self::new(code, error.to_string(), advice)
    }
}

impl From<&AccessError> for CardError {
    fn from(error: &AccessError) -> Self {
        let (code, advice) = match error {
            AccessError::Config(error) => return error.into(),
            AccessError::NoWay { .. } | AccessError::UnsupportedSpace { .. } => (
                "no_capability",
                "the chip shows no way in; if it hangs, a cold boot (the machine without power) \
                 helps",
            ),
            AccessError::GatewayHeld { .. } => (
                "semaphore_busy",
                "let the other process end; this lock is never left behind by a dead one",
            ),
            AccessError::SemaphoreHeld { .. } | AccessError::TokenHeld { .. } => (
                "semaphore_busy",
                "let the other tool end (mlxup, mstflint, a driver's dump); if none runs, a dead \
                 one left it held: `cxfw query -d DEV --release-lock` names its owner and frees it",
            ),
            AccessError::SecureHost { .. } => (
                "secure_host",
                "the owner locked the card; it opens with the owner's key only",
            ),
            AccessError::LockFile { .. } => (
                "lock_file",
                "run as root, or name another folder with --lock-dir",
            ),
            _ => (
                "access_failed",
                "query again; if it stays so, restart the machine",
            ),
        };
        Self::new(code, error.to_string(), advice)
    }
}

impl From<&GatewayError> for CardError {
    fn from(error: &GatewayError) -> Self {
        let (code, advice) = match error {
            GatewayError::Access(error) => return error.into(),
            GatewayError::Busy { .. } => ("flash_hangs", FLASH_HANGS),
            GatewayError::Locked { .. } => ("semaphore_busy", GATEWAY_HELD),
            GatewayError::Closed { .. } | GatewayError::NoWindow { .. } => (
                "flash_closed",
                "this card does not let tools at its flash; its vendor can",
            ),
            GatewayError::FirmwareRuns { .. } => (
                "flash_in_use",
                "the firmware has to tell its version itself; newer firmware does",
            ),
            GatewayError::NoFlash { .. } | GatewayError::UnknownCapacity { .. } => (
                "flash_unreadable",
                "query again; if it stays so, the flash part may be failing",
            ),
        };
        Self::new(code, error.to_string(), advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Method;
    use crate::registers::Mgir;
    use crate::registers::Register;
    use std::io;
    use std::path::PathBuf;
    use std::time::Duration;

    fn not_writable(lockdown: Option<&str>) -> ConfigError {
        ConfigError::NotWritable {
            path: PathBuf::from("/sys/bus/pci/devices/0000:03:00.0/config"),
            source: io::Error::from(ErrorKind::PermissionDenied),
            lockdown: lockdown.map(str::to_owned),
        }
    }

    fn over_icmd(error: IcmdError) -> RegisterError {
        RegisterError::Transport {
            register: Mgir::ID,
            reason: Box::new(error),
        }
    }

    fn semaphore_held() -> AccessError {
        AccessError::SemaphoreHeld {
            device: "0000:03:00.0".to_owned(),
            owner: 0x1234,
            process: None,
            waited: Duration::from_millis(2048),
        }
    }

    #[test]
    fn every_way_to_fail_has_its_word_and_its_advice() {
        let device = || "0000:03:00.0".to_owned();
        let not_ready = IcmdError::NotReady {
            device: device(),
            address: 0xb_0004,
            bit: 31,
        };
        let errors: [(CardError, &str); 8] = [
            ((&not_writable(Some("integrity"))).into(), "lockdown"),
            ((&not_writable(None)).into(), "not_root"),
            ((&semaphore_held()).into(), "semaphore_busy"),
            ((&over_icmd(not_ready)).into(), "firmware_not_ready"),
            (
                (&over_icmd(semaphore_held().into())).into(),
                "semaphore_busy",
            ),
            (
                (&GatewayError::Closed { device: device() }).into(),
                "flash_closed",
            ),
            ((&ImageError::NoMarker).into(), "no_valid_image"),
            (
                CardError::recovery("0000:81:00.0", "ConnectX-5"),
                "recovery",
            ),
        ];
        for (error, code) in errors {
            assert_eq!(error.code, code, "{}", error.message);
            assert!(error.advice.is_some(), "{code}");
        }
    }

    #[test]
    fn a_register_that_old_firmware_lacks_is_told_from_one_that_failed() {
        let status = |status| RegisterError::Status {
            register: Mgir::ID,
            method: Method::Read,
            status,
        };
        let code = |error: RegisterError| CardError::from(&error).code;
        assert_eq!(code(status(4)), "register_unsupported");
        assert_eq!(code(status(7)), "register_failed");
    }
}
