//! Makes the files of a new lab: flashes, bundle, first boot, sysfs tree.

use std::fs;
use std::path::Path;

use super::build::mfa::{PackedImage, Packer};
use super::build::{BuildError, FlashContents, build_image, flash_contents};
use super::chip::Chip;
use super::host::{CardSpec, HostSpec, OfferSpec, RomSpec};
use super::{LAB_FILE, LOCKS, LabCard, LabError, LabFile, SCHEMA, tree};
use crate::sys;

/// Folder of the cards.
pub(super) const CARDS: &str = "cards";
/// Folder of the bundle.
pub(super) const FIRMWARE: &str = "firmware";
/// The bundle.
const BUNDLE: &str = "cxfw-lab.mfa";

/// Fills the empty folder `dir`.
pub(super) fn fill(dir: &Path, host: &HostSpec) -> Result<(), LabError> {
    for folder in [CARDS, FIRMWARE] {
        make_dir(&dir.join(folder))?;
    }
    make_dir(&sys::own_mstflint_locks(&dir.join(LOCKS)))?;
    let cards = std::thread::scope(|scope| {
        let bundle = scope.spawn(|| write_bundle(&dir.join(FIRMWARE), &host.offers));
        let cards = host
            .cards
            .iter()
            .map(|spec| make_card(dir, host, spec))
            .collect::<Result<Vec<_>, _>>();
        bundle
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        cards
    })?;
    let nodes = tree::nodes(host, &cards)?;
    tree::replace(dir, host, &nodes)?;
    let file = LabFile {
        schema: SCHEMA.to_owned(),
        host: host.clone(),
    };
    let path = dir.join(LAB_FILE);
    let text = serde_json::to_vec_pretty(&file).map_err(|error| LabError::Broken {
        path: path.clone(),
        reason: error.to_string(),
    })?;
    write(&path, &text)
}

/// A card as it comes from the factory, powered on.
fn make_card(dir: &Path, host: &HostSpec, spec: &CardSpec) -> Result<LabCard, LabError> {
    let dir = dir.join(CARDS).join(&spec.name);
    make_dir(&dir)?;
    let chip = Chip::open(&dir, &spec.chip_spec(host.slot_of(spec.address))?)?;
    let image = spec.image_spec()?;
    let contents = flash_contents(&image, u64::from(spec.flash.size), spec.flash.slot)
        .map_err(|source| misfit(&spec.name, source))?;
    program(&chip, spec, contents)?;
    chip.boot()?;
    Ok(LabCard {
        spec: spec.clone(),
        chip,
    })
}

/// Programs the flash. For a card in recovery the start pattern is destroyed, as an interrupted
/// burn of a single-image tool leaves it: the boot ROM finds no image, all else is there.
fn program(chip: &Chip, spec: &CardSpec, contents: FlashContents) -> Result<(), LabError> {
    for (index, (address, mut run)) in contents.runs.into_iter().enumerate() {
        if spec.recovery && index == 0 {
            let pattern = run.len().min(4);
            run[..pattern].fill(0);
        }
        let address = u32::try_from(address).map_err(|_| {
            misfit(
                &spec.name,
                BuildError::DoesNotFit {
                    what: "flash",
                    end: address,
                    limit: u64::from(u32::MAX),
                },
            )
        })?;
        chip.write_flash(address, &run)?;
    }
    Ok(())
}

fn write_bundle(dir: &Path, offers: &[OfferSpec]) -> Result<(), LabError> {
    let mut packer = Packer::new();
    for offer in offers {
        let image = build_image(&offer.image_spec()?)
            .map_err(|source| misfit(offer.psid.as_str(), source))?;
        packer.add(&PackedImage {
            psid: offer.psid.clone(),
            part_number: offer.part_number.clone(),
            description: offer.description.clone(),
            firmware: offer.firmware.version,
            roms: offer.firmware.roms.iter().map(RomSpec::rom).collect(),
            image,
        })?;
    }
    write(&dir.join(BUNDLE), &packer.pack()?)
}

fn misfit(what: &str, source: BuildError) -> LabError {
    LabError::Image {
        what: what.to_owned(),
        source,
    }
}

fn make_dir(path: &Path) -> Result<(), LabError> {
    fs::create_dir_all(path).map_err(|source| LabError::File {
        action: "make folder",
        path: path.to_owned(),
        source,
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    fs::write(path, bytes).map_err(|source| LabError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}
