//! Vital product data of a card: the bytes behind the VPD capability and the kernel's `vpd` file
//! (device-access 5.2).

use serde::{Deserialize, Serialize};

/// What the VPD says. The checksum keyword (RV) is added when it is encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VpdSpec {
    /// Product description (identifier string).
    pub identifier: String,
    /// Read-only keywords in order: two characters and a text of at most 255 bytes.
    pub keywords: Vec<(String, String)>,
}

const IDENTIFIER: u8 = 0x82;
const READ_ONLY: u8 = 0x90;
const END: u8 = 0x78;

impl VpdSpec {
    /// The text of a keyword.
    #[must_use]
    pub fn keyword(&self, name: &str) -> Option<&str> {
        let (_, text) = self.keywords.iter().find(|(keyword, _)| keyword == name)?;
        Some(text)
    }

    /// The bytes, padded to whole dwords after the end tag; empty when there is nothing to say.
    /// Keywords whose name is not two characters are left out, longer texts are cut.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        if self.identifier.is_empty() && self.keywords.is_empty() {
            return Vec::new();
        }
        let mut bytes = Vec::new();
        push_large(&mut bytes, IDENTIFIER, self.identifier.as_bytes());
        let mut fields = Vec::new();
        for (name, text) in &self.keywords {
            if let &[first, second] = name.as_bytes() {
                let text = text.as_bytes();
                let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
                fields.extend_from_slice(&[first, second, length]);
                fields.extend_from_slice(&text[..usize::from(length)]);
            }
        }
        fields.extend_from_slice(b"RV\x01\0");
        push_large(&mut bytes, READ_ONLY, &fields);
        let sum = bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        if let Some(checksum) = bytes.last_mut() {
            *checksum = sum.wrapping_neg();
        }
        bytes.push(END);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }
}

/// A large resource; VPD ends at 32 KiB, so its length fits 16 bits.
fn push_large(bytes: &mut Vec<u8>, tag: u8, content: &[u8]) {
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
    bytes.push(tag);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&content[..usize::from(length)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_covers_everything_up_to_itself() {
        let vpd = VpdSpec {
            identifier: "Test card".to_owned(),
            keywords: vec![("PN".to_owned(), "MCX4121A-ACAT".to_owned())],
        };
        let bytes = vpd.encode();
        assert_eq!(&bytes[..12], b"\x82\x09\0Test card");
        let end = bytes.iter().rposition(|&byte| byte == END).unwrap();
        let sum = bytes[..end]
            .iter()
            .fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        assert_eq!(sum, 0);
        assert_eq!(bytes.len() % 4, 0);
        assert_eq!(vpd.keyword("PN"), Some("MCX4121A-ACAT"));
    }

    #[test]
    fn a_card_without_vpd_has_no_bytes() {
        assert!(VpdSpec::default().encode().is_empty());
    }
}
