//! The contents of bundles in JSON.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::{Problem, write};
use crate::bundle::{Bundle, Entry};

/// One listed file.
#[derive(Debug)]
pub struct ListedFile<'a> {
    /// Its path.
    pub file: String,
    /// What it is (`MFA`, `image` …).
    pub kind: String,
    /// What is in it.
    pub entries: &'a [Entry],
    /// Oddities that do not make it unusable.
    pub warnings: &'a [String],
}

impl<'a> ListedFile<'a> {
    /// All of `bundle`.
    #[must_use]
    pub fn of(bundle: &'a Bundle) -> Self {
        Self {
            file: bundle.path().display().to_string(),
            kind: bundle.kind().to_string(),
            entries: bundle.entries(),
            warnings: bundle.warnings(),
        }
    }
}

#[derive(Serialize)]
struct FileFields<'a> {
    file: &'a str,
    kind: &'a str,
    entries: Vec<EntryFields<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct EntryFields<'a> {
    file: String,
    psid: Option<&'a str>,
    part_number: Option<&'a str>,
    description: Option<&'a str>,
    member: Option<&'a str>,
    tag: Option<&'a str>,
    versions: Vec<VersionFields<'a>>,
    size: Option<u64>,
    other: Option<&'a str>,
}

#[derive(Serialize)]
struct VersionFields<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    version: &'a str,
    trusted: bool,
}

/// `cxfw.list/1`.
///
/// # Errors
/// What the writer says.
pub fn list(out: &mut dyn Write, files: &[ListedFile<'_>], errors: &[Problem]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Body<'a> {
        files: Vec<FileFields<'a>>,
    }
    let files = files
        .iter()
        .map(|listed| FileFields {
            file: &listed.file,
            kind: &listed.kind,
            entries: listed.entries.iter().map(EntryFields::from).collect(),
            warnings: listed.warnings,
        })
        .collect();
    write(out, "cxfw.list/1", Body { files }, errors)
}

impl<'a> From<&'a Entry> for EntryFields<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self {
            file: entry.file.display().to_string(),
            psid: entry.psid.as_ref().map(|psid| psid.as_str()),
            part_number: entry.part_number.as_deref(),
            description: entry.description.as_deref(),
            member: entry.member.as_deref(),
            tag: Some(entry.tag.as_str()).filter(|tag| !tag.is_empty()),
            versions: entry
                .versions
                .iter()
                .map(|version| VersionFields {
                    kind: &version.kind,
                    version: &version.text,
                    trusted: version.trusted,
                })
                .collect(),
            size: entry.size,
            other: entry.other.as_deref(),
        }
    }
}

/// `cxfw.extract/1`: the file that was written.
///
/// # Errors
/// What the writer says.
pub fn extracted(out: &mut dyn Write, file: &Path, entry: &Entry, size: u64) -> io::Result<()> {
    #[derive(Serialize)]
    struct Body<'a> {
        files: [Extracted<'a>; 1],
    }
    #[derive(Serialize)]
    struct Extracted<'a> {
        file: String,
        psid: Option<&'a str>,
        size: u64,
    }
    let extracted = Extracted {
        file: file.display().to_string(),
        psid: entry.psid.as_ref().map(|psid| psid.as_str()),
        size,
    };
    write(out, "cxfw.extract/1", Body { files: [extracted] }, &[])
}
