//! What was fetched, and what a mirror is made of, in JSON.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use super::{Problem, SearchedSource, write};

/// One file that was fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FetchedFile {
    /// Where it is now.
    pub file: PathBuf,
    /// Boards it was fetched for, where they are known.
    pub psids: Vec<String>,
    /// Firmware version, where it is known.
    pub version: Option<String>,
    /// In bytes.
    pub size: u64,
    /// Of the file.
    pub sha256: String,
    /// `downloaded`, `copied` or `kept`: it was there.
    pub result: &'static str,
    /// Kind of the source (`online`, `index`).
    pub kind: &'static str,
    /// Name of the source.
    pub source: String,
    /// Release notes: text, or where to read it.
    pub notes: Option<String>,
}

/// What became of a download.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Download<'a> {
    /// Where was looked.
    pub sources: &'a [SearchedSource],
    /// What is there now.
    pub files: &'a [FetchedFile],
    /// Boards that no source lists.
    pub not_listed: &'a [String],
}

/// `cxfw.download/1`.
///
/// # Errors
/// What the writer says.
pub fn download(out: &mut dyn Write, download: Download<'_>, errors: &[Problem]) -> io::Result<()> {
    write(out, "cxfw.download/1", download, errors)
}

/// A file of a mirror that is not offered, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The file, below the folder.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// A mirror that was made.
#[derive(Debug, Clone, Serialize)]
pub struct Mirror<'a> {
    /// The index.
    pub index: PathBuf,
    /// Its number; it grows with every change.
    pub serial: u64,
    /// It is another than before.
    pub changed: bool,
    /// `none`, `kept`, `made` or `removed`.
    pub signature: &'static str,
    /// Releases in it.
    pub releases: usize,
    /// Files with firmware.
    pub firmware_files: usize,
    /// Files that were read, because they are new or changed.
    pub examined: Vec<String>,
    /// Files that are something else than firmware.
    pub passed_over: usize,
    /// Files that are not offered, or not all of them.
    pub left_out: Vec<LeftOut>,
    /// Where was looked for releases beforehand.
    pub sources: &'a [SearchedSource],
    /// What was fetched beforehand.
    pub files: &'a [FetchedFile],
}

/// `cxfw.mirror/1`.
///
/// # Errors
/// What the writer says.
pub fn mirror(out: &mut dyn Write, mirror: &Mirror<'_>, errors: &[Problem]) -> io::Result<()> {
    write(out, "cxfw.mirror/1", mirror, errors)
}
