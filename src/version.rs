//! Firmware versions, their printed form and their order; dates.
//!
//! A firmware version is three numbers. Text follows flint and mlxup (`14.32.1010`, and
//! `10.0100.0022` when the second number has three digits); the order follows the vendor's tools,
//! which put the three numbering generations of the past before the numbers.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A firmware version `major.minor.subminor`.
///
/// Order: numbering generation first (see [`FwVersion::generation`]), then the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FwVersion {
    /// First number; tells the chip family (14 is ConnectX-4 Lx).
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number.
    pub subminor: u16,
}

impl FwVersion {
    /// The version of these three numbers.
    #[must_use]
    pub const fn new(major: u16, minor: u16, subminor: u16) -> Self {
        Self {
            major,
            minor,
            subminor,
        }
    }

    /// All three numbers zero: what chips and images say when they have no version.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.major == 0 && self.minor == 0 && self.subminor == 0
    }

    /// Numbering generation: 1 when the minor has three digits; 0 for the oldest Connect-IB
    /// (major 10, minor up to 10) and Switch-IB (major 11, minor up to 1) numbers; 2 otherwise.
    /// A higher generation is newer whatever the numbers say (mstflint, version comparison).
    #[must_use]
    pub const fn generation(self) -> u8 {
        if self.minor >= 100 {
            1
        } else if (self.major == 10 && self.minor <= 10) || (self.major == 11 && self.minor <= 1) {
            0
        } else {
            2
        }
    }

    const fn key(self) -> (u8, u16, u16, u16) {
        (self.generation(), self.major, self.minor, self.subminor)
    }
}

impl Ord for FwVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for FwVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for FwVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.minor >= 100 {
            format!("{}.{:04}.{:04}", self.major, self.minor, self.subminor)
        } else {
            format!("{}.{}.{:04}", self.major, self.minor, self.subminor)
        };
        f.pad(&text)
    }
}

/// A text that is no firmware version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a firmware version (three numbers, such as 14.32.1010)")]
pub struct NotAVersion(pub String);

impl FromStr for FwVersion {
    type Err = NotAVersion;

    /// Three decimal numbers with dots or underscores between them (`14.32.1010`, `14_32_1010`).
    /// Placeholders and suffixes (`xx.32.2004`, `16.32.0566-1`) are refused.
    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let refuse = || NotAVersion(text.to_owned());
        let separator = if text.contains('.') { '.' } else { '_' };
        let mut numbers = [0u16; 3];
        let mut parts = text.split(separator);
        for number in &mut numbers {
            let part = parts.next().ok_or_else(refuse)?;
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(refuse());
            }
            *number = part.parse().map_err(|_| refuse())?;
        }
        match parts.next() {
            None => Ok(Self::new(numbers[0], numbers[1], numbers[2])),
            Some(_) => Err(refuse()),
        }
    }
}

/// A calendar date as images and registers store it (BCD on the wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// Four-digit year.
    pub year: u16,
    /// 1 to 12 in honest data; shown as stored.
    pub month: u8,
    /// 1 to 31 in honest data; shown as stored.
    pub day: u8,
}

impl Date {
    /// From BCD fields: `year` four digits, `month` and `day` two. `None` when a nibble is no
    /// digit or all are zero, so that a broken date is never shown as a date.
    #[must_use]
    pub fn from_bcd(year: u16, month: u8, day: u8) -> Option<Self> {
        let year = bcd(u32::from(year))?;
        let month = bcd(u32::from(month))?;
        let day = bcd(u32::from(day))?;
        if year == 0 && month == 0 && day == 0 {
            return None;
        }
        Some(Self {
            year: u16::try_from(year).ok()?,
            month: u8::try_from(month).ok()?,
            day: u8::try_from(day).ok()?,
        })
    }

    /// The BCD dword `year[31:16] month[15:8] day[7:0]` that images store.
    #[must_use]
    pub fn to_bcd(self) -> u32 {
        let bcd2 = |n: u32| ((n / 10) << 4) | (n % 10);
        let year = u32::from(self.year);
        (bcd2(year / 100) << 24)
            | (bcd2(year % 100) << 16)
            | (bcd2(u32::from(self.month)) << 8)
            | bcd2(u32::from(self.day))
    }
}

impl fmt::Display for Date {
    /// ISO 8601: `2021-12-06`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// A text that is no date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a date (such as 2021-12-06)")]
pub struct NotADate(pub String);

impl FromStr for Date {
    type Err = NotADate;

    /// ISO 8601: `2021-12-06`. Day and month are taken as they are.
    fn from_str(text: &str) -> Result<Self, NotADate> {
        let number = |part: Option<&str>, digits: usize| {
            part.filter(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|part| part.parse::<u16>().ok())
                .ok_or_else(|| NotADate(text.to_owned()))
        };
        let narrow = |value| u8::try_from(value).map_err(|_| NotADate(text.to_owned()));
        let mut parts = text.splitn(3, '-');
        Ok(Self {
            year: number(parts.next(), 4)?,
            month: narrow(number(parts.next(), 2)?)?,
            day: narrow(number(parts.next(), 2)?)?,
        })
    }
}

/// The number whose decimal digits are the nibbles of `value`, or `None` if one is above 9.
#[must_use]
pub fn bcd(value: u32) -> Option<u32> {
    let mut number = 0;
    for shift in (0..32).step_by(4).rev() {
        let digit = (value >> shift) & 0xf;
        if digit > 9 {
            return None;
        }
        number = number * 10 + digit;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> FwVersion {
        text.parse().unwrap()
    }

    #[test]
    fn printed_as_flint_prints_them() {
        assert_eq!(FwVersion::new(14, 35, 7).to_string(), "14.35.0007");
        assert_eq!(FwVersion::new(14, 100, 7).to_string(), "14.0100.0007");
        assert_eq!(FwVersion::new(14, 1000, 12345).to_string(), "14.1000.12345");
    }

    #[test]
    fn compared_by_number_not_by_text() {
        assert!(version("14.32.1010") > version("14.32.0566"));
        assert!(version("14.32.1912") > version("14.32.1908"));
        assert!(version("2.42.5000") > version("2.9.1000"));
        assert_eq!(version("14_32_1010"), version("14.32.1010"));
    }

    #[test]
    fn a_later_numbering_generation_is_newer() {
        assert!(version("10.16.1200") > version("10.100.22"));
        assert!(version("10.100.22") > version("10.10.4000"));
    }

    #[test]
    fn placeholders_and_suffixes_are_no_versions() {
        for text in [
            "xx.32.2004",
            "16.32.0566-1",
            "14.32",
            "1.2.3.4",
            "",
            "14..1",
            "99999.1.1",
        ] {
            assert!(text.parse::<FwVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn dates_come_from_bcd_and_go_back() {
        let date = Date::from_bcd(0x2021, 0x12, 0x06).unwrap();
        assert_eq!(date.to_string(), "2021-12-06");
        assert_eq!(date.to_bcd(), 0x2021_1206);
        assert_eq!(Date::from_bcd(0x2A21, 0x12, 0x06), None);
        assert_eq!(Date::from_bcd(0, 0, 0), None);
        assert_eq!("2021-12-06".parse(), Ok(date));
        for text in ["2021-12", "2021-12-06-1", "06.12.2021", "2021-+2-06", ""] {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
    }
}
