//! Why MCC refused, and what to do about it (burn 7.5).

use crate::registers::layout::Small;

/// Declares the codes once: number, name, advice.
macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $advice:literal;)*) => {
        /// `error_code` of MCC. Codes without a name are kept in `Other`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)*
            /// A code without a name.
            Other(u8),
        }

        impl ErrorCode {
            /// Every named code.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The value a code stands for.
            #[must_use]
            pub const fn from_code(code: u8) -> Self {
                match code {
                    $($code => Self::$variant,)*
                    other => Self::Other(other),
                }
            }

            /// The code as it travels.
            #[must_use]
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$variant => $code,)*
                    Self::Other(code) => code,
                }
            }

            /// What went wrong, in a few words.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(_) => "unknown error code",
                }
            }

            /// What the user can do; `None` where nothing is known to help.
            #[must_use]
            pub const fn advice(self) -> Option<&'static str> {
                let advice = match self {
                    $(Self::$variant => $advice,)*
                    Self::Other(_) => "",
                };
                if advice.is_empty() { None } else { Some(advice) }
            }
        }
    };
}

error_codes! {
    /// No error.
    Ok = 0x00, "ok", "";
    /// General error.
    General = 0x01, "general error", "try once more; if it fails again, collect the firmware log for the vendor";
    /// Digest mismatch.
    DigestMismatch = 0x02, "digest mismatch", "the image is corrupted or was edited: fetch it again";
    /// The component is for something else.
    NotApplicable = 0x03, "component not applicable", "the image is for another board or chip: take the one with this card's PSID";
    /// The signing key is unknown.
    UnknownKey = 0x04, "unknown key", "the image is signed with a key this card does not hold: take the image its vendor offers for its PSID";
    /// The signature does not fit.
    AuthenticationFailed = 0x05, "authentication failed", "the signature of the image is not valid: fetch it again from the vendor";
    /// No signature.
    Unsigned = 0x06, "component not signed", "this card takes signed images only: take the one its vendor offers for its PSID";
    /// The key is for something else.
    KeyNotApplicable = 0x07, "key not applicable", "the image is signed with a key for other components: fetch it again from the vendor";
    /// Not an update image.
    BadFormat = 0x08, "bad image format", "the image is truncated or no update image: check it with `verify`";
    /// An update already waits for a reset.
    PendingReset = 0x09, "an update is already staged", "reset or reboot to activate it first, then update again";
    /// Firmware without security.
    NotSecuredFirmware = 0x0a, "not a secured firmware", "this card needs an image with secure firmware: take the one its vendor offers for its PSID";
    /// The card is not on the token's list.
    BaseMacNotListed = 0x0b, "manufacturing base MAC not listed", "the token is bound to other cards: ask the vendor for one for this card";
    /// No debug token.
    NoDebugToken = 0x0c, "no debug token", "install a debug token first";
    /// Version mismatch.
    VersionMismatch = 0x0d, "version number mismatch", "";
    /// Time-stamp mismatch.
    UserTimestampMismatch = 0x0e, "user timestamp mismatch", "the image is older than the time stamp stored on the card: take a newer image";
    /// The version is on the forbidden list.
    ForbiddenVersion = 0x0f, "forbidden version", "the running firmware does not allow a downgrade to this version: take a newer image";
    /// Flash could not be erased.
    FlashEraseError = 0x10, "flash erase error", "the running image is untouched; run the update again: if it fails the same way, the flash is write protected or failing";
    /// The firmware still copies.
    ReburnRunningAndRetry = 0x11, "the firmware is finishing a copy", "wait a minute, then run the update again";
    /// Cable not supported.
    LinkXTypeNotSupported = 0x12, "LinkX type not supported", "";
    /// Host storage in use.
    HostStorageInUse = 0x13, "host storage in use", "";
    /// Cable transfer failed.
    LinkXTransferFailed = 0x14, "LinkX transfer failed", "";
    /// Cable activation failed.
    LinkXActivateFailed = 0x15, "LinkX activation failed", "";
    /// Flash part not supported.
    IncompatibleFlash = 0x16, "incompatible flash", "the image does not support the flash part on this card: take a newer image";
    /// Token already there.
    TokenAlreadyApplied = 0x17, "token already applied", "";
    /// DRAM not available.
    DramNotAvailable = 0x18, "DRAM not available", "";
    /// Rollback protection.
    InvalidSecurityVersion = 0x19, "invalid security version", "the image is older than the minimum fused into the card: take a newer image";
    /// Certificate.
    CertificateX509 = 0x1a, "X.509 certificate error", "";
    /// Certificate signature.
    CertificateSignature = 0x1b, "certificate signature error", "";
    /// Certificate metadata.
    CertificateMetadata = 0x1c, "certificate metadata error", "";
    /// Internal error 0.
    Internal0 = 0x1d, "internal error 0", "";
    /// No place.
    NoPlace = 0x1e, "no place", "";
    /// Removal UUID does not match.
    RemovalUuidMismatch = 0x1f, "removal UUID does not match", "";
    /// Internal error 1.
    Internal1 = 0x20, "internal error 1", "";
    /// Internal error 2.
    Internal2 = 0x21, "internal error 2", "";
    /// Number of swaps.
    NumberOfSwaps = 0x22, "number of swaps exceeded", "";
    /// Internal error 3.
    Internal3 = 0x23, "internal error 3", "";
    /// Internal error 4.
    Internal4 = 0x24, "internal error 4", "";
    /// Same UUID.
    SameUuid = 0x25, "same UUID not allowed", "";
    /// Internal error 5.
    Internal5 = 0x26, "internal error 5", "";
    /// Internal error 6.
    Internal6 = 0x27, "internal error 6", "";
    /// Flash write protected.
    FlashWriteProtected = 0x28, "flash is write protected", "remove the write protection of the flash first";
    /// Internal error 7.
    Internal7 = 0x29, "internal error 7", "";
    /// Internal error 8.
    Internal8 = 0x2a, "internal error 8", "";
    /// Internal error 9.
    Internal9 = 0x2b, "internal error 9", "";
    /// DPA program.
    DpaElf = 0x2c, "DPA ELF error", "";
    /// DPA crypto blob.
    DpaCryptoBlob = 0x2d, "DPA crypto blob error", "";
    /// DPA metadata.
    DpaAppMetadata = 0x2e, "DPA application metadata error", "";
    /// DPA removal signature.
    DpaRemovalSignature = 0x2f, "DPA removal signature error", "";
    /// DPA container.
    DpaContainerVerification = 0x30, "DPA container verification error", "";
    /// Internal error 10.
    Internal10 = 0x31, "internal error 10", "";
    /// Development image.
    DevelopmentImage = 0x32, "development image on a production device", "take a production image";
    /// DPA manifest.
    DpaManifest = 0x33, "DPA manifest error", "";
}

impl Default for ErrorCode {
    fn default() -> Self {
        Self::from_code(0)
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (code {:#04x})", self.name(), self.code())
    }
}

impl Small for ErrorCode {
    const WIDTH: usize = 8;
    fn from_bits(value: u32) -> Self {
        Self::from_code(value.to_le_bytes()[0])
    }
    fn to_bits(&self) -> u32 {
        u32::from(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_code_up_to_0x33_has_a_name_of_its_own() {
        assert_eq!(ErrorCode::ALL.len(), 0x34);
        let names: HashSet<&str> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), ErrorCode::ALL.len());
        for (number, code) in ErrorCode::ALL.iter().enumerate() {
            assert_eq!(usize::from(code.code()), number);
            assert_eq!(ErrorCode::from_code(code.code()), *code);
        }
    }

    #[test]
    fn unnamed_codes_keep_their_number() {
        let code = ErrorCode::from_code(0x77);
        assert_eq!(code.to_string(), "unknown error code (code 0x77)");
        assert_eq!(code.advice(), None);
        assert_eq!(
            ErrorCode::from_code(9).to_string(),
            "an update is already staged (code 0x09)"
        );
    }
}
