//! SHA-256 of files, and the digest kept beside a file.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is no SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a SHA-256 (64 hexadecimal digits)")]
pub struct NotADigest(pub String);

impl Digest {
    /// Of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Of all that is left in `source`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_reader(source: &mut impl Read) -> io::Result<Self> {
        const CHUNK: usize = 256 << 10;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; CHUNK];
        loop {
            let count = match source.read(&mut buffer) {
                Ok(0) => return Ok(Self(hasher.finalize().into())),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(buffer.get(..count).unwrap_or_default());
        }
    }

    /// Of the file at `path`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        Self::of_reader(&mut File::open(path)?)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    /// 64 hexadecimal digits of either case.
    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let refuse = || NotADigest(text.chars().take(80).collect());
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(refuse());
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| refuse())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| refuse())?;
        }
        Ok(Self(bytes))
    }
}

/// The file beside `file` that holds its digest: `FILE.sha256`, as `sha256sum` writes and checks.
#[must_use]
pub fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".sha256");
    PathBuf::from(name)
}

/// The line of [`beside`] for a file of this name.
#[must_use]
pub fn line(digest: Digest, name: &str) -> String {
    format!("{digest}  {name}\n")
}

/// The digest in the text of such a file, for the file of this name or without a name.
#[must_use]
pub fn in_text(text: &str, name: &str) -> Option<Digest> {
    text.lines().find_map(|line| {
        let (digest, rest) = line.split_at_checked(64)?;
        let named = rest.trim_start_matches([' ', '*']).trim_end();
        (named.is_empty() || named == name)
            .then(|| digest.parse().ok())
            .flatten()
    })
}

/// The digest kept beside `file`; `None` when there is none that can be read.
#[must_use]
pub fn kept(file: &Path) -> Option<Digest> {
    let name = file.file_name()?.to_str()?;
    in_text(&text_beside(file)?, name)
}

/// The text of the file that holds the digest of `file`; `None` when there is none.
#[must_use]
pub fn text_beside(file: &Path) -> Option<String> {
    /// More than this is no digest file.
    const LIMIT: u64 = 64 << 10;
    let mut bytes = Vec::new();
    let kept = File::open(beside(file)).ok()?;
    kept.take(LIMIT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes `bytes` to `path` so that there is never half of it: under another name, forced to the
/// disk, then renamed.
///
/// # Errors
/// What the system says.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let write = || {
        let mut file = File::create(&temporary)?;
        io::Write::write_all(&mut file, bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        sync_folder(folder)
    };
    write().inspect_err(|_| {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    })
}

/// Forces a rename in `folder` to the disk. File systems without that ability are left alone.
///
/// # Errors
/// When the folder cannot be opened.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    match File::open(folder)?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_digest_is_printed_read_and_refused() {
        let digest = Digest::of(b"");
        assert_eq!(digest.to_string(), EMPTY);
        assert_eq!(EMPTY.to_uppercase().parse(), Ok(digest));
        assert!(EMPTY[1..].parse::<Digest>().is_err());
        assert!(format!("{}g", &EMPTY[1..]).parse::<Digest>().is_err());
    }

    #[test]
    fn the_line_beside_a_file_is_the_one_sha256sum_writes() {
        let digest = Digest::of(b"");
        let text = line(digest, "a b.mfa");
        assert_eq!(text, format!("{EMPTY}  a b.mfa\n"));
        assert_eq!(in_text(&text, "a b.mfa"), Some(digest));
        assert_eq!(in_text(&text, "b.mfa"), None);
        assert_eq!(in_text(&format!("{EMPTY} *b.mfa\n"), "b.mfa"), Some(digest));
        assert_eq!(in_text(EMPTY, "b.mfa"), Some(digest));
        assert_eq!(in_text("é".repeat(64).as_str(), "b.mfa"), None);
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
