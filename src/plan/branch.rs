//! A release line to stay on: the leading numbers of a firmware version.

use std::fmt;
use std::str::FromStr;

use crate::version::FwVersion;

/// The first one, two or three numbers of a version. `14.32.` keeps a card on 14.32; numbers are
/// compared, not characters, so `14.3` is no prefix of `14.32.1010`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    numbers: Vec<u16>,
}

impl Branch {
    /// Whether `version` is on this line.
    #[must_use]
    pub fn holds(&self, version: FwVersion) -> bool {
        let all = [version.major, version.minor, version.subminor];
        all.starts_with(&self.numbers)
    }

    /// Whether it is a line of the chip whose versions begin with `major`; 0: nobody knows.
    #[must_use]
    pub fn is_of(&self, major: u16) -> bool {
        major == 0 || self.numbers.first() == Some(&major)
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.numbers.iter().map(u16::to_string).collect();
        let open = if self.numbers.len() < 3 { ".*" } else { "" };
        f.pad(&format!("{}{open}", numbers.join(".")))
    }
}

/// A text that names no release line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a version prefix (one to three numbers, such as `14.32.`, `28.39.*` or `14.32.1010`)"
)]
pub struct NotABranch(pub String);

impl FromStr for Branch {
    type Err = NotABranch;

    /// Numbers with dots between them; a closing dot or `.*` changes nothing.
    fn from_str(text: &str) -> Result<Self, NotABranch> {
        let refuse = || NotABranch(text.to_owned());
        let stem = text.strip_suffix('*').unwrap_or(text);
        let numbers = stem
            .strip_suffix('.')
            .unwrap_or(stem)
            .split('.')
            .map(|part| {
                let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
                digits.then(|| part.parse().ok()).flatten()
            })
            .collect::<Option<Vec<u16>>>()
            .filter(|numbers| numbers.len() <= 3)
            .ok_or_else(refuse)?;
        Ok(Self { numbers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(branch: &str, version: &str) -> bool {
        let branch: Branch = branch.parse().unwrap();
        branch.holds(version.parse().unwrap())
    }

    #[test]
    fn a_line_is_named_with_or_without_the_closing_dot_or_star() {
        for branch in ["14.32.", "14.32.*", "14.32", "14.", "14.32.1010"] {
            assert!(holds(branch, "14.32.1010"), "{branch}");
        }
        assert!(holds("28.39.*", "28.39.5124"));
    }

    #[test]
    fn numbers_are_compared_not_characters() {
        assert!(!holds("14.3", "14.32.1010"));
        assert!(!holds("14.32.101", "14.32.1010"));
        assert!(holds("14.32.0566", "14.32.566"));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "", ".", "*", "xx.32.", "14..32", "1.2.3.4", "14.32-1", "99999.",
        ] {
            assert!(text.parse::<Branch>().is_err(), "{text}");
        }
    }
}
