//! What is plugged in: every card of vendor 15b3 that a sysfs tree shows.
//!
//! Of other vendors' functions nothing is read but `vendor`. Virtual functions, bridges and SoC
//! functions are left out. A function that cannot be described is reported beside the cards and
//! never hides them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::card::{self, BoardKey};
use super::function::{self, Function, FunctionError};
use super::{Card, CardKind, MELLANOX, Vpd, kind};
use crate::sys::Roots;

/// What an enumeration found.
#[derive(Debug, Default)]
pub struct Inventory {
    /// The cards, in bus order.
    pub cards: Vec<Card>,
    /// Functions that could not be described, and why.
    pub problems: Vec<FunctionError>,
}

/// The list of PCI functions itself cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot list PCI devices in {}: {source}; is sysfs mounted there?",
    path.display()
)]
pub struct EnumerationError {
    /// The directory of all functions.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// The cards below `roots.sysfs`, in bus order. Functions that cannot be described are logged;
/// [`inventory`] hands them out.
///
/// # Errors
/// [`EnumerationError`] when there is no list of PCI functions at all.
pub fn enumerate(roots: &Roots) -> Result<Vec<Card>, EnumerationError> {
    let inventory = inventory(roots)?;
    for problem in &inventory.problems {
        log::warn!("a PCI function is left out: {problem}");
    }
    Ok(inventory.cards)
}

/// The cards below `roots.sysfs`, in bus order, and the functions that could not be described.
///
/// # Errors
/// [`EnumerationError`] when there is no list of PCI functions at all.
pub fn inventory(roots: &Roots) -> Result<Inventory, EnumerationError> {
    let mut functions = Vec::new();
    let mut problems = Vec::new();
    for path in directories(roots)? {
        match describe(&path) {
            Ok(Some(function)) => functions.push(function),
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    Ok(Inventory {
        cards: card::group(functions, board_key),
        problems,
    })
}

/// The directory of every function, in the order of their names.
pub(super) fn directories(roots: &Roots) -> Result<Vec<PathBuf>, EnumerationError> {
    let directory = roots.pci_devices();
    let fail = |source| EnumerationError {
        path: directory.clone(),
        source,
    };
    let mut paths = fs::read_dir(&directory)
        .map_err(fail)?
        .map(|entry| Ok(entry.map_err(fail)?.path()))
        .collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}

/// The function in this directory, if it is one of ours and part of a card.
fn describe(path: &Path) -> Result<Option<(Function, CardKind)>, FunctionError> {
    if function::id(path, "vendor")? != MELLANOX || is_virtual(path) {
        return Ok(None);
    }
    let device = function::id(path, "device")?;
    let class = function::number(path, "class", 0xff_ffff)?;
    let Some(kind) = kind::of_function(device, class) else {
        return Ok(None);
    };
    Ok(Some((Function::read(path)?, kind)))
}

/// A virtual function of a physical one on this host.
pub(super) fn is_virtual(path: &Path) -> bool {
    fs::symlink_metadata(path.join("physfn")).is_ok()
}

/// Serial and part number of the board, where both are there and the serial number is one.
fn board_key(function: &Function) -> Option<BoardKey> {
    let vpd = Vpd::read(function).ok()?;
    let serial = vpd.serial().filter(|serial| is_serial(serial))?;
    let part_number = vpd.part_number()?;
    Some(BoardKey {
        serial,
        part_number,
    })
}

/// Words in place of a serial number.
const NO_SERIAL: &[&str] = &["na", "none", "unknown", "default", "tbd"];

/// Whether `text` is a number of one board and not a placeholder: boards without a number of
/// their own say `N/A`, repeat one character, or mask the part that tells them apart.
#[must_use]
pub fn is_serial(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_/.:".contains(c);
    if !text.chars().all(plain) || text.contains("XXXX") {
        return false;
    }
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let first = letters.chars().next();
    letters.chars().any(|c| Some(c) != first)
        && !NO_SERIAL.contains(&letters.to_ascii_lowercase().as_str())
}
