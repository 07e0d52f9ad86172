//! Checks of bundles and images in JSON.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::{Problem, write};
use crate::image::{CheckResult, SectionCheck, Verification};

/// One checked file.
#[derive(Debug)]
pub struct VerifiedFile {
    /// Its path.
    pub file: String,
    /// What it is; `None` when that could not be told.
    pub kind: Option<String>,
    /// What is wrong beside the images' own failures.
    pub problems: Vec<Problem>,
    /// Its images.
    pub images: Vec<VerifiedImage>,
}

/// One checked image.
#[derive(Debug)]
pub struct VerifiedImage {
    /// File, member and board, for people.
    pub place: String,
    /// The board the container files it under, or its own.
    pub psid: Option<String>,
    /// What was found.
    pub verification: Verification,
}

impl VerifiedFile {
    /// Before anything is checked.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            file: path.display().to_string(),
            kind: None,
            problems: Vec::new(),
            images: Vec::new(),
        }
    }

    /// Whether every check passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        let mut images = self.images.iter();
        self.problems.is_empty() && images.all(|image| image.verification.passed())
    }
}

#[derive(Serialize)]
struct FileFields<'a> {
    file: &'a str,
    kind: Option<&'a str>,
    ok: bool,
    error: Option<&'a Problem>,
    images: Vec<ImageFields<'a>>,
}

#[derive(Serialize)]
struct ImageFields<'a> {
    place: &'a str,
    psid: Option<String>,
    format: Option<String>,
    version: Option<String>,
    ok: bool,
    failure: Option<String>,
    warnings: &'a [String],
    sections: Vec<SectionFields<'a>>,
}

#[derive(Serialize)]
struct SectionFields<'a> {
    name: &'a str,
    address: u64,
    size: u64,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_crc: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calculated_crc: Option<u16>,
}

/// `cxfw.verify/1`.
///
/// # Errors
/// What the writer says.
pub fn verify(out: &mut dyn Write, files: &[VerifiedFile]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Body<'a> {
        files: Vec<FileFields<'a>>,
    }
    let body = Body {
        files: files.iter().map(FileFields::from).collect(),
    };
    let problems: Vec<Problem> = files
        .iter()
        .flat_map(|file| file.problems.iter().cloned())
        .collect();
    write(out, "cxfw.verify/1", body, &problems)
}

impl<'a> From<&'a VerifiedFile> for FileFields<'a> {
    fn from(file: &'a VerifiedFile) -> Self {
        Self {
            file: &file.file,
            kind: file.kind.as_deref(),
            ok: file.passed(),
            error: file.problems.first(),
            images: file.images.iter().map(ImageFields::from).collect(),
        }
    }
}

impl<'a> From<&'a VerifiedImage> for ImageFields<'a> {
    fn from(image: &'a VerifiedImage) -> Self {
        let check = &image.verification;
        let info = check.info.as_ref();
        let own = || info.and_then(|info| info.psid.as_ref().map(ToString::to_string));
        Self {
            place: &image.place,
            psid: image.psid.clone().or_else(own),
            format: info.map(|info| info.format.to_string()),
            version: info.and_then(|info| info.version.map(|version| version.to_string())),
            ok: check.passed(),
            failure: check.failure.as_ref().map(ToString::to_string),
            warnings: info.map_or(&[], |info| &info.warnings),
            sections: check.lines.iter().map(SectionFields::from).collect(),
        }
    }
}

impl<'a> From<&'a SectionCheck> for SectionFields<'a> {
    fn from(check: &'a SectionCheck) -> Self {
        let (result, stored_crc, calculated_crc) = match check.result {
            CheckResult::Ok => ("ok", None, None),
            CheckResult::Ignored => ("no_crc", None, None),
            CheckResult::Blank => ("blank", None, None),
            CheckResult::Wrong { stored, calculated } => {
                ("wrong_crc", Some(stored), Some(calculated))
            }
        };
        Self {
            name: &check.name,
            address: check.address,
            size: check.size,
            result,
            stored_crc,
            calculated_crc,
        }
    }
}
