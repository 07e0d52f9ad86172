//! The name of a backup: `PSID_version_MAC_date.bin`, the date in UTC; of a firmware image alone
//! `PSID_version_MAC_date_image.bin`.

use std::time::{SystemTime, UNIX_EPOCH};

use super::Contents;
use crate::flash::direct::Owner;

/// Backups of one card that may be made in one second.
const MOST: usize = 100;

/// The names a backup made now may have, the first that is free.
pub(super) fn all(owner: &Owner, contents: Contents) -> impl Iterator<Item = String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut name = at(owner, now.map_or(0, |since| since.as_secs()));
    if contents == Contents::Image {
        name.push_str("_image");
    }
    (1..=MOST).map(move |number| numbered(&name, number))
}

fn numbered(name: &str, number: usize) -> String {
    match number {
        1 => format!("{name}.bin"),
        more => format!("{name}-{more}.bin"),
    }
}

/// The name of a backup made `seconds` after 1970, without its ending.
fn at(owner: &Owner, seconds: u64) -> String {
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "unknown".to_owned());
    let psid = owner.psid.as_ref().map(|psid| plain(psid.as_str()));
    format!(
        "{}_{}_{}_{}",
        or_unknown(psid),
        or_unknown(owner.version.map(|version| version.to_string())),
        or_unknown(owner.mac.map(|mac| mac.to_string())),
        stamp(seconds),
    )
}

/// A text that is safe in a file name: what a PSID may contain but a name should not becomes `-`.
fn plain(text: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.chars()
        .map(|c| if safe(c) { c } else { '-' })
        .collect()
}

/// Date and time of day, as `20261201T143000Z`.
fn stamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Year, month and day of the Gregorian calendar, `days` after 1970-01-01. Years are counted from
/// March, so that the leap day is the last of them.
const fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    // from 0000-03-01
    let days = days + 719_468;
    let era = days / DAYS_OF_400_YEARS;
    let day_of_era = days % DAYS_OF_400_YEARS;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{Mac, Psid};
    use crate::version::FwVersion;

    #[test]
    fn the_name_tells_board_version_card_and_date() {
        let owner = Owner {
            psid: Psid::new("MT_2420110034"),
            version: Some(FwVersion::new(14, 32, 1010)),
            mac: Mac::new(0x0c42_a100_0000),
            ..Owner::default()
        };
        assert_eq!(
            at(&owner, 1_796_135_400),
            "MT_2420110034_14.32.1010_0c42a1000000_20261201T143000Z"
        );
        assert_eq!(
            at(&Owner::default(), 0),
            "unknown_unknown_unknown_19700101T000000Z"
        );
    }

    #[test]
    fn the_second_backup_of_a_second_is_numbered() {
        assert_eq!(numbered("a", 1), "a.bin");
        assert_eq!(numbered("a", 2), "a-2.bin");
    }

    #[test]
    fn a_psid_never_leads_out_of_the_folder() {
        let owner = Owner {
            psid: Psid::new("../../etc/x"),
            ..Owner::default()
        };
        assert!(at(&owner, 0).starts_with("------etc-x_"));
    }

    #[test]
    fn leap_days_are_counted() {
        assert_eq!(stamp(951_782_400), "20000229T000000Z");
        assert_eq!(stamp(4_107_542_399), "21000228T235959Z");
        assert_eq!(stamp(4_107_542_400), "21000301T000000Z");
    }
}
