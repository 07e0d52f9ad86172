//! Where the images of a run come from: files, a folder, or the lab's own bundles.
//!
//! Containers are opened before any card is touched, so a broken file stops a run at its start.
//! Only images for boards that are there are taken out and read; what is planned with is what the
//! image says of itself, and what is burned is checked to be the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::CliError;
use super::settings::SourceChoice;
use super::standard_input;
use crate::bundle::{Bundle, BundleError, Entry, Options};
use crate::card::CardReport;
use crate::identity::Psid;
use crate::image;
use crate::plan::{Aim, Facts, Offer};
use crate::report::json::SourceName;

/// Kind of the source a lab brings along.
const LAB: &str = "lab";

/// Open containers, and the images they offer to the cards of this run.
#[derive(Debug)]
pub struct Source {
    /// How reports call it.
    pub name: SourceName,
    /// How loudly a card without an image is told.
    pub aim: Aim,
    bundles: Vec<Bundle>,
}

/// The images on offer.
#[derive(Debug, Default)]
pub struct Offers {
    /// In the order of the files.
    pub offers: Vec<Offer>,
    /// Every board the source has an image for, as far as that was read.
    pub boards: BTreeSet<Psid>,
    /// For each offer, its container and its place in that.
    places: Vec<(usize, usize)>,
}

impl Source {
    /// Opens what was chosen; `None` when nothing was. `lab_firmware` is the folder of the lab's
    /// own bundles.
    ///
    /// # Errors
    /// A file that cannot be used, by name.
    pub fn open(
        choice: &SourceChoice,
        lab_firmware: Option<&Path>,
    ) -> Result<Option<Self>, CliError> {
        let folder = |kind, path: &Path| {
            let bundles = vec![open_folder(path)?];
            Ok::<_, CliError>((kind, path.display().to_string(), Aim::Collection, bundles))
        };
        let (kind, name, aim, bundles) = match (choice, lab_firmware) {
            (SourceChoice::None, _) | (SourceChoice::Lab, None) => return Ok(None),
            (SourceChoice::Files(files), _) => {
                let bundles = files
                    .iter()
                    .map(|file| open_file(file))
                    .collect::<Result<_, _>>()?;
                ("image", names(files), Aim::Files, bundles)
            }
            (SourceChoice::Folder(path), _) => folder("directory", path)?,
            (SourceChoice::Lab, Some(path)) => folder(LAB, path)?,
        };
        Ok(Some(Self {
            name: SourceName { kind, name },
            aim,
            bundles,
        }))
    }

    /// Whether these are the bundles that a lab brings along.
    #[must_use]
    pub fn is_labs_own(&self) -> bool {
        self.name.kind == LAB
    }

    /// Reads the images for the boards of these cards.
    ///
    /// # Errors
    /// An image that cannot be taken out or read, by name.
    pub fn offers_for(&self, cards: &[CardReport]) -> Result<Offers, CliError> {
        let boards: BTreeSet<&Psid> = cards.iter().filter_map(|card| card.psid.as_ref()).collect();
        let mut offers = Offers::default();
        for (index, bundle) in self.bundles.iter().enumerate() {
            let filed = bundle
                .entries()
                .iter()
                .filter_map(|entry| entry.psid.clone());
            offers.boards.extend(filed);
            for (entry, offer) in read(bundle, &on_offer(bundle.entries(), &boards))? {
                // A bare image tells its board only here.
                offers.boards.extend(offer.psid().cloned());
                if offer.psid().is_some_and(|psid| boards.contains(psid)) {
                    offers.offers.push(offer);
                    offers.places.push((index, entry));
                }
            }
        }
        Ok(offers)
    }

    /// The bytes of these offers, verified as a whole; a package is inflated once for all of them.
    /// They must still be the ones the offers were made from.
    ///
    /// # Errors
    /// [`CliError::Changed`], or what is wrong with container or image.
    pub fn images(
        &self,
        offers: &Offers,
        wanted: &BTreeSet<usize>,
    ) -> Result<BTreeMap<usize, Vec<u8>>, CliError> {
        let mut images = BTreeMap::new();
        for (number, bundle) in self.bundles.iter().enumerate() {
            let here = wanted
                .iter()
                .filter(|&&index| offers.places[index].0 == number);
            let by_entry: BTreeMap<usize, usize> =
                here.map(|&index| (offers.places[index].1, index)).collect();
            bundle.read_these(&by_entry.keys().copied().collect(), |entry, bytes| {
                if let Some(&index) = by_entry.get(&entry.index) {
                    images.insert(index, bytes.to_vec());
                }
            })?;
        }
        for (&index, bytes) in &images {
            check(&offers.offers[index], bytes)?;
        }
        Ok(images)
    }
}

/// Checks that `bytes` are what the offer was made from, and good.
fn check(offer: &Offer, bytes: &[u8]) -> Result<(), CliError> {
    let place = offer.place();
    if Some(Sha256::digest(bytes).into()) != offer.digest {
        return Err(CliError::Changed { place });
    }
    match image::verify(bytes).failure {
        None => Ok(()),
        Some(source) => Err(CliError::Image { place, source }),
    }
}

/// Opens one named file.
///
/// # Errors
/// Naming the file.
pub fn open_file(path: &Path) -> Result<Bundle, CliError> {
    if path.is_dir() {
        return Err(CliError::Directory {
            path: path.to_owned(),
        });
    }
    whole(open(path, &Options::default())?)
}

/// Opens a file, a folder, or what comes through standard input; damaged parts of it are its
/// problems.
///
/// # Errors
/// Naming the file.
pub fn open(path: &Path, options: &Options) -> Result<Bundle, CliError> {
    let bundle = if path.as_os_str() == standard_input::DASH {
        Bundle::of_file(
            Path::new(standard_input::NAME),
            &standard_input::file()?,
            options,
        )?
    } else {
        Bundle::open_with(path, options)?
    };
    for warning in bundle.warnings() {
        log::warn!("{}: {warning}", bundle.path().display());
    }
    for skipped in bundle.skipped() {
        log::info!("{}: passed over, {}", skipped.file.display(), skipped.found);
    }
    Ok(bundle)
}

/// Opens every firmware file of a folder. Files that are no firmware are passed over; a damaged
/// one is an error, for it may be the newest.
fn open_folder(path: &Path) -> Result<Bundle, CliError> {
    if !path.is_dir() {
        return Err(CliError::NotADirectory {
            path: path.to_owned(),
        });
    }
    whole(open(path, &Options::default())?)
}

/// A bundle all of which can be used.
fn whole(bundle: Bundle) -> Result<Bundle, CliError> {
    if bundle.problems().is_empty() {
        return Ok(bundle);
    }
    Err(CliError::Damaged {
        path: bundle.path().to_owned(),
        problems: bundle.problems().iter().map(ToString::to_string).collect(),
    })
}

fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    names.join(", ")
}

/// The entries that may be for one of these boards, and are meant for everybody.
fn on_offer<'a>(entries: &'a [Entry], boards: &BTreeSet<&Psid>) -> Vec<&'a Entry> {
    entries
        .iter()
        .filter(|entry| entry.other.is_none())
        .filter(|entry| entry.psid.as_ref().is_none_or(|psid| boards.contains(psid)))
        .filter(|entry| entry.is_for_everybody(entries))
        .collect()
}

/// The images of `entries` with the index of each; the bundle is inflated once for all of them.
fn read(bundle: &Bundle, entries: &[&Entry]) -> Result<Vec<(usize, Offer)>, CliError> {
    let wanted = entries.iter().map(|entry| entry.index).collect();
    let mut offers = BTreeMap::new();
    bundle.read_these(&wanted, |entry, bytes| {
        offers.insert(entry.index, offer(entry, bytes));
    })?;
    let offers = offers.into_iter();
    offers.map(|(index, offer)| Ok((index, offer?))).collect()
}

fn offer(entry: &Entry, bytes: &[u8]) -> Result<Offer, BundleError> {
    Ok(Offer {
        file: entry.file.clone(),
        member: entry.member.clone(),
        digest: Some(Sha256::digest(bytes).into()),
        facts: Facts::Image(Box::new(entry.describe(bytes)?)),
        provenance: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(psid: &str, tag: &str) -> Entry {
        Entry {
            psid: Psid::new(psid),
            tag: tag.to_owned(),
            ..Entry::default()
        }
    }

    fn tags_on_offer(entries: &[Entry]) -> Vec<&str> {
        let board = Psid::new("MT_1").unwrap();
        on_offer(entries, &BTreeSet::from([&board]))
            .iter()
            .map(|entry| entry.tag.as_str())
            .collect()
    }

    #[test]
    fn images_of_other_boards_and_other_things_are_not_taken_out() {
        let mut debug_token = entry("MT_1", "");
        debug_token.other = Some("token".to_owned());
        assert!(tags_on_offer(&[debug_token, entry("MT_2", "")]).is_empty());
    }
}
