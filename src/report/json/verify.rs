//! Checks of bundles and images in JSON.

use std::io::{self, Write};

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
    /// What is wrong with the container.
    pub problem: Option<Problem>,
    /// Its images, each with the board the container files it under.
    pub images: Vec<(Option<String>, Verification)>,
}

impl VerifiedFile {
    /// Whether every check passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.problem.is_none() && self.images.iter().all(|(_, check)| check.passed())
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
        .filter_map(|file| file.problem.clone())
        .collect();
    write(out, "cxfw.verify/1", body, &problems)
}

impl<'a> From<&'a VerifiedFile> for FileFields<'a> {
    fn from(file: &'a VerifiedFile) -> Self {
        Self {
            file: &file.file,
            kind: file.kind.as_deref(),
            ok: file.passed(),
            error: file.problem.as_ref(),
            images: file
                .images
                .iter()
                .map(|(psid, check)| ImageFields::new(psid.as_deref(), check))
                .collect(),
        }
    }
}

impl<'a> ImageFields<'a> {
    fn new(filed: Option<&str>, check: &'a Verification) -> Self {
        let info = check.info.as_ref();
        let own = || info.and_then(|info| info.psid.as_ref().map(ToString::to_string));
        Self {
            psid: filed.map(str::to_owned).or_else(own),
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
