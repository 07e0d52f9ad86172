//! The plan of a direct burn: every change of the flash, in order, before the first is made.
//!
//! The order is what keeps a card alive (burn 8.10, 11.2):
//!
//! 1. Start patterns of images that are not kept are zeroed, so that nothing half erased or half
//!    written is ever taken for an image.
//! 2. The free slot is erased, and everything of the new image but its start pattern programmed.
//!    The kept image is the only one there is.
//! 3. What was written is read back as a whole.
//! 4. The 16 bytes of the start pattern are programmed, alone, into blank flash. As long as one bit of
//!    them is missing there is no pattern. From here on two good images are on the flash: whichever
//!    a boot ROM prefers, it boots.
//! 5. The boot address is set, and the kept image's pattern loses its first dword (no erase).
//!
//! A boot ROM may take the lowest image that checks out, or the first start pattern it finds: after
//! each of these changes, whole or torn, both find a good image.

use crate::access::EraseUnit;
use crate::identity::Psid;
use crate::version::FwVersion;

use super::way::Route;

/// One step, in the order they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The card is asked what it is and runs.
    ReadCard,
    /// The flash is taken, and its write protection looked at.
    OpenFlash,
    /// The flash is read, the image verified as a whole and against it.
    CheckImage,
    /// Start patterns that belong to no image to keep are zeroed.
    ClearPatterns,
    /// The free slot is erased, and the device data area of a card that has lost it.
    Erase,
    /// The device data of a card that has lost it is written.
    WriteDeviceData,
    /// The image is written, without its start pattern.
    Write,
    /// All of it is read back.
    Compare,
    /// The start pattern is written.
    Mark,
    /// The chip is told which image to boot.
    ChooseBoot,
    /// The start pattern of the old image is zeroed.
    Retire,
    /// What is stored is read once more.
    ReadBack,
}

impl Step {
    /// One word, as programs get it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ReadCard => "read_card",
            Self::OpenFlash => "open_flash",
            Self::CheckImage => "check_image",
            Self::ClearPatterns => "clear_patterns",
            Self::Erase => "erase",
            Self::WriteDeviceData => "write_device_data",
            Self::Write => "write",
            Self::Compare => "compare",
            Self::Mark => "mark",
            Self::ChooseBoot => "choose_boot",
            Self::Retire => "retire",
            Self::ReadBack => "read_back",
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::ReadCard => "reading the card",
            Self::OpenFlash => "taking the flash",
            Self::CheckImage => "checking the image",
            Self::ClearPatterns => "clearing stale start patterns",
            Self::Erase => "erasing the free slot",
            Self::WriteDeviceData => "writing the device data",
            Self::Write => "writing the image",
            Self::Compare => "reading the image back",
            Self::Mark => "writing the start pattern",
            Self::ChooseBoot => "setting the boot address",
            Self::Retire => "retiring the old image",
            Self::ReadBack => "reading back what is stored",
        })
    }
}

/// One change of the flash, or a look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// `len` bytes are programmed to zero; no erase.
    Zero {
        /// Flash address.
        address: u64,
        /// Bytes.
        len: usize,
    },
    /// A unit is erased.
    Erase {
        /// Flash address.
        address: u64,
        /// The unit.
        unit: EraseUnit,
    },
    /// Bytes are programmed, page by page; pages of ones are left out.
    Program {
        /// Flash address.
        address: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Everything programmed so far is read and compared.
    Compare,
    /// The boot address is set to `start`.
    BootFrom {
        /// Flash address of the image.
        start: u64,
    },
}

/// What a burn will do, decided before the first change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Board of the image.
    pub psid: Psid,
    /// What is stored now, and stays bootable until the new image is; `None`: the card boots
    /// nothing.
    pub from: Option<FwVersion>,
    /// Where.
    pub kept: Option<u64>,
    /// The image's version.
    pub to: FwVersion,
    /// Where it goes.
    pub start: u64,
    /// Bytes of it.
    pub size: u64,
    /// How the flash is reached, and why so.
    pub route: Route,
    /// What the user should know.
    pub notes: Vec<String>,
    /// The changes, in order, each with the step it belongs to.
    pub actions: Vec<(Step, Action)>,
}

impl Plan {
    /// Bytes to erase, and bytes of image and device data to program.
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        let (mut erased, mut programmed) = (0, 0);
        for (step, action) in &self.actions {
            match action {
                Action::Erase { unit, .. } => erased += unit.size(),
                Action::Program { bytes, .. } if *step < Step::Compare => {
                    programmed += bytes.len() as u64;
                }
                _ => {}
            }
        }
        (erased, programmed)
    }
}

impl std::fmt::Display for Plan {
    /// A line a step or run of bytes, for a dry run.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "taking the flash: {}", self.route)?;
        match (self.kept, self.from) {
            (Some(start), Some(version)) => {
                writeln!(f, "keeping {version} at {start:#x} bootable")?;
            }
            (Some(start), None) => writeln!(f, "keeping the image at {start:#x} bootable")?,
            (None, _) => writeln!(f, "the card boots nothing now")?,
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        let mut actions = self.actions.iter().peekable();
        while let Some((step, action)) = actions.next() {
            write!(f, "{step}: ")?;
            match action {
                Action::Zero { address, len } => writeln!(f, "{len} zero bytes at {address:#x}")?,
                Action::Erase { address, unit } => {
                    let (mut end, mut units) = (address + unit.size(), [0, 0]);
                    units[usize::from(*unit == EraseUnit::Sector)] += 1;
                    while let Some((_, Action::Erase { address, unit })) =
                        actions.next_if(|(next, action)| {
                            next == step && matches!(action, Action::Erase { address, .. } if *address == end)
                        })
                    {
                        end = address + unit.size();
                        units[usize::from(*unit == EraseUnit::Sector)] += 1;
                    }
                    writeln!(
                        f,
                        "{address:#x} to {:#x} ({} units of 64 KiB, {} of 4 KiB)",
                        end - 1,
                        units[1],
                        units[0]
                    )?;
                }
                Action::Program { address, bytes } => {
                    writeln!(f, "{} bytes at {address:#x}", bytes.len())?;
                }
                Action::Compare => writeln!(f, "{} bytes", self.totals().1)?,
                Action::BootFrom { start } => writeln!(f, "{start:#x}")?,
            }
        }
        writeln!(f, "{}: {} expected", Step::ReadBack, self.to)
    }
}
