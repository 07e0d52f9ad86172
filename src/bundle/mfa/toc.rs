//! The TOC section: the pieces images are made of, with their versions (bundles 1.7, 1.8).

use std::fmt;

use crate::bundle::entry::ComponentVersion;
use crate::bundle::error::Fault;
use crate::bytes::{be16, be32};
use crate::version::FwVersion;

const ENTRY: usize = 24;
/// Version fields an entry has room for.
const FIELDS: usize = 4;

/// One run of bytes inside the plain DATA section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// First byte, counted in plain bytes.
    pub offset: u64,
    /// Bytes; 0 = the entry only carries a version.
    pub size: u32,
    /// What it is.
    pub kind: PieceKind,
    /// The version fields that are in use.
    pub version: Vec<u16>,
}

impl Piece {
    /// Plain byte behind the last one.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.size)
    }
}

/// Sub-image type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// Contributes bytes, has no version.
    Padding,
    /// Firmware.
    Firmware,
    /// CLP expansion ROM.
    Clp,
    /// PXE (FlexBoot) expansion ROM.
    Pxe,
    /// UEFI expansion ROM.
    Uefi,
    /// FCode expansion ROM.
    Fcode,
    /// Any other number: extracted, but its version is not listed.
    Other(u16),
}

impl From<u16> for PieceKind {
    fn from(number: u16) -> Self {
        match number {
            0x0000 => Self::Padding,
            0x0001 => Self::Firmware,
            0x0101 => Self::Clp,
            0x0110 => Self::Pxe,
            0x0111 => Self::Uefi,
            0x0121 => Self::Fcode,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for PieceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Padding => "PADDING",
            Self::Firmware => "FW",
            Self::Clp => "CLP",
            Self::Pxe => "PXE",
            Self::Uefi => "UEFI",
            Self::Fcode => "FCODE",
            Self::Other(number) => return write!(f, "{number:#x}"),
        })
    }
}

/// Takes the plain TOC apart.
///
/// # Errors
/// [`Fault::BadTocSize`] unless the TOC is whole entries and none claims metadata, for which
/// there is no room (bundles 1.7).
pub fn parse(toc: &[u8]) -> Result<Vec<Piece>, Fault> {
    let bad_size = Fault::BadTocSize {
        size: toc.len() as u64,
    };
    if !toc.len().is_multiple_of(ENTRY) {
        return Err(bad_size);
    }
    toc.chunks_exact(ENTRY)
        .map(piece)
        .collect::<Option<Vec<_>>>()
        .ok_or(bad_size)
}

/// One entry; `None` when it claims metadata.
fn piece(entry: &[u8]) -> Option<Piece> {
    let fields = usize::from(*entry.get(11)?).min(FIELDS);
    let version = (0..fields)
        .map(|field| be16(entry, 12 + 2 * field))
        .collect::<Option<Vec<_>>>()?;
    if be16(entry, 22)? != 0 {
        return None;
    }
    Some(Piece {
        offset: u64::from(be16(entry, 20)?) << 32 | u64::from(be32(entry, 0)?),
        size: be32(entry, 4)?,
        kind: be16(entry, 8)?.into(),
        version,
    })
}

/// The versions of the pieces of an image as listings show them, firmware first.
#[must_use]
pub fn versions(pieces: &[&Piece], branch: Option<&str>) -> Vec<ComponentVersion> {
    let mut versions: Vec<ComponentVersion> = pieces
        .iter()
        .filter_map(|piece| version(piece, branch))
        .collect();
    versions.sort_by_key(|version| version.kind != "FW");
    versions
}

fn version(piece: &Piece, branch: Option<&str>) -> Option<ComponentVersion> {
    let listed = !matches!(piece.kind, PieceKind::Padding | PieceKind::Other(_));
    if !listed || piece.version.is_empty() {
        return None;
    }
    let is_firmware = piece.kind == PieceKind::Firmware;
    let firmware = match piece.version.as_slice() {
        &[major, minor, subminor] if is_firmware => Some(FwVersion::new(major, minor, subminor)),
        _ => None,
    };
    let branch = branch.filter(|branch| {
        let major = piece.version.first();
        is_firmware && !branch.is_empty() && major.is_some_and(|&major| is_switch(major))
    });
    Some(ComponentVersion {
        kind: piece.kind.to_string(),
        text: branch.map_or_else(|| text(piece), str::to_owned),
        firmware,
        trusted: true,
    })
}

/// Whether a firmware major number is that of a switch chip, whose branch text is printed in place
/// of the version and whose second number can be above 255 (bundles 1.8).
#[must_use]
pub const fn is_switch(major: u16) -> bool {
    matches!(
        major,
        11 | 13 | 15 | 19 | 21 | 27 | 29 | 30 | 31 | 34 | 35 | 36 | 37 | 41
    )
}

/// The printed form; field counts nobody expects are printed raw (bundles 1.8).
fn text(piece: &Piece) -> String {
    let is_firmware = piece.kind == PieceKind::Firmware;
    match *piece.version.as_slice() {
        [a, b, c] if is_firmware => FwVersion::new(a, b, c).to_string(),
        [a, b, c] => format!("{a}.{b}.{c:04}"),
        [a, b, c, d] if u32::from(c) * 100 + u32::from(d) <= 9999 => {
            let third = c + d / 100;
            if is_firmware {
                FwVersion::new(a, b, third).to_string()
            } else {
                format!("{a}.{b}.{third}.{:04}", d % 100)
            }
        }
        ref fields => fields
            .iter()
            .map(u16::to_string)
            .collect::<Vec<_>>()
            .join("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(kind: PieceKind, version: &[u16]) -> Piece {
        Piece {
            offset: 0,
            size: 0,
            kind,
            version: version.to_vec(),
        }
    }

    #[test]
    fn versions_print_as_the_vendor_tools_print_them() {
        for (kind, fields, printed) in [
            (PieceKind::Firmware, &[16, 35, 4030][..], "16.35.4030"),
            (PieceKind::Firmware, &[10, 100, 22], "10.0100.0022"),
            (PieceKind::Firmware, &[16, 35, 40, 30], "16.35.0040"),
            (PieceKind::Pxe, &[3, 7, 400], "3.7.0400"),
            (PieceKind::Pxe, &[3, 4, 20, 5], "3.4.20.0005"),
            (PieceKind::Pxe, &[3, 4, 200, 5], "3.4.200.5"),
            (PieceKind::Clp, &[8025], "8025"),
            (PieceKind::Firmware, &[16, 35], "16.35"),
        ] {
            assert_eq!(text(&piece(kind, fields)), printed);
        }
    }

    #[test]
    fn a_branch_replaces_the_version_of_switches_only() {
        let switch = piece(PieceKind::Firmware, &[13, 2000, 1122]);
        let card = piece(PieceKind::Firmware, &[22, 41, 1000]);
        let listed = versions(&[&switch], Some("branch-7"));
        assert_eq!(listed[0].text, "branch-7");
        assert_eq!(listed[0].firmware, Some(FwVersion::new(13, 2000, 1122)));
        assert_eq!(versions(&[&card], Some("branch-7"))[0].text, "22.41.1000");
    }

    #[test]
    fn firmware_is_listed_first_and_padding_not_at_all() {
        let padding = piece(PieceKind::Padding, &[1, 2, 3]);
        let rom = piece(PieceKind::Uefi, &[14, 34, 12]);
        let firmware = piece(PieceKind::Firmware, &[22, 41, 1000]);
        let kinds: Vec<String> = versions(&[&padding, &rom, &firmware], None)
            .into_iter()
            .map(|version| version.kind)
            .collect();
        assert_eq!(kinds, ["FW", "UEFI"]);
    }
}
