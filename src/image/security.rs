//! What an image's security attributes are, and whether the running firmware takes it
//! (images 5.3).

use super::image_info::Flags;
use super::info::{Security, SecurityAttribute};
use crate::bytes::be32;

/// Bytes of a key-pair UUID.
pub(super) const UUID_SIZE: usize = 16;

/// What of an image bears on its security.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evidence {
    pub(super) flags: Flags,
    /// Signature sections and keys decide: without them nothing else counts. Not so for encrypted
    /// images and FS5, where they cannot be seen.
    pub(super) sections: Option<SignatureSections>,
    /// The image is signed with a development key.
    pub(super) development: bool,
    pub(super) encrypted: bool,
    pub(super) version: Option<u32>,
}

/// Presence of the sections a signed image has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SignatureSections {
    pub(super) signature: bool,
    pub(super) keys: bool,
}

impl Evidence {
    /// The verdict.
    pub(super) fn decide(self) -> Security {
        let cleared = !self.flags.mcc
            || self
                .sections
                .is_some_and(|sections| !sections.signature || !sections.keys);
        let counts = !(cleared && self.sections.is_some());
        let mut attributes = Vec::new();
        if counts {
            let first = match self.flags {
                Flags { secure: true, .. } => Some(SecurityAttribute::SecureFw),
                Flags { signed: true, .. } => Some(SecurityAttribute::SignedFw),
                _ => None,
            };
            attributes.extend(first);
            if first.is_some() {
                attributes.extend(self.flags.debug.then_some(SecurityAttribute::Debug));
                attributes.extend(self.development.then_some(SecurityAttribute::Dev));
            }
        }
        Security {
            attributes,
            firmware_controlled: !cleared,
            encrypted: self.encrypted,
            version: self.version,
        }
    }
}

/// Whether a key-pair UUID is that of a development key: its last six bytes are zero, the others
/// are not all.
pub(super) fn is_development_key(uuid: &[u8]) -> bool {
    let dword = |index: usize| be32(uuid, index * 4);
    let (Some(first), Some(second), Some(third), Some(fourth)) =
        (dword(0), dword(1), dword(2), dword(3))
    else {
        return false;
    };
    (first, second, third) != (0, 0, 0) && fourth == 0 && super::toc::low_half(third) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: Flags = Flags {
        secure: false,
        signed: true,
        debug: true,
        mcc: true,
        encrypted: false,
    };

    fn decide(flags: Flags, sections: Option<SignatureSections>) -> Security {
        Evidence {
            flags,
            sections,
            development: true,
            encrypted: false,
            version: None,
        }
        .decide()
    }

    #[test]
    fn without_signature_sections_nothing_counts() {
        let without = decide(FLAGS, Some(SignatureSections::default()));
        assert!(without.attributes.is_empty());
        assert!(!without.firmware_controlled);
        let hidden = decide(FLAGS, None);
        assert_eq!(
            hidden.attributes,
            [
                SecurityAttribute::SignedFw,
                SecurityAttribute::Debug,
                SecurityAttribute::Dev
            ]
        );
        assert!(hidden.firmware_controlled);
    }

    #[test]
    fn debug_and_dev_stand_only_behind_signed_or_secure() {
        let sections = Some(SignatureSections {
            signature: true,
            keys: true,
        });
        let unsigned = decide(
            Flags {
                signed: false,
                ..FLAGS
            },
            sections,
        );
        assert!(unsigned.attributes.is_empty());
        assert!(unsigned.firmware_controlled);
    }

    #[test]
    fn a_development_key_ends_in_six_zero_bytes() {
        let mut uuid = [0u8; UUID_SIZE];
        assert!(!is_development_key(&uuid));
        uuid[0] = 1;
        assert!(is_development_key(&uuid));
        uuid[10] = 1;
        assert!(!is_development_key(&uuid));
        assert!(!is_development_key(&uuid[..8]));
    }
}
