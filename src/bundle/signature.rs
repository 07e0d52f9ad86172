//! What a file is, by its first bytes and never by its name (bundles 0.1).

use std::fmt;

/// Bytes that are enough to decide.
pub const LENGTH: usize = 36;

/// What the first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    /// A bare firmware image (`MTFW`).
    Image,
    /// MFA v1 (`MFAR`).
    Mfa,
    /// MFA2.
    Mfa2,
    /// PLDM firmware package of this format revision, 1 to 4.
    Pldm(u8),
    /// Zip archive.
    Zip,
    /// ELF or PE program, which may carry an archive.
    Program,
    /// No firmware, but something people mistake for it.
    Other(Stranger),
    /// Too short to decide.
    Short,
    /// Nothing known.
    Unknown,
}

/// Files that are met where firmware is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    /// XZ stream without a container.
    Xz,
    /// gzip, most often a `.tar.gz`.
    Gzip,
    /// An HTML page saved under a firmware name: a download that met a login or error page.
    Html,
    /// An XML or JSON text.
    Text,
    /// Cable firmware (`MTCF`).
    Cable,
    /// Congestion-control component.
    CongestionControl,
    /// BlueField boot stream.
    Bfb,
    /// A file of zeros or ones: a hole, or erased flash.
    Blank,
}

/// UUIDs of PLDM packages with their format revision (bundles 0.1). Revision 4 is written in two
/// ways: the standard's, and one with two half-bytes exchanged, which public documents and the
/// packages made by them carry.
pub const PLDM_UUIDS: [([u8; 16], u8); 5] = [
    (
        *b"\xf0\x18\x87\x8c\xcb\x7d\x49\x43\x98\x00\xa0\x2f\x05\x9a\xca\x02",
        1,
    ),
    (
        *b"\x12\x44\xd2\x64\x8d\x7d\x47\x18\xa0\x30\xfc\x8a\x56\x58\x7d\x5a",
        2,
    ),
    (
        *b"\x31\x19\xce\x2f\xe8\x0a\x4a\x99\xaf\x6d\x46\xf8\xb1\x21\xf6\xbf",
        3,
    ),
    (
        *b"\x7b\x29\x1c\x99\x6d\xb6\x42\x08\x80\x1b\x02\x02\x6e\x46\x3c\x78",
        4,
    ),
    (
        *b"\x7b\x29\x1c\x99\x6d\xb6\x42\x08\x80\x1b\x02\x02\xe6\x46\x3c\x78",
        4,
    ),
];

/// First four bytes of MFA v1.
pub const MFA: &[u8] = b"MFAR";
/// First sixteen bytes of MFA2.
pub const MFA2: &[u8] = b"MLNX.MFA2.XZ.00!";

impl Signature {
    /// Decides on the first [`LENGTH`] bytes of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        if let Some(&(_, revision)) = PLDM_UUIDS.iter().find(|(uuid, _)| bytes.starts_with(uuid)) {
            return Self::Pldm(revision);
        }
        const KNOWN: &[(&[u8], Signature)] = &[
            (b"MTFW", Signature::Image),
            (MFA, Signature::Mfa),
            (MFA2, Signature::Mfa2),
            (b"PK\x03\x04", Signature::Zip),
            (b"PK\x05\x06", Signature::Zip),
            (b"\x7fELF", Signature::Program),
            (b"\xfd7zXZ\0", Signature::Other(Stranger::Xz)),
            (b"\x1f\x8b", Signature::Other(Stranger::Gzip)),
            (b"MTCF", Signature::Other(Stranger::Cable)),
            (
                b"\xcc\x00\xcc\x01",
                Signature::Other(Stranger::CongestionControl),
            ),
            (b"Bf\x02\x13", Signature::Other(Stranger::Bfb)),
            (b"MZ", Signature::Program),
        ];
        if let Some((_, signature)) = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return *signature;
        }
        let head = bytes.get(..LENGTH).unwrap_or(bytes);
        if let Some(text) = text_kind(head) {
            return Self::Other(text);
        }
        if bytes.len() < 16 {
            return Self::Short;
        }
        if head.iter().all(|&b| b == 0) || head.iter().all(|&b| b == 0xff) {
            return Self::Other(Stranger::Blank);
        }
        Self::Unknown
    }
}

/// Markup by its first printing character.
fn text_kind(head: &[u8]) -> Option<Stranger> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = head.trim_ascii_start().to_ascii_lowercase();
    if text.starts_with(b"<!doctype html")
        || text.starts_with(b"<html")
        || text.starts_with(b"<head")
    {
        Some(Stranger::Html)
    } else if text.starts_with(b"<?xml") || text.starts_with(b"{") || text.starts_with(b"#!") {
        Some(Stranger::Text)
    } else {
        None
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Image => "a bare firmware image",
            Self::Mfa => "an MFA archive",
            Self::Mfa2 => "an MFA2 package",
            Self::Pldm(_) => "a PLDM firmware package",
            Self::Zip => "a zip archive",
            Self::Program => "a program",
            Self::Other(stranger) => return stranger.fmt(f),
            Self::Short => "too short to be any firmware file",
            Self::Unknown => "of no known format",
        })
    }
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Xz => "a bare XZ stream",
            Self::Gzip => "a gzip archive, which has to be unpacked first",
            Self::Html => {
                "an HTML page, most likely what a web server answered instead of the file"
            }
            Self::Text => "a text file",
            Self::Cable => "cable firmware",
            Self::CongestionControl => "a congestion-control component",
            Self::Bfb => "a BlueField boot stream (BFB), which is installed by other means",
            Self::Blank => "filled with zeros or ones from its first byte",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides() {
        let html = b"\n <!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">";
        assert_eq!(Signature::of(html), Signature::Other(Stranger::Html));
        assert_eq!(Signature::of(b"MTFW"), Signature::Image);
        assert_eq!(Signature::of(b"MFA"), Signature::Short);
        assert_eq!(Signature::of(&PLDM_UUIDS[3].0), Signature::Pldm(4));
        assert_eq!(
            Signature::of(&[0xff; 64]),
            Signature::Other(Stranger::Blank)
        );
        assert_eq!(Signature::of(&[0x5a; 64]), Signature::Unknown);
    }
}
