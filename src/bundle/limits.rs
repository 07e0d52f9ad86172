//! Every limit on what a container may ask of this process, in one place (bundles 5.5).
//!
//! A size that comes from a file is compared with its limit before anything is allocated or
//! skipped for it; the error says which limit, what was found and what is allowed.

use super::error::Fault;

/// One limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// What is limited, with its unit, as the error names it.
    pub what: &'static str,
    /// The most that is allowed.
    pub allowed: u64,
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A file that is opened at all, in bytes.
pub const FILE: Limit = limit("size of a file in bytes", 16 * GIB);
/// What comes through a pipe and has to be kept on disk meanwhile, in bytes.
pub const STREAM: Limit = limit("size of standard input in bytes", 4 * GIB);
/// MFA v1: the inflated MAP section, in bytes.
pub const PLAIN_MAP: Limit = limit("inflated MAP section in bytes", 16 * MIB);
/// MFA v1: the inflated TOC section, in bytes.
pub const PLAIN_TOC: Limit = limit("inflated TOC section in bytes", 16 * MIB);
/// MFA v1: boards in one archive.
pub const MAP_ENTRIES: Limit = limit("boards in the MAP section", 65_536);
/// MFA v1: one metadata value that is shown, in bytes; longer values are cut.
pub const METADATA_VALUE: Limit = limit("one metadata value in bytes", 4096);
/// MFA2: everything before the components block, in bytes.
pub const DESCRIPTORS: Limit = limit("descriptor area in bytes", 16 * MIB);
/// Images of one container. The format lets a few kilobytes list millions; no published file comes
/// near a thousand.
pub const ENTRIES: Limit = limit("images in one container", 65_536);
/// What is listed for all images of one MFA v1 archive, in bytes of text (a version counts as
/// [`LISTED_VERSION`]), for the same reason.
pub const LISTING: Limit = limit("list of the images of one archive in bytes", 32 * MIB);
/// What a version of the list counts, in bytes.
pub const LISTED_VERSION: u64 = 128;
/// Blocks of an XZ stream whose index is read.
pub const BLOCKS: Limit = limit("blocks of an XZ stream", 1 << 20);
/// One image, component or archive member, in bytes.
pub const IMAGE: Limit = limit("size of one image in bytes", 256 * MIB);
/// A bare image or raw dump of a flash, in bytes: twice the largest flash there is.
pub const BARE: Limit = limit("size of a bare image in bytes", 128 * MIB);
/// Inflated bytes that belong to no image of the container. Published packages have none; a
/// bomb is made of them.
pub const IDLE: Limit = limit("inflated bytes that belong to no image", 256 * MIB);
/// Inflated members of a zip archive of this size, in bytes; see [`members`].
pub const INFLATED_MEMBERS: &str = "inflated members of an archive of this size in bytes";
/// Plain bytes inflated to reach an image, or the whole inflated block, in bytes.
pub const PLAIN: Limit = limit("inflated bytes", 64 * GIB);
/// Dictionary of an XZ stream, in bytes.
pub const DICTIONARY: Limit = limit("XZ dictionary in bytes", 128 * MIB);
/// Members of a zip archive.
pub const MEMBERS: Limit = limit("members of a zip archive", 1024);
/// Files of one folder (and its subfolders, when they are read).
pub const FOLDER: Limit = limit("entries of a folder", 10_000);

/// What all firmware members of a zip archive of `stored` bytes may inflate to: one image whatever
/// it is packed to, and more only in proportion. Real images shrink to a third or, where most of
/// them is blank, to a hundredth; bombs to a thousandth, or they name the same bytes many times.
#[must_use]
pub const fn members(stored: u64) -> Limit {
    let in_proportion = stored.saturating_mul(200);
    let allowed = if in_proportion > IMAGE.allowed {
        in_proportion
    } else {
        IMAGE.allowed
    };
    limit(INFLATED_MEMBERS, allowed)
}

/// The bytes of a block of `plain` bytes that no part of it covers are within [`IDLE`]. `parts`
/// are starts and ends in any order.
///
/// # Errors
/// [`Fault::LimitExceeded`].
pub fn idle(plain: u64, parts: impl Iterator<Item = (u64, u64)>) -> Result<(), Fault> {
    let mut parts: Vec<(u64, u64)> = parts.collect();
    parts.sort_unstable();
    let (mut idle, mut covered) = (0, 0);
    for (start, end) in parts {
        idle += start.min(plain).saturating_sub(covered);
        covered = covered.max(end.min(plain));
    }
    IDLE.check(idle + (plain - covered))?;
    Ok(())
}

const fn limit(what: &'static str, allowed: u64) -> Limit {
    Limit { what, allowed }
}

impl Limit {
    /// `found`, if it is within the limit.
    ///
    /// # Errors
    /// [`Fault::LimitExceeded`] with the limit, what was found and what is allowed.
    pub const fn check(self, found: u64) -> Result<u64, Fault> {
        if found <= self.allowed {
            Ok(found)
        } else {
            Err(Fault::LimitExceeded { limit: self, found })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exceeded_limit_names_the_limit_the_value_and_what_is_allowed() {
        assert!(IMAGE.check(256 << 20).is_ok());
        let fault = IMAGE.check((256 << 20) + 1).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "size of one image in bytes is 268435457, at most 268435456 is allowed"
        );
    }

    #[test]
    fn what_no_part_covers_counts_once_wherever_it_is() {
        let room = IDLE.allowed;
        assert!(idle(room, std::iter::empty()).is_ok());
        assert!(idle(room + 1, std::iter::empty()).is_err());
        let parts = [(500, 600), (0, 100), (50, 200), (0, 10)];
        assert!(idle(room + 300, parts.into_iter()).is_ok());
        assert!(idle(room + 301, parts.into_iter()).is_err());
        let outside = [(room + 10, u64::MAX)];
        assert!(idle(room, outside.into_iter()).is_ok());
    }
}
