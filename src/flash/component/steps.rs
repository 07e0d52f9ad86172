//! The plan of a firmware-controlled burn: what will be sent, in what order, before anything is.

use crate::identity::Psid;
use crate::version::FwVersion;

/// Most data one MCDA carries, bytes (device-access 4.5).
pub const MCDA_DATA: u32 = 128;

/// One step, in the order they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The card is asked what it is, runs and takes.
    ReadCard,
    /// The image is verified as a whole and against the card.
    CheckImage,
    /// The flash-programming semaphore is taken.
    TakeSemaphore,
    /// The flash is looked at: does it boot what the firmware knows of.
    LookAtFlash,
    /// An update handle is asked for; nobody else may have one.
    OpenHandle,
    /// The handle is locked.
    Lock,
    /// A staged update is taken back.
    Reactivate,
    /// The firmware prepares (erases) the slot that does not run.
    Initialize,
    /// The image travels.
    Write,
    /// The firmware checks what it got.
    Verify,
    /// The new image becomes the one that boots next.
    Activate,
    /// The handle is given back.
    Release,
    /// What is stored is read back and compared.
    ReadBack,
}

impl Step {
    /// One word, as programs get it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ReadCard => "read_card",
            Self::CheckImage => "check_image",
            Self::TakeSemaphore => "take_semaphore",
            Self::LookAtFlash => "look_at_flash",
            Self::OpenHandle => "open_handle",
            Self::Lock => "lock",
            Self::Reactivate => "reactivate",
            Self::Initialize => "initialize",
            Self::Write => "write",
            Self::Verify => "verify",
            Self::Activate => "activate",
            Self::Release => "release",
            Self::ReadBack => "read_back",
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::ReadCard => "reading the card",
            Self::CheckImage => "checking the image",
            Self::TakeSemaphore => "taking the flash semaphore",
            Self::LookAtFlash => "looking at the flash",
            Self::OpenHandle => "asking for an update handle",
            Self::Lock => "locking the update handle",
            Self::Reactivate => "taking the staged update back",
            Self::Initialize => "preparing the slot",
            Self::Write => "writing the image",
            Self::Verify => "verifying the image",
            Self::Activate => "activating the image",
            Self::Release => "releasing the update handle",
            Self::ReadBack => "reading back what is stored",
        })
    }
}

/// What a burn will do, decided before the first byte is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Board.
    pub psid: Psid,
    /// What runs now.
    pub running: Option<FwVersion>,
    /// What is stored, and stays bootable until the new image is activated.
    pub stored: Option<FwVersion>,
    /// The image's version.
    pub to: FwVersion,
    /// Position of the boot image in the card's component table.
    pub component_index: u16,
    /// Bytes of the component.
    pub size: u32,
    /// Bytes a transfer carries.
    pub block: u32,
    /// Unit of transfer sizes; the last block is padded to it.
    pub word: u32,
    /// A staged update is taken back first.
    pub reactivate: bool,
}

impl Plan {
    /// The steps that touch the card, in order.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let all = [
            Step::TakeSemaphore,
            Step::OpenHandle,
            Step::Lock,
            Step::Reactivate,
            Step::Initialize,
            Step::Write,
            Step::Verify,
            Step::Activate,
            Step::Release,
            Step::ReadBack,
        ];
        all.into_iter()
            .filter(|&step| step != Step::Reactivate || self.reactivate)
            .collect()
    }

    /// Transfers needed.
    #[must_use]
    pub const fn blocks(&self) -> u32 {
        self.size.div_ceil(self.block)
    }
}

impl std::fmt::Display for Plan {
    /// A line a step, for a dry run.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let or_unknown = |version: Option<FwVersion>| {
            version.map_or_else(|| "unknown".to_owned(), |version| version.to_string())
        };
        for step in self.steps() {
            match step {
                Step::Initialize => writeln!(
                    f,
                    "{step}: the firmware erases room for {} bytes (component {}); {} stays bootable",
                    self.size,
                    self.component_index,
                    or_unknown(self.stored),
                )?,
                Step::Write => writeln!(
                    f,
                    "{step}: {} blocks of {} bytes, without the start pattern",
                    self.blocks(),
                    self.block,
                )?,
                Step::Activate => writeln!(f, "{step}: {} boots next", self.to)?,
                Step::ReadBack => writeln!(f, "{step}: {} expected", self.to)?,
                _ => writeln!(f, "{step}")?,
            }
        }
        Ok(())
    }
}

/// Bytes one transfer carries: the least of what the firmware takes (0 = not said) and what the
/// register holds, in whole words of `2^log_word` bytes and of at least a dword (burn 7.3).
/// Returns (block, word); `None` when the firmware asks for words no transfer can hold.
#[must_use]
pub fn block_size(max_write: u16, log_word: u8) -> Option<(u32, u32)> {
    let word = 1u32.checked_shl(u32::from(log_word))?.max(4);
    let most = match u32::from(max_write) {
        0 => MCDA_DATA,
        max => max.min(MCDA_DATA),
    };
    let block = most - most % word;
    (block > 0).then_some((block, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_respect_the_card_and_the_register() {
        assert_eq!(block_size(128, 2), Some((128, 4)));
        assert_eq!(block_size(0, 0), Some((128, 4)));
        assert_eq!(block_size(100, 3), Some((96, 8)));
        assert_eq!(block_size(4096, 2), Some((128, 4)));
        assert_eq!(block_size(128, 8), None);
        assert_eq!(block_size(2, 2), None);
        assert_eq!(block_size(128, 40), None);
    }

    #[test]
    fn a_dry_run_says_what_would_be_sent_and_what_stays_bootable() {
        let plan = Plan {
            psid: Psid::new("MT_2420110034").unwrap(),
            running: Some(FwVersion::new(14, 25, 1020)),
            stored: Some(FwVersion::new(14, 25, 1020)),
            to: FwVersion::new(14, 32, 1010),
            component_index: 1,
            size: 1000,
            block: 128,
            word: 4,
            reactivate: false,
        };
        assert_eq!(plan.blocks(), 8);
        insta::assert_snapshot!(plan.to_string(), @"
        taking the flash semaphore
        asking for an update handle
        locking the update handle
        preparing the slot: the firmware erases room for 1000 bytes (component 1); 14.25.1020 stays bootable
        writing the image: 8 blocks of 128 bytes, without the start pattern
        verifying the image
        activating the image: 14.32.1010 boots next
        releasing the update handle
        reading back what is stored: 14.32.1010 expected
        ");
    }
}
