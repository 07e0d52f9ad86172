//! Why an image is not burned directly. Nothing was written.

use crate::access::flash::Protection;
use crate::flash::component;
use crate::image::ImageError;
use crate::version::FwVersion;

/// Why an image is not burned directly to a card.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Image and card do not go together, whatever the way of burning.
    #[error(transparent)]
    Unfit(#[from] component::Refusal),
    /// Firmware or image of a kind that is not burned directly.
    #[error("{what}, which is not burned directly")]
    NotDirect {
        /// What it is.
        what: &'static str,
    },
    /// Secure firmware keeps the flash to itself.
    #[error("the card runs secure firmware, which lets no tool at its flash")]
    SecureFirmware,
    /// What runs is not what is stored: the slot that looks free is in use.
    #[error(
        "the card runs {running}, but {} is stored and waits to be activated; the slot to write is \
         the one that runs",
        if running == stored { "another copy of it".to_owned() } else { stored.to_string() }
    )]
    PendingActivation {
        /// What runs.
        running: FwVersion,
        /// What is stored.
        stored: FwVersion,
    },
    /// The image in a backup is not what it was.
    #[error("the image in the backup is not valid: {0}")]
    DamagedBackup(#[source] ImageError),
    /// There is only one slot, so nothing would be bootable in the meantime.
    #[error(
        "{what} is not failsafe: it has no second slot, so a broken burn would leave nothing to boot"
    )]
    NotFailsafe {
        /// `the image on the card` or `the image`.
        what: &'static str,
    },
    /// Slots of different sizes.
    #[error("the card's image slots have 2^{card} bytes, the image's 2^{image}")]
    SlotSize {
        /// log2 of the card's.
        card: u8,
        /// log2 of the image's.
        image: u8,
    },
    /// The 4 MiB image can not run from the second 8 MiB slot (images-fs3 9).
    #[error("the image runs only from the first 4 MiB slot of a card laid out for 8 MiB slots")]
    RunsNotFromAnySlot,
    /// FS2 configuration areas of different layouts (images-fs2 9).
    #[error(
        "the configuration area of the card has a pad of {card} sectors, that of the image {image}"
    )]
    ConfigPad {
        /// The card's.
        card: u32,
        /// The image's.
        image: u32,
    },
    /// No room.
    #[error("the image has {size:#x} bytes, but the slot has room for {room:#x}")]
    TooLarge {
        /// Bytes.
        size: u64,
        /// Bytes there are.
        room: u64,
    },
    /// Something that must be kept is in the way.
    #[error("the image would lie over {what} at {address:#x}")]
    InTheWay {
        /// What.
        what: String,
        /// Flash address.
        address: u64,
    },
    /// The image contains the pattern images start with where the chip looks for one.
    #[error("the image contains a start pattern of its own, which would be found at {address:#x}")]
    PatternInside {
        /// Flash address.
        address: u64,
    },
    /// The device data area has an older layout (images-fs4 11).
    #[error(
        "the card keeps its device data in layout {card}, the image expects layout {image}; \
         moving it is not failsafe"
    )]
    DeviceLayout {
        /// Of the card.
        card: u32,
        /// Of the image.
        image: u32,
    },
    /// Device data of card and image described differently (images-fs3 8).
    #[error("an inconsistency was found in {section} section attributes of card and image")]
    Attributes {
        /// The section.
        section: String,
    },
    /// The image's table has no room for the card's device data.
    #[error("the image's table of contents has no room for the card's {what}")]
    NoTableRoom {
        /// The section.
        what: String,
    },
    /// No readable addresses on the card, and none given, or device data without which it does not
    /// start.
    #[error(
        "the flash no longer says whole which card this is: its GUIDs and MACs (DEV_INFO, MFG_INFO) \
         are lost or damaged, and it does not start without them"
    )]
    NoIdentity,
    /// The MAC given is none a port can have.
    #[error("{mac:012x} is no unicast MAC")]
    Multicast {
        /// The MAC.
        mac: u64,
    },
    /// A backup of another card.
    #[error("the backup is of {backup}, this is {card}")]
    OtherCard {
        /// This card.
        card: String,
        /// The card the backup was made of.
        backup: String,
    },
    /// A file that is no backup of a flash like the card's.
    #[error("the file is no backup of this card's flash: {reason}")]
    NoBackup {
        /// Why not.
        reason: String,
    },
    /// A copy of a flash that cannot go back, for there is no firmware in it.
    #[error(
        "there is no good image for this chip in the file: there was none on the flash it was copied \
         from, or it has changed since"
    )]
    NothingSaved,
    /// Something of the card would be lost.
    #[error("after the burn the card would have lost its {what}")]
    DeviceDataLost {
        /// What.
        what: String,
    },
    /// The image as it would lie on the flash does not check out.
    #[error("on this card the image would not check out: {0}")]
    WouldNotBoot(#[source] ImageError),
    /// Write protection.
    #[error("the flash is write protected: {0}")]
    Protected(Protection),
    /// The part cannot erase so little.
    #[error(
        "the flash part erases 64 KiB at once, and {what} lies in the same 64 KiB at {address:#x}"
    )]
    EraseUnit {
        /// What would be erased too.
        what: String,
        /// Flash address.
        address: u64,
    },
}

impl Refusal {
    /// Stable word for programs.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Unfit(refusal) => refusal.reason(),
            Self::NotDirect { .. } => "not_direct",
            Self::SecureFirmware => "secure_firmware",
            Self::PendingActivation { .. } => "pending_activation",
            Self::NotFailsafe { .. } => "not_failsafe",
            Self::SlotSize { .. } | Self::RunsNotFromAnySlot => "slot_size",
            Self::ConfigPad { .. } => "config_pad",
            Self::TooLarge { .. } => "too_large",
            Self::InTheWay { .. } | Self::EraseUnit { .. } => "no_room",
            Self::PatternInside { .. } => "pattern_inside",
            Self::DeviceLayout { .. } => "device_layout",
            Self::Attributes { .. } | Self::NoTableRoom { .. } => "device_table",
            Self::NoIdentity => "no_identity",
            Self::Multicast { .. } => "bad_mac",
            Self::OtherCard { .. } => "other_card",
            Self::NoBackup { .. } | Self::NothingSaved => "no_backup",
            Self::DamagedBackup(_) => "backup_damaged",
            Self::DeviceDataLost { .. } => "device_data_lost",
            Self::WouldNotBoot(_) => "would_not_boot",
            Self::Protected(_) => "write_protected",
        }
    }

    /// It is the card's flash that does not do what it should, and no rule that forbids the burn.
    #[must_use]
    pub const fn is_of_hardware(&self) -> bool {
        matches!(self, Self::Protected(_))
    }

    /// It follows from device data as it was read: a flash that reads badly may have feigned it.
    #[must_use]
    pub const fn rests_on_contents(&self) -> bool {
        matches!(
            self,
            Self::NoIdentity
                | Self::RunsNotFromAnySlot
                | Self::DeviceLayout { .. }
                | Self::Attributes { .. }
                | Self::NoTableRoom { .. }
                | Self::DeviceDataLost { .. }
                | Self::WouldNotBoot(_)
        )
    }

    /// What to do about it.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Unfit(refusal) => refusal.advice(),
            Self::NotDirect { .. } | Self::SecureFirmware => {
                "update through the firmware (--method component)"
            }
            Self::PendingActivation { .. } => {
                "restart the machine to activate what is stored, then run the update again"
            }
            Self::NotFailsafe { .. }
            | Self::SlotSize { .. }
            | Self::RunsNotFromAnySlot
            | Self::ConfigPad { .. }
            | Self::TooLarge { .. }
            | Self::InTheWay { .. }
            | Self::EraseUnit { .. }
            | Self::DeviceLayout { .. } => {
                "update through the firmware where it can (--method component), or in steps by \
                 way of an older image of this board"
            }
            Self::PatternInside { .. } | Self::Attributes { .. } | Self::NoTableRoom { .. } => {
                "fetch the image again from its vendor and check it with `cxfw verify`"
            }
            Self::NoIdentity => {
                "give them with --guid and --mac (they are printed on the board's label), or put back a \
                 backup of this card with `cxfw restore -d DEV BACKUP`"
            }
            Self::OtherCard { .. } => {
                "take the backup of this card; with --other-card the firmware of that one is put on \
                 this card, which keeps its own GUIDs and MACs, or takes those of the backup where \
                 it has none"
            }
            Self::NoBackup { .. } => {
                "take a file that `cxfw backup` wrote of this card; an image is burned with \
                 `cxfw update -d DEV --image FILE`"
            }
            Self::NothingSaved | Self::DamagedBackup(_) => {
                "take an older backup of this card, or burn an image of this board with \
                 `cxfw update -d DEV --image FILE`"
            }
            Self::Multicast { .. } => "take the MAC from the board's label",
            Self::DeviceDataLost { .. } | Self::WouldNotBoot(_) => {
                "take a backup with `cxfw backup` and report this; nothing was written"
            }
            Self::Protected(_) => {
                "remove the write protection with the tool that set it, then run the update again"
            }
        }
    }
}
