//! May this image go on this card? Asked before anything is sent.

use crate::card::BootImage;
use crate::identity::Psid;
use crate::image::{self, HwId, ImageError, ImageInfo, SecurityAttribute, Standing};
use crate::model::{ImageFormat, Model};
use crate::registers::mcqi::Capabilities;
use crate::registers::mlock::LockState;
use crate::version::FwVersion;

use super::steps::{self, Plan};

/// What the card says of itself, as far as a burn has to know.
#[derive(Debug, Clone)]
pub struct Target {
    /// Chip, as the chip itself says.
    pub hw_id: HwId,
    /// Its facts.
    pub model: &'static Model,
    /// Board.
    pub psid: Option<Psid>,
    /// What runs.
    pub running: Option<FwVersion>,
    /// Seconds that it has run, as it says.
    pub uptime: u32,
    /// What boots next.
    pub stored: Option<FwVersion>,
    /// Security attributes of the running firmware.
    pub security: Vec<SecurityAttribute>,
    /// Flash contents are encrypted; `None` when the firmware does not say.
    pub encrypted: Option<bool>,
    /// State of secure host (MLOCK); unlocked when the card has none (burn 7.6).
    pub secure_host: LockState,
    /// MIRC is there: a staged update can be taken back.
    pub can_reactivate: bool,
    /// The component that boots.
    pub boot_image: BootImage,
    /// What it takes.
    pub capabilities: Capabilities,
}

/// An image that passed, and the plan to burn it.
#[derive(Debug)]
pub struct Cleared {
    /// What will be done.
    pub plan: Plan,
    /// The bytes that travel.
    pub component: Vec<u8>,
}

/// Why an image does not go on a card. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The image is damaged or none.
    #[error("the image is not valid: {0}")]
    Invalid(#[source] ImageError),
    /// The image does not say something a burn has to know.
    #[error("the image carries no {0}")]
    Incomplete(&'static str),
    /// Wrong generation of image.
    #[error("the image is {image}, but {chip} boots {format}")]
    Format {
        /// Of the image.
        image: ImageFormat,
        /// The chip.
        chip: &'static str,
        /// What it boots.
        format: ImageFormat,
    },
    /// The image does not list the chip or its revision.
    #[error("the image is not for this chip: hardware id {:#05x} revision {:#04x} is not in its list ({})",
        card.id, card.revision, list(image))]
    Chip {
        /// What the card is.
        card: HwId,
        /// What the image supports.
        image: Vec<HwId>,
    },
    /// Image and card are for different boards.
    #[error("PSID mismatch. Device PSID ({card}) differs from image PSID ({image}).")]
    Psid {
        /// Of the card.
        card: Psid,
        /// Of the image.
        image: Psid,
    },
    /// The card does not say which board it is.
    #[error("the card does not say its PSID, so no image can be matched to it")]
    NoPsid,
    /// The image is too old to be checked by firmware.
    #[error("the image carries no digest, so the running firmware cannot check it")]
    NoDigest,
    /// Unsigned image, card that wants signatures.
    #[error("The component is not signed: the card runs {card} firmware, the image is {image}")]
    Unsigned {
        /// Attribute of the card.
        card: SecurityAttribute,
        /// What the image is.
        image: String,
    },
    /// One is encrypted, the other is not.
    #[error("Burning {} image on {} device is not allowed.",
        if *.image { "encrypted" } else { "non-encrypted" },
        if *.image { "non-encrypted" } else { "encrypted" })]
    Encryption {
        /// The image is the encrypted one.
        image: bool,
    },
    /// The component does not fit.
    #[error("the image has {size} bytes, the card takes at most {max}")]
    TooLarge {
        /// Of the component.
        size: u64,
        /// What the card takes.
        max: u32,
    },
    /// Transfers of the size the card wants do not exist.
    #[error(
        "the card takes {max_write} bytes a transfer in words of 2^{log_word} bytes; a transfer holds 128"
    )]
    Transfer {
        /// Most bytes a transfer.
        max_write: u16,
        /// log2 of the word.
        log_word: u8,
    },
    /// A staged update was to be taken back, which this firmware cannot do.
    #[error("the staged {staged} cannot be taken back: the firmware has no MIRC")]
    CannotTakeBack {
        /// What is staged.
        staged: FwVersion,
    },
    /// The flash was written past the firmware that runs, which does not know of it.
    #[error(
        "a direct burn waits for the restart of the card; the firmware that runs would write over \
         the image that boots next"
    )]
    Unbooted,
    /// The flash boots what the firmware that runs does not know of.
    #[error(
        "the flash boots {} at {:#x}, of which the firmware that runs ({}) does not know: another \
         tool wrote past it, and it would write over the image that boots",
        named(boots.version), boots.start, named(*running)
    )]
    WrittenPast {
        /// What boots.
        boots: Standing,
        /// What runs.
        running: Option<FwVersion>,
    },
    /// Secure host forbids updates.
    #[error("Component is blocked to update: secure host: {state}")]
    SecureHost {
        /// MLOCK state.
        state: LockState,
    },
}

fn named(version: Option<FwVersion>) -> String {
    version.map_or_else(
        || "no known version".to_owned(),
        |version| version.to_string(),
    )
}

fn list(ids: &[HwId]) -> String {
    if ids.is_empty() {
        return "empty".to_owned();
    }
    ids.iter()
        .map(|hw| format!("{:#05x} revision {:#04x}", hw.id, hw.revision))
        .collect::<Vec<_>>()
        .join(", ")
}

impl Refusal {
    /// Stable word for programs.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "image_invalid",
            Self::Incomplete(_) => "image_incomplete",
            Self::Format { .. } => "format_mismatch",
            Self::Chip { .. } => "chip_mismatch",
            Self::Psid { .. } => "psid_mismatch",
            Self::NoPsid => "no_psid",
            Self::NoDigest => "no_digest",
            Self::Unsigned { .. } => "unsigned",
            Self::Encryption { .. } => "encryption_mismatch",
            Self::TooLarge { .. } => "too_large",
            Self::Transfer { .. } => "transfer_size",
            Self::CannotTakeBack { .. } => "cannot_take_back",
            Self::Unbooted | Self::WrittenPast { .. } => "restart_pending",
            Self::SecureHost { .. } => "secure_host",
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Invalid(_) | Self::Incomplete(_) => {
                "fetch the image again and check it with `cxfw verify`"
            }
            Self::Format { .. } | Self::Chip { .. } | Self::Psid { .. } | Self::TooLarge { .. } => {
                "take the image made for this board: same PSID, listed by `cxfw list`"
            }
            Self::NoPsid => "query the card again; if it still says no PSID, restart the machine",
            Self::NoDigest => "take a newer image; this one needs a direct burn",
            Self::Unsigned { .. } => "take the signed image of the card's vendor",
            Self::Encryption { .. } => "take the other variant of the image",
            Self::Transfer { .. } => "report the firmware version to the card's vendor",
            Self::CannotTakeBack { .. } => "activate what is staged first, then update again",
            Self::Unbooted | Self::WrittenPast { .. } => {
                "restart the machine, so that what the flash boots runs, then run the update again"
            }
            Self::SecureHost { .. } => {
                "open secure host with its key first, then run the update again"
            }
        }
    }
}

/// Verifies `image` as a whole and against the card, and plans the burn.
///
/// # Errors
/// [`Refusal`]: the first thing that does not fit.
pub fn preflight(image: &[u8], target: &Target) -> Result<Cleared, Refusal> {
    let verification = image::verify(image);
    if let Some(failure) = verification.failure {
        return Err(Refusal::Invalid(failure));
    }
    let info = verification
        .info
        .ok_or(Refusal::Incomplete("image information"))?;
    chip(&info, target)?;
    let psid = board(&info, target)?;
    security(&info, target)?;
    let component = image::component(image).map_err(Refusal::Invalid)?;
    let plan = plan(&info, psid, &component, target)?;
    Ok(Cleared { plan, component })
}

fn chip(info: &ImageInfo, target: &Target) -> Result<(), Refusal> {
    if info.format != target.model.format {
        return Err(Refusal::Format {
            image: info.format,
            chip: target.model.long_name,
            format: target.model.format,
        });
    }
    if !info.supports(target.hw_id) {
        return Err(Refusal::Chip {
            card: target.hw_id,
            image: info.hw_ids.clone(),
        });
    }
    Ok(())
}

/// Under firmware control the PSID never changes: the whole strings must be equal (burn 9.2, 9.5).
fn board(info: &ImageInfo, target: &Target) -> Result<Psid, Refusal> {
    let image = info.psid.clone().ok_or(Refusal::Incomplete("PSID"))?;
    let card = target.psid.clone().ok_or(Refusal::NoPsid)?;
    if image == card {
        Ok(image)
    } else {
        Err(Refusal::Psid { card, image })
    }
}

fn security(info: &ImageInfo, target: &Target) -> Result<(), Refusal> {
    use SecurityAttribute::{SecureFw, SignedFw};
    if matches!(
        target.secure_host,
        LockState::Locked | LockState::FirmwareUpdateLocked
    ) {
        return Err(Refusal::SecureHost {
            state: target.secure_host,
        });
    }
    if !info.security.firmware_controlled {
        return Err(Refusal::NoDigest);
    }
    let has = |attribute| info.security.attributes.contains(&attribute);
    for (wanted, fits) in [
        (SecureFw, has(SecureFw)),
        (SignedFw, has(SecureFw) || has(SignedFw)),
    ] {
        if target.security.contains(&wanted) && !fits {
            return Err(Refusal::Unsigned {
                card: wanted,
                image: attributes(info),
            });
        }
    }
    // The update path of FS5 takes both kinds (burn 9.1).
    if info.format != ImageFormat::Fs5
        && target
            .encrypted
            .is_some_and(|card| card != info.security.encrypted)
    {
        return Err(Refusal::Encryption {
            image: info.security.encrypted,
        });
    }
    Ok(())
}

fn attributes(info: &ImageInfo) -> String {
    if info.security.attributes.is_empty() {
        return "not signed".to_owned();
    }
    let words: Vec<String> = info
        .security
        .attributes
        .iter()
        .map(ToString::to_string)
        .collect();
    words.join(", ")
}

fn plan(info: &ImageInfo, psid: Psid, component: &[u8], target: &Target) -> Result<Plan, Refusal> {
    let to = info.version.ok_or(Refusal::Incomplete("version"))?;
    let max = target.capabilities.max_component_size;
    let size = u32::try_from(component.len())
        .ok()
        .filter(|&size| size > 0 && size <= max)
        .ok_or(Refusal::TooLarge {
            size: component.len() as u64,
            max,
        })?;
    let (max_write, log_word) = (
        target.capabilities.mcda_max_write_size,
        target.capabilities.log_mcda_word_size,
    );
    let (block, word) = steps::block_size(max_write, log_word).ok_or(Refusal::Transfer {
        max_write,
        log_word,
    })?;
    Ok(Plan {
        psid,
        running: target.running,
        stored: target.stored,
        to,
        component_index: target.boot_image.index,
        size,
        block,
        word,
        reactivate: false,
    })
}
