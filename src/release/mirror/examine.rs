//! Takes the images out of a file, verifies them, and describes them for the index.

use std::collections::BTreeMap;
use std::path::Path;

use super::Problem;
use crate::bundle::{Bundle, ComponentVersion, Entry};
use crate::image::ImageInfo;
use crate::release::content;
use crate::release::digest::Digest;
use crate::release::download::Limits;
use crate::release::index::document::Row;
use crate::release::name::FilePath;
use crate::release::record::component_version;

/// A file and the rows for the images in it.
#[derive(Debug)]
pub struct Examination {
    /// Of the file.
    pub sha256: Digest,
    /// One for each image that can be offered.
    pub rows: Vec<Row>,
}

/// Reads one file; `None` when it is no firmware, or none that can be used (then `problems` says
/// why).
pub fn examine(
    folder: &Path,
    name: &FilePath,
    size: u64,
    problems: &mut Vec<Problem>,
) -> Option<Examination> {
    let mut problem = |reason: String| {
        problems.push(Problem {
            file: name.to_string(),
            reason,
        });
    };
    let path = name.below(folder);
    let bundle = match content::open(&path) {
        Ok(bundle) => bundle,
        Err(error) if matches!(error.class(), "no_firmware" | "empty") => {
            log::info!("{name}: passed over, {}", error.fault);
            return None;
        }
        Err(error) => {
            problem(error.fault.to_string());
            return None;
        }
    };
    let limit = Limits::default().file;
    if size > limit {
        problem(format!("{size} bytes; clients accept at most {limit}"));
        return None;
    }
    let sha256 = match Digest::of_file(&path) {
        Ok(sha256) => sha256,
        Err(error) => {
            problem(format!("cannot read it: {error}"));
            return None;
        }
    };
    for error in bundle.problems() {
        problem(error.fault.to_string());
    }
    let mut rows = Vec::new();
    for result in each(&bundle, |entry, bytes| {
        row(entry, bytes, name, size, sha256)
    }) {
        match result {
            Ok(row) => rows.push(row),
            Err(reason) => problem(reason),
        }
    }
    Some(Examination { sha256, rows })
}

/// What `make` makes of every firmware image of the bundle that is for everybody, in their order. The bundle is inflated
/// once; only when that ends early, each image that was not seen is taken out by itself, so that a
/// damaged one hides no other.
fn each(
    bundle: &Bundle,
    make: impl Fn(&Entry, &[u8]) -> Result<Row, String>,
) -> Vec<Result<Row, String>> {
    let entries = bundle.entries();
    let offered = |entry: &Entry| entry.other.is_none() && entry.is_for_everybody(entries);
    let mut made = BTreeMap::new();
    let whole = bundle.read_each(|entry, bytes| {
        if offered(entry) {
            made.insert(entry.index, make(entry, bytes));
        }
    });
    if whole.is_err() {
        for entry in entries.iter().filter(|entry| offered(entry)) {
            made.entry(entry.index).or_insert_with(|| {
                let bytes = bundle.read(entry.index);
                make(entry, &bytes.map_err(|error| error.fault.to_string())?)
            });
        }
    }
    made.into_values().collect()
}

fn row(
    entry: &Entry,
    bytes: &[u8],
    name: &FilePath,
    size: u64,
    sha256: Digest,
) -> Result<Row, String> {
    let info = content::verified(bytes, entry).map_err(|fault| fault.to_string())?;
    let psid = match (&info.psid, &entry.psid) {
        (Some(found), Some(filed)) if found != filed => {
            return Err(format!("filed under {filed}, but the image is for {found}"));
        }
        (Some(psid), _) | (None, Some(psid)) => psid.clone(),
        (None, None) => return Err(format!("entry {}: the image names no board", entry.index)),
    };
    Ok(Row {
        part_numbers: one_of(&info.part_number, entry.part_number.as_deref())
            .into_iter()
            .collect(),
        device: info.model().map(|model| model.long_name.to_owned()),
        description: one_of(&info.description, entry.description.as_deref()),
        versions: versions(&info).ok_or_else(|| format!("{psid}: the image has no version"))?,
        branch: info
            .version
            .map(|version| format!("{}.{}", version.major, version.minor)),
        date: info.date,
        minimum: None,
        file: name.clone(),
        size,
        sha256,
        image_sha256: Some(Digest::of(bytes)),
        notes: None,
        psid,
    })
}

/// Firmware first, then each expansion ROM once. Development builds have a tag in place of a
/// number.
fn versions(info: &ImageInfo) -> Option<Vec<ComponentVersion>> {
    let firmware = info.version.map(|version| version.to_string());
    let firmware = info.branch.clone().or(firmware)?;
    let mut versions = vec![component_version("FW", &firmware)];
    for rom in &info.roms {
        let version = component_version(&rom.kind, &rom.version_text());
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    Some(versions)
}

/// The image's word, else the container's.
fn one_of(image: &str, container: Option<&str>) -> Option<String> {
    text(image).or_else(|| text(container.unwrap_or_default()))
}

/// A text as an index can hold it: XML has no control characters, and blanks at the ends mean
/// nothing. `None` when nothing is left.
pub(super) fn text(raw: &str) -> Option<String> {
    let clean: String = raw
        .replace("\r\n", "\n")
        .chars()
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c })
        .collect();
    let clean = clean.trim();
    (!clean.is_empty()).then(|| clean.to_owned())
}
