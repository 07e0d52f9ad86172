//! The version TLV: a version and a date, both of which generators got wrong (bundles 2.7).

use std::fmt;

use super::super::mfa::is_switch;
use crate::bytes::be16;
use crate::version::{Date, FwVersion};

/// Size of the payload.
pub const LENGTH: usize = 12;

/// A year from here on is BCD, below it is binary.
const FIRST_BCD_YEAR: u16 = 0x1900;

/// What a version TLV says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The numbers as stored; the second has 8 bits only.
    pub version: FwVersion,
    /// The date, if it is one in either of the two encodings.
    pub date: Option<Date>,
    /// Hour, minute, second as stored: binary whatever the date is.
    pub time: (u8, u8, u8),
}

impl Stamp {
    /// Takes a version TLV's payload apart; `None` unless it has [`LENGTH`] bytes.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = payload.try_into().ok()?;
        let [
            major,
            minor,
            _,
            _,
            _,
            _,
            month,
            day,
            hour,
            minute,
            second,
            _,
        ] = *bytes;
        let year = be16(bytes, 4)?;
        Some(Self {
            version: FwVersion::new(u16::from(major), u16::from(minor), be16(bytes, 2)?),
            date: date(year, month, day),
            time: (hour, minute, second),
        })
    }

    /// Whether the numbers can be what the image says. Old generators exchanged minor and
    /// sub-minor and cut both to 8 bits, so a sub-minor above 255 proves a newer one; newer ones
    /// cut the minor, which only switch firmware has above 255.
    #[must_use]
    pub const fn version_is_exact(&self) -> bool {
        self.version.subminor > 0xff && !is_switch(self.version.major)
    }
}

/// BCD with months from 1, or binary with months from 0.
fn date(year: u16, month: u8, day: u8) -> Option<Date> {
    if year >= FIRST_BCD_YEAR {
        return Date::from_bcd(year, month, day);
    }
    let month = month.checked_add(1)?;
    (year != 0 && month <= 12 && (1..=31).contains(&day)).then_some(Date { year, month, day })
}

impl fmt::Display for Stamp {
    /// `2024-01-15 10:20:30`, or `no date`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second) = self.time;
        match self.date {
            Some(date) => write!(f, "{date} {hour:02}:{minute:02}:{second:02}"),
            None => f.write_str("no date"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_bcd_or_binary_with_months_from_zero() {
        let bcd = Stamp::parse(b"\x0d\x62\x00\xd0\x20\x17\x05\x11\0\0\0\0").unwrap();
        assert_eq!(bcd.date.unwrap().to_string(), "2017-05-11");
        let binary = Stamp::parse(b"\x01\x02\x00\x03\x07\xe3\x03\x16\x0a\x14\x1e\0").unwrap();
        assert_eq!(binary.to_string(), "2019-04-22 10:20:30");
    }

    #[test]
    fn numbers_that_may_be_cut_or_exchanged_are_only_hints() {
        let exact = |bytes: &[u8; 4]| {
            let stamp = [&bytes[..], &[0; 8]].concat();
            Stamp::parse(&stamp).unwrap().version_is_exact()
        };
        assert!(exact(b"\x10\x23\x0f\xbe"), "16.35.4030");
        assert!(
            !exact(b"\x0d\x62\x00\xd0"),
            "13.2000.1122 exchanged and cut"
        );
        assert!(!exact(b"\x0d\xd0\x04\x62"), "13.2000.1122 cut");
        assert!(!exact(b"\x10\xbe\x00\x23"), "16.35.4030 exchanged and cut");
    }
}
