//! What firmware does not say itself: release notes, the version to have before, the line it
//! belongs to. Kept beside the file in `FILE.release.toml`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Problem, examine};
use crate::release::digest::write_whole;
use crate::release::index::document::Row;
use crate::release::name::FilePath;
use crate::version::FwVersion;

/// What is added to a file's name.
pub const SUFFIX: &str = ".release.toml";

/// Facts about all images of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extra {
    /// Release notes: text, or where to read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Version a card must have before it can take this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<String>,
    /// Release line, where the first two numbers of the version do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl Extra {
    /// Where it is kept for `file`.
    #[must_use]
    pub fn beside(file: &Path) -> PathBuf {
        let mut name = file.as_os_str().to_owned();
        name.push(SUFFIX);
        PathBuf::from(name)
    }

    /// Keeps it beside `file`, if there is anything to keep and nothing is kept yet: what is there
    /// may be somebody's own words.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep(&self, file: &Path) -> io::Result<()> {
        if *self == Self::default() || Self::beside(file).exists() {
            return Ok(());
        }
        self.write(file)
    }

    /// Writes it beside `file`.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        write_whole(&Self::beside(file), text.as_bytes())
    }

    fn read(file: &Path) -> Result<Self, String> {
        let text = match fs::read_to_string(Self::beside(file)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error.to_string()),
        };
        toml::from_str(&text).map_err(|error| error.message().to_owned())
    }
}

/// Adds what is kept beside a file to its rows. When that makes no sense the file is not offered:
/// the version to have before may be what it was about.
pub fn apply(
    folder: &Path,
    name: &FilePath,
    mut rows: Vec<Row>,
    problems: &mut Vec<Problem>,
) -> Option<Vec<Row>> {
    let read = || -> Result<(Extra, Option<FwVersion>), String> {
        let extra = Extra::read(&name.below(folder))?;
        let minimum = extra.minimum.as_deref().map(str::parse).transpose();
        let minimum = minimum.map_err(|error: crate::version::NotAVersion| error.to_string())?;
        Ok((extra, minimum))
    };
    let (extra, minimum) = match read() {
        Ok(read) => read,
        Err(reason) => {
            problems.push(Problem {
                file: format!("{name}{SUFFIX}"),
                reason,
            });
            return None;
        }
    };
    for row in &mut rows {
        let line = row
            .firmware()
            .map(|version| format!("{}.{}", version.major, version.minor));
        row.branch = extra.branch.clone().or(line);
        row.minimum = minimum;
        row.notes = extra.notes.as_deref().and_then(examine::text);
    }
    Some(rows)
}
