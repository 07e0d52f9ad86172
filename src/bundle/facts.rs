//! What an image inside a bundle says of itself, and how that fills an entry.

use std::sync::Arc;

use super::entry::{ComponentVersion, Entry};
use super::error::{BundleError, Fault};
use crate::bytes::ByteSource;
use crate::identity::Psid;
use crate::image::{self, ImageInfo};

/// Packages carry images with the marker replaced by sixteen FF (bundles 2.9).
const MASK: [u8; 16] = [0xff; 16];

/// What the image in `source` says, with its marker or masked as packages carry it.
///
/// # Errors
/// [`Fault::Image`].
pub fn read(source: &dyn ByteSource) -> Result<ImageInfo, Fault> {
    let info = if is_masked(source) {
        image::query_masked(source, None)
    } else {
        image::query(source)
    };
    info.map_err(|error| Fault::Image(Arc::new(error)))
}

/// `info`, if it is of an image for `board`; without a board any image is right.
///
/// # Errors
/// [`Fault::WrongBoard`].
pub fn for_board(board: Option<&Psid>, info: ImageInfo) -> Result<ImageInfo, Fault> {
    match board {
        Some(board) if info.psid.as_ref() != Some(board) => Err(Fault::WrongBoard {
            listed: board.to_string(),
            found: info
                .psid
                .map_or_else(|| "no board".to_owned(), |psid| psid.to_string()),
        }),
        _ => Ok(info),
    }
}

/// Whether this is an image though it does not begin with a marker: masked and good, or behind the
/// start of a raw dump of a flash.
#[must_use]
pub fn is_image(source: &dyn ByteSource) -> bool {
    if is_masked(source) && image::query_masked(source, None).is_ok() {
        return true;
    }
    image::starts(source).is_ok_and(|starts| !starts.is_empty())
}

/// Whether the first sixteen bytes are those of a masked image.
fn is_masked(source: &dyn ByteSource) -> bool {
    source.read(0, 16).is_ok_and(|bytes| *bytes == MASK)
}

/// The versions an image shows, firmware first, then its ROMs.
#[must_use]
pub fn versions(info: &ImageInfo) -> Vec<ComponentVersion> {
    let branch = info.branch.clone();
    let firmware = info.version.map(|version| ComponentVersion {
        kind: "FW".to_owned(),
        text: branch.unwrap_or_else(|| version.to_string()),
        firmware: Some(version),
        trusted: true,
    });
    let roms = info.roms.iter().map(|rom| ComponentVersion {
        kind: rom.kind.clone(),
        text: rom.version_text(),
        firmware: None,
        trusted: true,
    });
    firmware.into_iter().chain(roms).collect()
}

impl Entry {
    /// What the image in `bytes`, taken from this place, says of itself. It must be for the board
    /// it is listed under.
    ///
    /// # Errors
    /// [`Fault::Image`], [`Fault::WrongBoard`], with the place.
    pub fn describe(&self, bytes: &[u8]) -> Result<ImageInfo, BundleError> {
        read(&bytes)
            .and_then(|info| for_board(self.psid.as_ref(), info))
            .map_err(|fault| self.error(fault))
    }

    /// `fault`, found in this image.
    #[must_use]
    pub fn error(&self, fault: Fault) -> BundleError {
        BundleError {
            file: self.file.clone(),
            member: self.member.as_deref().map(Box::from),
            board: self.psid.clone().map(Box::new),
            fault,
        }
    }

    /// Takes in what the image says: its versions replace the container's, the rest only fills
    /// what the container left open.
    pub(super) fn take_in(&mut self, info: &ImageInfo) {
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        self.versions = versions(info);
        self.psid = self.psid.take().or_else(|| info.psid.clone());
        self.part_number = self.part_number.take().or_else(|| text(&info.part_number));
        self.description = self.description.take().or_else(|| text(&info.description));
    }
}
