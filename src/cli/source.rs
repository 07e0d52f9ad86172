//! Where the images of a run come from: files, a folder, the lab's own bundles, or lists of
//! releases ([`super::releases`]).
//!
//! Containers are opened before any card is touched, so a broken file stops a run at its start.
//! Only images for boards that are there are taken out and read; what is planned with is what the
//! image says of itself, and what is burned is checked to be the same bytes.

use std::path::{Path, PathBuf};

use super::error::CliError;
use super::offers::{LAB, Offers};
use super::releases::Listing;
use super::settings::SourceChoice;
use super::standard_input;
use crate::bundle::{Bundle, Options};
use crate::card::CardReport;
use crate::plan::Aim;
use crate::release::{Freshness, Source as ReleaseSource, Sources};
use crate::report::json::SourceName;

/// Which images count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boards {
    /// Those for the boards of the cards.
    OfCards,
    /// All of them, where files were named.
    AnyOfNamedFiles,
}

/// Open containers, or lists that can be asked.
#[derive(Debug)]
pub struct Source {
    name: SourceName,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Bundles(Aim, Vec<Bundle>),
    Lists(Box<Sources>, Freshness),
}

impl Source {
    /// Opens what was chosen; `None` when nothing was. `lab_firmware` is the folder of the lab's
    /// own bundles.
    ///
    /// # Errors
    /// A file that cannot be used, by name.
    pub fn open(
        choice: SourceChoice,
        lab_firmware: Option<&Path>,
    ) -> Result<Option<Self>, CliError> {
        let folder = |kind, path: &Path| {
            let bundles = vec![open_folder(path)?];
            let origin = Origin::Bundles(Aim::Collection, bundles);
            Ok::<_, CliError>((kind, path.display().to_string(), origin))
        };
        let (kind, name, origin) = match (choice, lab_firmware) {
            (SourceChoice::None, _) | (SourceChoice::Lab, None) => return Ok(None),
            (SourceChoice::Files(files), _) => {
                let bundles = files
                    .iter()
                    .map(|file| open_file(file))
                    .collect::<Result<_, _>>()?;
                let origin = Origin::Bundles(Aim::Files, bundles);
                ("image", names(&files), origin)
            }
            (SourceChoice::Folder(path), _) => folder("directory", &path)?,
            (SourceChoice::Lab, Some(path)) => folder(LAB, path)?,
            (SourceChoice::Lists(sources, freshness), _) => {
                let (kind, name) = name_of(sources.list());
                (kind, name, Origin::Lists(sources, freshness))
            }
        };
        Ok(Some(Self {
            name: SourceName { kind, name },
            origin,
        }))
    }

    /// Reads the images, or asks for the releases, for the boards of these cards.
    ///
    /// # Errors
    /// An image that cannot be taken out or read, by name. A list that gives no answer is one of
    /// the failures instead.
    pub fn offers_for(self, cards: &[CardReport], boards: Boards) -> Result<Offers, CliError> {
        let mut offers = Offers::of(self.name);
        match self.origin {
            Origin::Bundles(aim, bundles) => {
                offers.aim = aim;
                let of_cards = cards.iter().filter_map(|card| card.psid.as_ref()).collect();
                let every = aim == Aim::Files && boards == Boards::AnyOfNamedFiles;
                for bundle in bundles {
                    offers.add(bundle, (!every).then_some(&of_cards))?;
                }
                Ok(offers)
            }
            Origin::Lists(sources, freshness) => {
                Ok(offers.listed(Listing::ask(*sources, freshness, cards)))
            }
        }
    }
}

/// Several lists are one source, too.
fn name_of(list: &[ReleaseSource]) -> (&'static str, String) {
    let kind = match list {
        [only] => only.kind(),
        _ => "releases",
    };
    let names: Vec<String> = list.iter().map(|list| list.name().to_string()).collect();
    (kind, names.join(", "))
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
