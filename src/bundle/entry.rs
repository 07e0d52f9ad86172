//! One image on offer inside a bundle, as far as the container itself tells.

use crate::identity::Psid;
use crate::version::FwVersion;

/// Version of one part of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentVersion {
    /// `FW`, `PXE`, `UEFI`, `CLP`, `FCODE` or what the container calls it.
    pub kind: String,
    /// The printed version.
    pub text: String,
    /// The numbers, where the text is a three-number firmware version.
    pub firmware: Option<FwVersion>,
    /// False when the container is known to cut or exchange the numbers, so that only the image
    /// itself can tell (bundles 2.7).
    pub trusted: bool,
}

/// One image in a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Position, to hand back to the bundle.
    pub index: usize,
    /// File this entry came from.
    pub file: std::path::PathBuf,
    /// Name of the member inside an archive, where there is one.
    pub member: Option<String>,
    /// Board.
    pub psid: Option<Psid>,
    /// Part number.
    pub part_number: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Selector tag (MFA v1); empty = none.
    pub tag: String,
    /// Versions, firmware first.
    pub versions: Vec<ComponentVersion>,
    /// Size of the image in bytes, where the container says it.
    pub size: Option<u64>,
    /// What else than adapter firmware this is, as the package calls it (`BFB`, `0x3040`); `None`
    /// for a firmware image. Such an entry can be extracted, but is never offered to a card.
    pub other: Option<String>,
}

impl Entry {
    /// Whether it shows a version that may not be the image's own.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.versions.iter().any(|version| !version.trusted)
    }

    /// The firmware version, if the container gives a trustworthy one.
    #[must_use]
    pub fn firmware(&self) -> Option<FwVersion> {
        self.versions
            .iter()
            .find(|version| version.kind == "FW" && version.trusted)
            .and_then(|version| version.firmware)
    }

    /// Whether this is the image meant for everybody where a container holds several variants for
    /// a board, told apart by a tag: the untagged one, else the one tagged `DEFAULT`, else each
    /// there is (mft-compat 2.4). `entries` are all of the bundle.
    #[must_use]
    pub fn is_for_everybody(&self, entries: &[Self]) -> bool {
        const DEFAULT: &str = "DEFAULT";
        let is_variant = |other: &&Self| {
            other.psid == self.psid
                && other.tag != self.tag
                && other.file == self.file
                && other.member == self.member
        };
        let no_variant = |tag| {
            !entries
                .iter()
                .filter(is_variant)
                .any(|other| other.tag == tag)
        };
        self.tag.is_empty() || no_variant("") && (self.tag == DEFAULT || no_variant(DEFAULT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn for_everybody(tags: &[&'static str]) -> Vec<&'static str> {
        let entry = |tag: &&str| Entry {
            psid: Psid::new("MT_1"),
            tag: (*tag).to_owned(),
            ..Entry::default()
        };
        let entries: Vec<Entry> = tags.iter().map(entry).collect();
        let pairs = tags.iter().zip(&entries);
        pairs
            .filter(|(_, entry)| entry.is_for_everybody(&entries))
            .map(|(tag, _)| *tag)
            .collect()
    }

    #[test]
    fn of_tagged_variants_the_one_for_everybody_is_meant() {
        assert_eq!(for_everybody(&["A", ""]), [""]);
        assert_eq!(for_everybody(&["A", "DEFAULT"]), ["DEFAULT"]);
        assert_eq!(for_everybody(&["A"]), ["A"]);
        assert_eq!(for_everybody(&["A", "B"]), ["A", "B"]);
    }

    #[test]
    fn images_of_other_boards_and_members_are_no_variants() {
        let tagged = Entry {
            psid: Psid::new("MT_1"),
            tag: "A".to_owned(),
            ..Entry::default()
        };
        let other_board = Entry {
            psid: Psid::new("MT_2"),
            ..Entry::default()
        };
        let other_member = Entry {
            tag: String::new(),
            member: Some("x.mfa".to_owned()),
            ..tagged.clone()
        };
        assert!(tagged.is_for_everybody(&[other_board, other_member, tagged.clone()]));
    }
}
