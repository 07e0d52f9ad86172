//! Why firmware refuses an update, in the words users and their scripts know (burn 7.5).
//!
//! The codes themselves are the register's ([`ErrorCode`]). Texts that scripts of other tools look
//! for are kept to the letter; every other code shows its name in the register manual. The raw
//! code always goes with them.

use crate::registers::mcc::ErrorCode;

/// What the firmware answered instead of taking a step; never [`ErrorCode::Ok`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirmwareError {
    code: ErrorCode,
}

impl FirmwareError {
    /// The error of an answer, if it has one.
    #[must_use]
    pub fn from_code(code: ErrorCode) -> Option<Self> {
        (code != ErrorCode::Ok).then_some(Self { code })
    }

    /// The code.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        self.code
    }

    /// Stable word for programs.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        use ErrorCode as E;
        match self.code {
            E::DigestMismatch => "signature_digest_mismatch",
            E::NotApplicable => "not_applicable",
            E::UnknownKey | E::KeyNotApplicable => "wrong_key",
            E::AuthenticationFailed => "authentication_failed",
            E::Unsigned => "unsigned",
            E::BadFormat => "bad_format",
            E::PendingReset => "pending_reset",
            E::NotSecuredFirmware => "not_secured",
            E::BaseMacNotListed | E::NoDebugToken | E::TokenAlreadyApplied => "token",
            E::VersionMismatch => "version_mismatch",
            E::UserTimestampMismatch => "timestamp_mismatch",
            E::ForbiddenVersion => "forbidden_version",
            E::FlashEraseError => "flash_erase_error",
            E::ReburnRunningAndRetry => "reburn_running",
            E::IncompatibleFlash => "incompatible_flash",
            E::InvalidSecurityVersion => "security_version",
            E::CertificateX509 | E::CertificateSignature | E::CertificateMetadata => "certificate",
            E::FlashWriteProtected => "write_protected",
            E::DevelopmentImage => "development_image",
            _ => "firmware_error",
        }
    }

    /// What happened.
    #[must_use]
    pub const fn text(self) -> &'static str {
        use ErrorCode as E;
        match self.code {
            E::DigestMismatch => "The Digest in the signature is wrong",
            E::NotApplicable => "Component is not applicable",
            E::AuthenticationFailed => "Rejected authentication",
            E::Unsigned => "The component is not signed",
            E::KeyNotApplicable => "The key is not applicable",
            E::PendingReset => "The firmware image was already updated on flash, pending reset.",
            E::NotSecuredFirmware => "The firmware image is not secured",
            E::NoDebugToken => "There is no Debug Token installed",
            E::VersionMismatch => "Firmware version mismatch",
            E::ForbiddenVersion => "Forbidden version rejected",
            E::FlashWriteProtected => "Flash is write protected",
            other => other.name(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self.code {
            ErrorCode::PendingReset => {
                "restart the machine, so that the stored firmware runs, then run the update again"
            }
            other => other.advice().unwrap_or(
                "run the update once more; if it fails the same way, report it with the code to the \
                 vendor of the card",
            ),
        }
    }
}

impl std::fmt::Display for FirmwareError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (MCC error {:#04x})", self.text(), self.code.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(code: u8) -> String {
        FirmwareError::from_code(ErrorCode::from_code(code))
            .unwrap()
            .to_string()
    }

    #[test]
    fn texts_scripts_look_for_are_kept_and_the_raw_code_goes_with_them() {
        assert_eq!(
            say(2),
            "The Digest in the signature is wrong (MCC error 0x02)"
        );
        assert_eq!(
            say(9),
            "The firmware image was already updated on flash, pending reset. (MCC error 0x09)"
        );
        assert_eq!(say(0x28), "Flash is write protected (MCC error 0x28)");
        assert_eq!(say(0xf0), "unknown error code (MCC error 0xf0)");
    }

    #[test]
    fn every_code_has_a_reason_for_programs_and_advice_and_zero_is_no_error() {
        assert_eq!(FirmwareError::from_code(ErrorCode::Ok), None);
        for &code in ErrorCode::ALL.iter().skip(1) {
            let error = FirmwareError::from_code(code).unwrap();
            assert!(
                error
                    .reason()
                    .bytes()
                    .all(|b| b == b'_' || b.is_ascii_lowercase())
            );
            assert!(error.advice().len() > 10, "{error}");
        }
    }
}
