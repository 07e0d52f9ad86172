//! What names a board: PSID, MAC and GUID, as cards and images carry them.

use std::fmt;
use std::str::FromStr;

/// Parameter-set id: which board a firmware image is for. Up to 16 characters
/// (`MT_2420110034`, `LNV0000000049`, `SM_2121000001000`).
///
/// Two PSIDs are the same board only when the whole strings are equal; nothing is trimmed or
/// folded when an image is matched to a card.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Psid(String);

impl Psid {
    /// Longest PSID, in bytes, that containers have room for (MFA v1 map entry).
    pub const MAX: usize = 32;

    /// The PSID in a fixed-size field, cut at the first NUL; `None` when the field is empty, all
    /// ones (erased flash) or holds a byte that cannot be printed: such a value names no board.
    #[must_use]
    pub fn from_field(field: &[u8]) -> Option<Self> {
        let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
        let used = field.get(..end)?;
        if used.is_empty() || used.len() > Self::MAX || !used.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        Some(Self(String::from_utf8_lossy(used).into_owned()))
    }

    /// The PSID a user or a file wrote.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Self::from_field(text.as_bytes())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Who publishes firmware for this board, from the PSID's prefix; `None` for the chip
    /// vendor's own boards (`MT_`, `NVD`) and prefixes nobody told us about
    /// (mft-compat 4.8, marked there as observed use).
    #[must_use]
    pub fn brand(&self) -> Option<&'static str> {
        const BRANDS: &[(&str, &str)] = &[
            ("HPE", "HPE"),
            ("HP_", "HPE"),
            ("DEL", "Dell"),
            ("LNV", "Lenovo"),
            ("IBM", "IBM"),
            ("ORC", "Oracle"),
            ("CIS", "Cisco"),
            ("SM_", "Supermicro"),
            ("FJT", "Fujitsu"),
        ];
        BRANDS
            .iter()
            .find(|(prefix, _)| self.0.starts_with(prefix))
            .map(|&(_, brand)| brand)
    }
}

impl fmt::Display for Psid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A text that is no PSID, MAC or GUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what}")]
pub struct NotAnIdentity {
    /// What was expected, with its form.
    pub what: &'static str,
    /// The text.
    pub text: String,
}

impl FromStr for Psid {
    type Err = NotAnIdentity;

    fn from_str(text: &str) -> Result<Self, NotAnIdentity> {
        Self::new(text)
            .filter(|psid| psid.as_str() == text)
            .ok_or_else(|| NotAnIdentity {
                what: "PSID (1 to 32 printable characters, such as MT_2420110034)",
                text: text.to_owned(),
            })
    }
}

/// The number of `digits` hexadecimal digits: plain, after `0x`, or in groups of equal size
/// between colons or dashes, as labels and drivers write them.
fn hex(text: &str, digits: usize) -> Option<u64> {
    let plain = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    let plain = plain.unwrap_or(text);
    let separator = plain.chars().find(|&c| c == ':' || c == '-');
    let joined = match separator {
        Some(separator) => {
            let groups: Vec<&str> = plain.split(separator).collect();
            let size = groups.first().map_or(0, |group| group.len());
            if groups.iter().any(|group| group.len() != size) {
                return None;
            }
            groups.concat()
        }
        None => plain.to_owned(),
    };
    (joined.len() == digits && joined.bytes().all(|b| b.is_ascii_hexdigit()))
        .then(|| u64::from_str_radix(&joined, 16).ok())
        .flatten()
}

/// The address that `digits` digits of `text` are; what is no number and what is none of a card
/// are told apart.
fn address<T>(
    text: &str,
    digits: usize,
    new: impl FnOnce(u64) -> Option<T>,
    [form, placeholder]: [&'static str; 2],
) -> Result<T, NotAnIdentity> {
    let not = |what| NotAnIdentity {
        what,
        text: text.to_owned(),
    };
    let value = hex(text, digits).ok_or_else(|| not(form))?;
    new(value).ok_or_else(|| not(placeholder))
}

/// A 48-bit MAC address, printed as 12 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(u64);

impl Mac {
    /// The address in the low 48 bits of `value`; `None` for zero, all ones and anything wider:
    /// those are placeholders, not addresses.
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        if value == 0 || value >= 0xffff_ffff_ffff {
            None
        } else {
            Some(Self(value))
        }
    }

    /// The 48 bits.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:012x}", self.0))
    }
}

impl FromStr for Mac {
    type Err = NotAnIdentity;

    /// Twelve hexadecimal digits, also as `0c:42:a1:00:00:00`, `0c-42-a1-00-00-00` or with `0x`.
    fn from_str(text: &str) -> Result<Self, NotAnIdentity> {
        let what = [
            "MAC (12 hexadecimal digits, such as 0c42a1000000)",
            "MAC of any card: all zeroes and all ones mean that none is set",
        ];
        address(text, 12, Self::new, what)
    }
}

/// A 64-bit GUID, printed as 16 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(u64);

impl Guid {
    /// `None` for zero and all ones, which mean "not set".
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        if value == 0 || value == u64::MAX {
            None
        } else {
            Some(Self(value))
        }
    }

    /// The 64 bits.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:016x}", self.0))
    }
}

impl FromStr for Guid {
    type Err = NotAnIdentity;

    /// Sixteen hexadecimal digits, also in groups (`0c42:a103:00a1:0000`) or with `0x`.
    fn from_str(text: &str) -> Result<Self, NotAnIdentity> {
        let what = [
            "GUID (16 hexadecimal digits, such as 0c42a10300a10000)",
            "GUID of any card: all zeroes and all ones mean that none is set",
        ];
        address(text, 16, Self::new, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_psid_is_taken_whole_and_never_from_erased_flash() {
        assert_eq!(
            Psid::from_field(b"MT_2420110034\0\0\0").unwrap().as_str(),
            "MT_2420110034"
        );
        assert_eq!(
            Psid::from_field(b"SM_2121000001000").unwrap().as_str(),
            "SM_2121000001000"
        );
        assert_eq!(Psid::from_field(&[0xff; 16]), None);
        assert_eq!(Psid::from_field(&[0; 16]), None);
    }

    #[test]
    fn an_oem_psid_names_its_brand() {
        assert_eq!(Psid::new("HP_1380110017").unwrap().brand(), Some("HPE"));
        assert_eq!(Psid::new("MT_2420110034").unwrap().brand(), None);
    }

    #[test]
    fn placeholders_are_no_addresses() {
        assert_eq!(Mac::new(0), None);
        assert_eq!(Mac::new(0xffff_ffff_ffff), None);
        assert_eq!(
            Mac::new(0x0c42_a100_0000).unwrap().to_string(),
            "0c42a1000000"
        );
        assert_eq!(Guid::new(u64::MAX), None);
    }

    #[test]
    fn printed_identities_are_read_back_and_others_refused() {
        let mac: Mac = "0c42a1000000".parse().unwrap();
        assert_eq!(mac.to_string().parse(), Ok(mac));
        let guid: Guid = "0c42a10300a10000".parse().unwrap();
        assert_eq!(guid.to_string().parse(), Ok(guid));
        let psid: Psid = "MT_2420110034".parse().unwrap();
        assert_eq!(psid.to_string().parse(), Ok(psid));
        for text in [
            "0c:42:a1:00:00:00",
            "0C-42-A1-00-00-00",
            "0x0c42a1000000",
            "0c42:a100:0000",
        ] {
            assert_eq!(text.parse(), Ok(mac), "{text}");
        }
        for text in ["0c42:a103:00a1:0000", "0x0c42a10300a10000"] {
            assert_eq!(text.parse(), Ok(guid), "{text}");
        }
        for text in [
            "0c:42:a1:00:00",
            "0c42:a1:000000",
            "0c:42-a1:00:00:00",
            ":::",
        ] {
            assert!(text.parse::<Mac>().is_err(), "{text}");
        }
        for text in ["000000000000", "ff:ff:ff:ff:ff:ff"] {
            assert_eq!(
                text.parse::<Mac>().unwrap_err().to_string(),
                format!(
                    "`{text}` is not a MAC of any card: all zeroes and all ones mean that none is set"
                )
            );
        }
        assert!("+c42a10300a10000".parse::<Guid>().is_err());
        assert!("MT_1\0junk".parse::<Psid>().is_err());
        assert_eq!(
            "".parse::<Mac>().unwrap_err().to_string(),
            "`` is not a MAC (12 hexadecimal digits, such as 0c42a1000000)"
        );
    }
}
