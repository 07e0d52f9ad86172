//! Names of files as an index or a server gives them: never a way out of the folder.

use std::fmt;
use std::path::{Path, PathBuf};

/// A relative path of plain parts, `/` between them: no `..`, nothing hidden, nothing that is
/// special to a shell's or a browser's idea of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

/// A name that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("file name `{text}` refused: {reason}")]
pub struct BadName {
    /// The name, printable.
    pub text: String,
    /// What is wrong.
    pub reason: &'static str,
}

/// Longest part, in bytes, as file systems have it.
const PART: usize = 255;
/// Longest path, in bytes.
const PATH: usize = 1024;

impl FilePath {
    /// The path `text`, if it is one.
    ///
    /// # Errors
    /// [`BadName`] with the reason.
    pub fn new(text: &str) -> Result<Self, BadName> {
        match objection(text) {
            None => Ok(Self(text.to_owned())),
            Some(reason) => Err(BadName {
                text: super::http::printable(text),
                reason,
            }),
        }
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part: the file's own name.
    #[must_use]
    pub fn base(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The file below `folder`.
    #[must_use]
    pub fn below(&self, folder: &Path) -> PathBuf {
        folder.join(&self.0)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn objection(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.len() > PATH {
        return Some("it is too long");
    }
    if text.chars().any(|c| c.is_control() || c == '\\') {
        return Some("it has a control character or a backslash");
    }
    text.split('/').find_map(|part| match part {
        "" => Some("it is absolute or has an empty part"),
        "." | ".." => Some("it leaves its folder"),
        part if part.starts_with('.') => Some("it is hidden"),
        part if part.len() > PART => Some("a part is too long"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../x",
            "a//b",
            "a/",
            ".hidden",
            "a/.git/x",
            "a\\b",
            "a\nb",
            "a\0b",
            "./a",
        ] {
            assert!(FilePath::new(bad).is_err(), "{bad:?}");
        }
        assert!(FilePath::new(&"a".repeat(256)).is_err());
        let name = FilePath::new("cx5/fw-ConnectX5 (1).bin").unwrap();
        assert_eq!(name.base(), "fw-ConnectX5 (1).bin");
        assert_eq!(
            name.below(Path::new("/d")),
            Path::new("/d/cx5/fw-ConnectX5 (1).bin")
        );
    }
}
