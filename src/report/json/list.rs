//! The contents of bundles in JSON.

use std::io::{self, Write};

use serde::Serialize;

use super::{Problem, write};
use crate::bundle::Entry;

/// One listed file.
#[derive(Debug)]
pub struct ListedFile<'a> {
    /// Its path.
    pub file: String,
    /// What it is (`MFA`, `image` …).
    pub kind: String,
    /// What is in it.
    pub entries: &'a [Entry],
}

#[derive(Serialize)]
struct FileFields<'a> {
    file: &'a str,
    kind: &'a str,
    entries: Vec<EntryFields<'a>>,
}

#[derive(Serialize)]
struct EntryFields<'a> {
    psid: Option<&'a str>,
    part_number: Option<&'a str>,
    description: Option<&'a str>,
    member: Option<&'a str>,
    tag: Option<&'a str>,
    versions: Vec<VersionFields<'a>>,
    size: Option<u64>,
}

#[derive(Serialize)]
struct VersionFields<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    version: &'a str,
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
        })
        .collect();
    write(out, "cxfw.list/1", Body { files }, errors)
}

impl<'a> From<&'a Entry> for EntryFields<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self {
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
                })
                .collect(),
            size: entry.size,
        }
    }
}
