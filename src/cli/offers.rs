//! The images on offer to the cards of a run, and their bytes.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::error::CliError;
use super::releases::{Answers, Found, Listing};
use crate::bundle::{Bundle, BundleError, Entry};
use crate::identity::Psid;
use crate::image;
use crate::plan::{Aim, Facts, Offer, Policy};
use crate::report::json::{SearchedSource, SourceName};
use crate::report::transfer::TransferBoard;

/// Kind of the source a lab brings along.
pub const LAB: &str = "lab";

/// The images on offer to the cards of this run.
#[derive(Debug, Default)]
pub struct Offers {
    /// In the order of the files, or board by board.
    pub offers: Vec<Offer>,
    /// Every board the source has an image for, as far as that was read.
    pub boards: BTreeSet<Psid>,
    /// How reports call the source; `None`: there was none.
    pub name: Option<SourceName>,
    /// How loudly a card without an image is told.
    pub aim: Aim,
    /// Lists that gave no answer.
    pub failures: Vec<CliError>,
    /// Boards of which a list that answered says what makes no sense.
    unanswered: Vec<(Psid, String)>,
    /// What the user should know, one sentence each.
    pub warnings: Vec<String>,
    /// The lists, where the offers are from such.
    pub listing: Option<Listing>,
    /// Offers whose image could not be fetched, or is not what was listed, and why.
    unfetched: BTreeMap<usize, CliError>,
    bundles: Vec<Bundle>,
    /// For each offer, its container and its place in that, once it is here.
    places: Vec<Option<(usize, usize)>>,
}

impl Offers {
    /// None so far, of the source of this name.
    #[must_use]
    pub fn of(name: SourceName) -> Self {
        Self {
            name: Some(name),
            ..Self::default()
        }
    }

    /// Whether these are of the bundles that a lab brings along.
    #[must_use]
    pub fn are_labs_own(&self) -> bool {
        self.name.as_ref().is_some_and(|name| name.kind == LAB)
    }

    /// Where was looked, and how that went.
    #[must_use]
    pub fn searched(&self) -> Vec<SearchedSource> {
        match &self.listing {
            Some(listing) => listing.searched.clone(),
            None => self.name.iter().map(SearchedSource::from).collect(),
        }
    }

    /// What a plan has to know of the source.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let searched = self.listing.iter().flat_map(|listing| &listing.searched);
        Policy {
            aim: self.aim,
            searched: searched.map(|list| list.name.clone()).collect(),
            failures: self.failures.iter().map(ToString::to_string).collect(),
            unanswered: self.unanswered.clone(),
            ..Policy::default()
        }
    }

    /// Makes the images of these offers be here.
    ///
    /// Returns whether any was fetched: then it is time to plan again, since only an image that is
    /// here says what it is. One that cannot be had is the failure of the cards that need it, see
    /// [`Offers::unfetched`]; the others go on.
    pub fn fetch(&mut self, wanted: &BTreeSet<usize>, board: &mut TransferBoard) -> bool {
        let Some(listing) = &mut self.listing else {
            return false;
        };
        let mut any = false;
        for &index in wanted {
            let (Some(offer), Some(place)) =
                (self.offers.get_mut(index), self.places.get_mut(index))
            else {
                continue;
            };
            if offer.image().is_some() || self.unfetched.contains_key(&index) {
                continue;
            }
            match listing.fetch(index, offer, &mut self.bundles, board) {
                Ok(Found {
                    bundle,
                    entry,
                    offer: found,
                }) => {
                    (*offer, *place) = (found, Some((bundle, entry)));
                    any = true;
                }
                Err(error) => {
                    self.unfetched.insert(index, error);
                }
            }
        }
        any
    }

    /// Makes the images be here of which a list names no version: they say it themselves.
    pub fn fetch_unversioned(&mut self, board: &mut TransferBoard) {
        let offers = self.offers.iter().enumerate();
        let unversioned = offers
            .filter(|(_, offer)| offer.image().is_none() && offer.version().is_none())
            .map(|(index, _)| index)
            .collect();
        self.fetch(&unversioned, board);
    }

    /// Why the image of this offer is not here, where that was tried.
    #[must_use]
    pub fn unfetched(&self, index: usize) -> Option<&CliError> {
        self.unfetched.get(&index)
    }

    /// Hands over why files could not be fetched.
    pub fn take_unfetched(&mut self) -> Vec<CliError> {
        std::mem::take(&mut self.unfetched).into_values().collect()
    }

    /// Every file that could not be fetched.
    pub fn all_unfetched(&self) -> impl Iterator<Item = &CliError> {
        self.unfetched.values()
    }

    /// Adds what an open container has for these boards, or all it has.
    ///
    /// # Errors
    /// An image that cannot be taken out or read, by name.
    pub fn add(
        &mut self,
        bundle: Bundle,
        boards: Option<&BTreeSet<&Psid>>,
    ) -> Result<(), CliError> {
        let filed = bundle
            .entries()
            .iter()
            .filter_map(|entry| entry.psid.clone());
        self.boards.extend(filed);
        for (entry, offer) in read(&bundle, &on_offer(bundle.entries(), boards))? {
            // A bare image tells its board only here.
            self.boards.extend(offer.psid().cloned());
            if offer.psid().is_some_and(|psid| is_among(boards, psid)) {
                self.offers.push(offer);
                self.places.push(Some((self.bundles.len(), entry)));
            }
        }
        self.bundles.push(bundle);
        Ok(())
    }

    /// Adds what lists answered.
    #[must_use]
    pub fn listed(mut self, answers: Answers) -> Self {
        let listing = answers.listing;
        self.warnings = answers.warnings;
        self.aim = if answers.failures.is_empty() {
            Aim::Collection
        } else {
            Aim::Part
        };
        self.failures = answers.failures;
        for (psid, error) in answers.faulty {
            self.unanswered.push((psid, error.to_string()));
            self.failures.push(error);
        }
        self.offers = listing.offers();
        self.places = vec![None; self.offers.len()];
        self.boards
            .extend(self.offers.iter().filter_map(|offer| offer.psid().cloned()));
        self.listing = Some(listing);
        self
    }

    /// The bytes of these offers, verified as a whole; a package is inflated once for all of them.
    /// They must still be the ones the offers were made from.
    ///
    /// # Errors
    /// [`CliError::Changed`], or what is wrong with container or image.
    pub fn images(&self, wanted: &BTreeSet<usize>) -> Result<BTreeMap<usize, Vec<u8>>, CliError> {
        let mut images = BTreeMap::new();
        for (number, bundle) in self.bundles.iter().enumerate() {
            let here = wanted.iter().filter_map(|&index| {
                let (container, entry) = (*self.places.get(index)?)?;
                (container == number).then_some((entry, index))
            });
            let by_entry: BTreeMap<usize, usize> = here.collect();
            bundle.read_these(&by_entry.keys().copied().collect(), |entry, bytes| {
                if let Some(&index) = by_entry.get(&entry.index) {
                    images.insert(index, bytes.to_vec());
                }
            })?;
        }
        for (&index, bytes) in &images {
            check(&self.offers[index], bytes)?;
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

/// Whether the board is one of these; `None`: every board.
fn is_among(boards: Option<&BTreeSet<&Psid>>, psid: &Psid) -> bool {
    boards.is_none_or(|boards| boards.contains(psid))
}

/// The entries that may be for one of these boards, and are meant for everybody.
fn on_offer<'a>(entries: &'a [Entry], boards: Option<&BTreeSet<&Psid>>) -> Vec<&'a Entry> {
    entries
        .iter()
        .filter(|entry| entry.other.is_none())
        .filter(|entry| {
            entry
                .psid
                .as_ref()
                .is_none_or(|psid| is_among(boards, psid))
        })
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
        on_offer(entries, Some(&BTreeSet::from([&board])))
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
