//! The way an image is burned, and what stands against it.

use std::fmt;

use super::compare;
use super::reason::Reason;
use crate::card::{CardReport, UpdatePath};
use crate::image::{ImageInfo, SecurityAttribute};
use crate::model::ImageFormat;

/// A way of burning; the words are the `method` field of the JSON output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// The running firmware takes the image (MCC/MCDA).
    Component,
    /// The flash is written by this program.
    Direct,
}

impl Method {
    /// The word for programs (`component`).
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Direct => "direct",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The way for this card and image: the one asked for, else through the firmware where that takes
/// images. Of an image that is elsewhere nothing is known yet.
pub(super) fn choose(
    card: &CardReport,
    image: Option<&ImageInfo>,
    asked: Option<Method>,
) -> Result<Method, Reason> {
    let takes_images = card.update_path == Some(UpdatePath::Component);
    match asked {
        Some(Method::Component) | None if takes_images => {
            let has_digest = image.is_none_or(|image| image.security.firmware_controlled);
            if has_digest {
                return Ok(Method::Component);
            }
            let direct = obstacle(card, image).is_none();
            Err(Reason::NoDigest { direct })
        }
        Some(Method::Component) => Err(Reason::NotFirmwareControlled),
        Some(Method::Direct) | None => obstacle(card, image).map_or(Ok(Method::Direct), Err),
    }
}

/// Why the flash of this card is not written directly.
pub(super) fn obstacle(card: &CardReport, image: Option<&ImageInfo>) -> Option<Reason> {
    if card.security.contains(&SecurityAttribute::SecureFw) {
        return Some(Reason::SecureFirmware);
    }
    let is_fs5 = card
        .model
        .is_some_and(|model| model.format == ImageFormat::Fs5);
    if is_fs5 {
        return Some(Reason::NotDirect {
            what: "firmware of this generation (FS5)",
        });
    }
    if image.is_some_and(|image| image.security.encrypted) {
        return Some(Reason::NotDirect {
            what: "an encrypted image",
        });
    }
    // The slot that looks free is the one the firmware works from.
    let works_from_flash = card.update_path == Some(UpdatePath::Component);
    match compare::staged(card).filter(|_| works_from_flash) {
        Some(Reason::Staged { stored, running }) => Some(Reason::RunningSlot { stored, running }),
        _ => None,
    }
}
