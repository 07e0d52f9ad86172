//! What the name of a firmware file says (bundles 4.1, 4.2), and the name an extracted image gets
//! (bundles 1.13).
//!
//! A name is a hint for people and for choosing downloads; it never decides what a file is or what
//! gets burned.

use super::entry::Entry;
use crate::identity::Psid;
use crate::image::ImageInfo;
use crate::version::FwVersion;

/// Extensions of firmware files, the longest that fits counts.
const EXTENSIONS: &[&str] = &["bin.zip", "tar.gz", "fwpkg", "mfa2", "tgz", "bin", "mfa"];
/// Expansion ROMs a name can list.
const ROM_KINDS: &[&str] = &["FlexBoot", "UEFI", "PXE", "CLP", "NVME", "FCODE"];

/// Longest name that is given, in bytes.
const LONGEST: usize = 200;
/// Ends every name that is given.
const BIN: &str = ".bin";

/// The name for an image that was taken out of a container and says `info` of itself:
/// `fw-ConnectX4LX-rel-14.32.1010-MCX4121A-ACA_Ax-PXE-3.6.0502.bin`. A board without part number is
/// called by its PSID.
///
/// Text from outside becomes part of the name, so letters, digits, `.`, `_`, `+` and `-` are kept,
/// everything else is `_`, and the whole has at most 200 bytes.
#[must_use]
pub fn for_image(entry: &Entry, info: Option<&ImageInfo>) -> String {
    let model = info.and_then(ImageInfo::model);
    let firmware = entry.versions.iter().find(|version| version.kind == "FW");
    let version = info
        .and_then(|info| info.version.map(|version| version.to_string()))
        .or_else(|| firmware.map(|version| version.text.clone()));
    let filled = |text: &&str| !text.is_empty();
    let board = entry.part_number.as_deref();
    let board = board.or_else(|| info.map(|info| info.part_number.as_str()).filter(filled));
    let board = board.or_else(|| entry.psid.as_ref().map(Psid::as_str));
    let mut name = format!(
        "fw-{}-rel-{}-{}",
        model.map_or("X", |model| model.name),
        version.as_deref().unwrap_or("unknown"),
        board.unwrap_or("unknown"),
    );
    for rom in info.into_iter().flat_map(|info| &info.roms) {
        name.push_str(&format!("-{}-{}", rom.kind, rom.version_text()));
    }
    let keep = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let mut name: String = name
        .chars()
        .map(|c| if keep(c) { c } else { '_' })
        .collect();
    name.truncate(LONGEST - BIN.len());
    name + BIN
}

/// The parts of a firmware file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// Device as the vendor spells it (`ConnectX6Dx`, `BlueField-3`); re-packed files have none.
    pub device: Option<String>,
    /// Version with dots, digits as in the name.
    pub version: String,
    /// Part number with board revisions (`MCX516A-CDA_Ax_Bx`).
    pub part_number: Option<String>,
    /// Expansion ROMs in the order of the name: kind and version. FlexBoot is what images call
    /// PXE; UEFI can repeat.
    pub roms: Vec<(String, String)>,
    /// Marked as signed.
    pub signed: bool,
    /// Extension in lower case, without the first dot.
    pub extension: &'static str,
    /// Board, which few names carry.
    pub psid: Option<Psid>,
}

impl FileName {
    /// Takes a file's base name apart; `None` when it is no firmware name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (stem, extension) = extension(name)?;
        let (stem, psid) = trailing_psid(stem);
        let (stem, signed) = match stem.strip_suffix(".signed") {
            Some(stem) => (stem, true),
            None => (stem, false),
        };
        let file = Self {
            device: None,
            version: String::new(),
            part_number: None,
            roms: Vec::new(),
            signed,
            extension,
            psid,
        };
        file.clone()
            .switch(stem)
            .or_else(|| file.clone().repacked(stem))
            .or_else(|| file.vendor(stem))
    }

    /// The version as numbers.
    #[must_use]
    pub fn firmware(&self) -> Option<FwVersion> {
        self.version.parse().ok()
    }

    /// `mlxsw_spectrum[N]-A.B.C`
    fn switch(self, stem: &str) -> Option<Self> {
        let (device, version) = stem.strip_prefix("mlxsw_")?.split_once('-')?;
        let generation = device.strip_prefix("spectrum")?;
        let (version, rest) = version_at(version, &['.'])?;
        let one_digit = generation.is_empty()
            || (generation.len() == 1 && generation.bytes().all(|b| b.is_ascii_digit()));
        (one_digit && rest.is_empty()).then(|| Self {
            device: Some(device.to_owned()),
            version,
            ..self
        })
    }

    /// `OPN_PSID_rel-A_B.C`, the form of re-packed collections.
    fn repacked(self, stem: &str) -> Option<Self> {
        let (board, version) = stem.rsplit_once("_rel-")?;
        let (version, rest) = version_at(version, &['_', '.'])?;
        if !rest.is_empty() {
            return None;
        }
        let mut splits = board.match_indices('_').rev();
        let (part_number, psid) = splits.find_map(|(at, _)| {
            let psid = psid(board.get(at + 1..)?)?;
            Some((board.get(..at)?, psid))
        })?;
        (!part_number.is_empty()).then(|| Self {
            version,
            part_number: Some(part_number.to_owned()),
            psid: Some(psid),
            ..self
        })
    }

    /// `fw-DEV-rel-A_B_C[-OPN][-ROM-x.y.z]*`; DEV is the shortest text that leaves a version.
    fn vendor(self, stem: &str) -> Option<Self> {
        const RELEASE: &str = "-rel-";
        let stem = stem.strip_prefix("fw-")?;
        let mut releases = stem.match_indices(RELEASE);
        let (device, version, rest) = releases.find_map(|(at, _)| {
            let device = stem.get(..at).filter(|device| !device.is_empty())?;
            let (version, rest) = version_at(stem.get(at + RELEASE.len()..)?, &['_', '.'])?;
            let rest = match rest {
                "" => "",
                rest => rest.strip_prefix('-')?,
            };
            Some((device, version, rest))
        })?;
        let (part_number, roms) = trailing_roms(rest);
        Some(Self {
            device: Some(device.to_owned()),
            version,
            part_number: (!part_number.is_empty()).then(|| part_number.to_owned()),
            roms,
            ..self
        })
    }
}

/// Stem and extension; `None` when the extension is not one of firmware.
fn extension(name: &str) -> Option<(&str, &'static str)> {
    EXTENSIONS.iter().find_map(|&extension| {
        let stem = name.len().checked_sub(extension.len() + 1)?;
        let tail = name.get(stem..)?.strip_prefix('.')?;
        let same = tail.eq_ignore_ascii_case(extension);
        same.then_some((name.get(..stem)?, extension))
    })
}

/// `-PSID` at the end is taken off.
fn trailing_psid(stem: &str) -> (&str, Option<Psid>) {
    match stem.rsplit_once('-') {
        Some((rest, tail)) if psid(tail).is_some() => (rest, psid(tail)),
        _ => (stem, None),
    }
}

/// Two or three capitals, `_` and 10 to 13 digits, or three capitals and 10 digits.
fn psid(text: &str) -> Option<Psid> {
    let capitals = text.bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = text.get(capitals..)?;
    let is_number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    let fits = match rest.strip_prefix('_') {
        Some(digits) => {
            (2..=3).contains(&capitals) && (10..=13).contains(&digits.len()) && is_number(digits)
        }
        None => capitals == 3 && rest.len() == 10 && is_number(rest),
    };
    Psid::new(text).filter(|_| fits)
}

/// Three numbers at the start of `text`, joined with dots, and what follows them.
fn version_at<'a>(text: &'a str, separators: &[char]) -> Option<(String, &'a str)> {
    let mut numbers = Vec::new();
    let mut rest = text;
    while numbers.len() < 3 {
        if !numbers.is_empty() {
            rest = rest.strip_prefix(separators)?;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return None;
        }
        numbers.push(rest.get(..digits)?);
        rest = rest.get(digits..)?;
    }
    Some((numbers.join("."), rest))
}

/// `KIND-1.2.3` pairs at the end are taken off; what is left is the part number.
fn trailing_roms(text: &str) -> (&str, Vec<(String, String)>) {
    let mut rest = text;
    let mut roms = Vec::new();
    while let Some((before, version)) = rest.rsplit_once('-') {
        let (left, kind) = before.rsplit_once('-').unwrap_or(("", before));
        let dotted = version
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        if !dotted || !ROM_KINDS.contains(&kind) {
            break;
        }
        roms.insert(0, (kind.to_owned(), version.to_owned()));
        rest = left;
    }
    (rest, roms)
}
