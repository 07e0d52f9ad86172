//! Boot: which of the images in the flash runs.
//!
//! The boot ROM tries the start positions in order and takes the image its rule
//! ([`BootRule`]) leads to, if it checks out as a whole; else the chip is in flash recovery. What
//! runs is written down in `boot.json`, so that the firmware goes on answering as
//! itself while the flash changes under it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::image::marker::{self, START_POSITIONS};
use crate::image::{self, HwId, ImageInfo, Layout, SecurityAttribute, Uid, Uids};
use crate::model::ImageFormat;

use super::cells::Cell;
use super::spec::BootRule;
use super::view::OneImage;
use super::{Chip, ChipError, Cycle, Power};

/// What came of a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boot {
    /// Firmware runs.
    Running(Box<Running>),
    /// No usable image: flash recovery.
    Recovery,
}

/// An expansion ROM of the running image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningRom {
    /// Name as mlxup prints it.
    pub kind: String,
    /// Version numbers.
    pub version: Vec<u32>,
    /// CPU architecture code.
    pub cpu: u8,
}

/// A base address and how many follow from it; 0 = not set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseAddress {
    /// GUID or MAC.
    pub value: u64,
    /// How many.
    pub count: u16,
}

impl From<Uid> for BaseAddress {
    fn from(uid: Uid) -> Self {
        Self {
            value: uid.value,
            count: uid.count,
        }
    }
}

/// The firmware that runs: what its image said of itself when it booted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Flash address of the image.
    pub start: u32,
    /// log2 of the slot size.
    pub slot_log2: u8,
    /// Bytes of the image.
    pub size: u32,
    /// Most bytes an image in the other slot may have.
    pub room: u32,
    /// Version.
    pub version: [u16; 3],
    /// Build date: year, month, day.
    pub date: Option<[u16; 3]>,
    /// Build time: hour, minute, second.
    pub time: Option<[u8; 3]>,
    /// Board.
    pub psid: String,
    /// Product version.
    pub product_version: String,
    /// Part number.
    pub part_number: String,
    /// Description.
    pub description: String,
    /// Image VSD.
    pub vsd: String,
    /// Device VSD.
    pub device_vsd: String,
    /// Expansion ROMs.
    pub roms: Vec<RunningRom>,
    /// Secure firmware.
    pub secure: bool,
    /// Signed firmware.
    pub signed: bool,
    /// Debug firmware.
    pub debug: bool,
    /// Development firmware.
    pub dev: bool,
    /// Base GUID.
    pub guid: BaseAddress,
    /// Base MAC.
    pub mac: BaseAddress,
    /// Base GUID of the factory.
    pub original_guid: BaseAddress,
    /// Base MAC of the factory.
    pub original_mac: BaseAddress,
}

/// An image that was found good.
pub(super) struct GoodImage {
    pub info: ImageInfo,
    pub layout: Layout,
}

/// What a process knows of the chip's firmware, valid for one generation.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    generation: u32,
    running: Option<Arc<Running>>,
    /// The image that boots next, as of this many flash changes.
    next: Option<(u32, Arc<Running>)>,
}

const BOOT_FILE: &str = "boot.json";

impl Chip {
    /// Resets the chip: the flash decides what runs from now on, all volatile state is lost.
    ///
    /// # Errors
    /// [`ChipError::Held`], [`ChipError::BootFile`].
    pub fn boot(&self) -> Result<Boot, ChipError> {
        let cycle = self.cycle()?;
        cycle.cells.set(Cell::Power, Power::Off as u32);
        cycle.cells.clear_volatile();
        cycle.end_accidents();
        let boot = cycle.image_to_boot().map_or(Boot::Recovery, |good| {
            Boot::Running(Box::new(cycle.running_facts(&good)))
        });
        self.write_boot_file(&boot)?;
        cycle.cells.count(Cell::Generation);
        let power = match &boot {
            Boot::Running(running) => {
                cycle.cells.set(Cell::BootAddress, running.start);
                let cached = u32::from(self.cr.has_cache_replacement());
                cycle.cells.set(Cell::CacheReplacement, cached);
                Power::Running
            }
            Boot::Recovery => Power::Recovery,
        };
        cycle.cells.set(Cell::BootTime, super::seconds());
        let changes = cycle.cells.get(Cell::FlashChanges);
        cycle.cells.set(Cell::BootFlashChanges, changes);
        cycle.enable_functions();
        cycle.cells.set(Cell::Power, power as u32);
        Ok(boot)
    }

    /// What runs; `None` before the first boot.
    ///
    /// # Errors
    /// [`ChipError::Held`], [`ChipError::BootFile`].
    pub fn status(&self) -> Result<Option<Boot>, ChipError> {
        let cycle = self.cycle()?;
        match cycle.power() {
            Power::Off => Ok(None),
            Power::Running | Power::Recovery => self.read_boot_file().map(Some),
        }
    }

    fn write_boot_file(&self, boot: &Boot) -> Result<(), ChipError> {
        let path = self.dir.join(BOOT_FILE);
        let fresh = self.dir.join("boot.json.new");
        let write = || {
            std::fs::write(&fresh, serde_json::to_vec_pretty(boot)?)?;
            std::fs::rename(&fresh, &path)
        };
        write().map_err(|source| ChipError::BootFile {
            action: "write",
            path: path.clone(),
            source,
        })
    }

    fn read_boot_file(&self) -> Result<Boot, ChipError> {
        let path = self.dir.join(BOOT_FILE);
        let read = || Ok(serde_json::from_slice(&std::fs::read(&path)?)?);
        read().map_err(|source: std::io::Error| ChipError::BootFile {
            action: "read",
            path: path.clone(),
            source,
        })
    }
}

impl Cycle<'_> {
    /// The firmware that runs, if one does.
    pub(super) fn running(&self) -> Option<Arc<Running>> {
        if self.power() != Power::Running {
            return None;
        }
        let mut remembered = self.remembered();
        if remembered.running.is_none()
            && let Ok(Boot::Running(running)) = self.read_boot_file()
        {
            remembered.running = Some(Arc::from(running));
        }
        remembered.running.clone()
    }

    /// What the image says that a reset would boot; the running one when the flash holds no
    /// other.
    pub(super) fn next_to_run(&self, running: &Arc<Running>) -> Arc<Running> {
        let changes = self.cells.get(Cell::FlashChanges);
        if changes == self.cells.get(Cell::BootFlashChanges) {
            return Arc::clone(running);
        }
        if let Some((seen, next)) = &self.remembered().next
            && *seen == changes
        {
            return Arc::clone(next);
        }
        let next = self.image_to_boot().map_or_else(
            || Arc::clone(running),
            |good| Arc::new(self.running_facts(&good)),
        );
        self.remembered().next = Some((changes, Arc::clone(&next)));
        next
    }

    /// What this process remembers, emptied when the chip booted since.
    fn remembered(&self) -> std::sync::MutexGuard<'_, Remembered> {
        // what a panicking thread left is at worst old, which the generation tells
        let mut remembered = match self.chip.remembered.lock() {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        };
        let generation = self.cells.get(Cell::Generation);
        if remembered.generation != generation {
            *remembered = Remembered {
                generation,
                ..Remembered::default()
            };
        }
        remembered
    }

    /// The image the boot rule leads to; it checks out and is for this chip.
    fn image_to_boot(&self) -> Option<GoodImage> {
        match self.spec.boot_rule {
            BootRule::LowestGood => START_POSITIONS
                .into_iter()
                .find_map(|start| self.good_image(start)),
            BootRule::FirstPattern => {
                let pattern = marker::of(self.model.format);
                let length = u32::try_from(pattern.len()).unwrap_or(0);
                let first = START_POSITIONS.into_iter().find(|&start| {
                    u32::try_from(start).is_ok_and(|at| self.flash.read(at, length) == pattern)
                })?;
                self.good_image(first)
            }
        }
    }

    /// The image at a start position, if there is one that checks out and is for this chip.
    fn good_image(&self, start: u64) -> Option<GoodImage> {
        let source = OneImage::new(&self.chip.flash, start);
        let good = examine(&source, self.model.format, start)?;
        good.info.supports(self.hardware()).then_some(good)
    }

    /// This chip, as images name it.
    pub(super) fn hardware(&self) -> HwId {
        HwId {
            id: self.spec.hw_id,
            revision: self.spec.revision,
        }
    }

    /// What firmware booted from this image says of itself.
    fn running_facts(&self, good: &GoodImage) -> Running {
        let GoodImage { info, layout } = good;
        let start = clamp(info.start);
        let slot_log2 = layout.slot_log2.unwrap_or(0);
        let (guid, mac) = base_addresses(info.uids.as_ref());
        let (original_guid, original_mac) = base_addresses(info.original_uids.as_ref());
        let has = |attribute| info.security.attributes.contains(&attribute);
        Running {
            start,
            slot_log2,
            size: clamp(layout.size),
            room: room(layout, self.flash.size().into()),
            version: info
                .version
                .map_or([0; 3], |v| [v.major, v.minor, v.subminor]),
            date: info.date.map(|d| [d.year, d.month.into(), d.day.into()]),
            time: info
                .time
                .map(|(hour, minute, second)| [hour, minute, second]),
            psid: info
                .psid
                .as_ref()
                .map_or("", |psid| psid.as_str())
                .to_owned(),
            product_version: info.product_version.clone(),
            part_number: info.part_number.clone(),
            description: info.description.clone(),
            vsd: info.vsd.clone(),
            device_vsd: info.device_vsd.clone().unwrap_or_default(),
            roms: info.roms.iter().map(running_rom).collect(),
            secure: has(SecurityAttribute::SecureFw),
            signed: has(SecurityAttribute::SignedFw),
            debug: has(SecurityAttribute::Debug),
            dev: has(SecurityAttribute::Dev),
            guid,
            mac,
            original_guid,
            original_mac,
        }
    }
}

fn running_rom(rom: &image::RomInfo) -> RunningRom {
    RunningRom {
        kind: rom.kind.clone(),
        version: rom.version.clone(),
        cpu: rom.cpu.unwrap_or(0),
    }
}

fn base_addresses(uids: Option<&Uids>) -> (BaseAddress, BaseAddress) {
    match uids {
        Some(Uids::Base { guid, mac }) => ((*guid).into(), (*mac).into()),
        Some(Uids::TwoPorts { guids, macs }) => (guids[0].into(), macs[0].into()),
        Some(Uids::Fs2 { entries }) => {
            let entry = |index: usize| BaseAddress {
                value: entries.get(index).copied().unwrap_or(0),
                count: 1,
            };
            (entry(0), entry(4))
        }
        None => Default::default(),
    }
}

/// Addresses and sizes inside a flash of at most 256 MiB.
fn clamp(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Most bytes an image in the other slot may have: up to the end of that slot, the flash or the
/// lowest device data in it, in whole erase blocks (images-fs3 9).
fn room(layout: &Layout, flash_size: u64) -> u32 {
    let slot = 1u64 << layout.slot_log2.unwrap_or(0).min(32);
    let target = if layout.start == 0 { slot } else { 0 };
    let end = layout
        .sections
        .iter()
        .filter(|section| section.device_data && section.physical >= target)
        .map(|section| section.physical)
        .chain(layout.dtoc)
        .chain([target + slot, flash_size])
        .min()
        .unwrap_or(target);
    clamp(end.saturating_sub(target) & !u64::from(super::flash::SECTOR - 1))
}

/// The image at `start`, if its marker stands and everything in it checks out.
pub(super) fn examine(source: &OneImage<'_>, format: ImageFormat, start: u64) -> Option<GoodImage> {
    let verification = image::verify_flash(source, start);
    if verification.failure.is_some() {
        return None;
    }
    let info = verification.info.filter(|info| info.format == format)?;
    let layout = image::flash_layout(source, format).ok()?;
    Some(GoodImage { info, layout })
}
