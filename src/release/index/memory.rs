//! Remembers the newest index seen at a place, so that an older one shown later is noticed.
//!
//! Whoever can put a file on the mirror, or stands between, could show last year's index with its
//! good signature and so keep a hole open. The serial only grows, so going back is seen.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::release::digest::{Digest, write_whole};

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    serial: u64,
    sha256: String,
}

/// An index before what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Newer, the same, or the first.
    Fine,
    /// Older than one with this serial.
    Older(u64),
    /// Another with the same serial.
    Reused,
}

/// Judges the index with this serial and digest by what `file` remembers, and remembers it when
/// it is newer. A file that cannot be read remembers nothing.
///
/// # Errors
/// The file cannot be written; the next older index would not be noticed.
pub fn judge(file: &Path, serial: u64, sha256: Digest) -> io::Result<Verdict> {
    let seen = recall(file);
    let verdict = compare(seen.as_ref(), serial, sha256);
    if verdict != Verdict::Fine || seen.is_some_and(|seen| seen.serial == serial) {
        return Ok(verdict);
    }
    let sha256 = sha256.to_string();
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    write_whole(file, &serde_json::to_vec(&Seen { serial, sha256 })?)?;
    Ok(Verdict::Fine)
}

/// Judges the index by what `file` remembers, and remembers nothing.
#[must_use]
pub fn look(file: &Path, serial: u64, sha256: Digest) -> Verdict {
    compare(recall(file).as_ref(), serial, sha256)
}

fn recall(file: &Path) -> Option<Seen> {
    let text = fs::read(file).ok()?;
    serde_json::from_slice(&text).ok()
}

fn compare(seen: Option<&Seen>, serial: u64, sha256: Digest) -> Verdict {
    match seen {
        Some(seen) if seen.serial > serial => Verdict::Older(seen.serial),
        Some(seen) if seen.serial == serial && seen.sha256 != sha256.to_string() => Verdict::Reused,
        _ => Verdict::Fine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_back_is_noticed_and_going_on_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("indexes/x.json");
        let judge = |serial, text: &str| judge(&file, serial, Digest::of(text.as_bytes())).unwrap();
        assert_eq!(judge(5, "five"), Verdict::Fine);
        assert_eq!(judge(5, "five"), Verdict::Fine);
        assert_eq!(judge(5, "another five"), Verdict::Reused);
        assert_eq!(judge(7, "seven"), Verdict::Fine);
        assert_eq!(judge(6, "six"), Verdict::Older(7));
        assert_eq!(judge(7, "seven"), Verdict::Fine);
        fs::write(&file, "broken").unwrap();
        assert_eq!(judge(1, "one"), Verdict::Fine);
    }
}
