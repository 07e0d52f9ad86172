//! Device data of FS4 and FS5 images: a table of its own, the DTOC, at the end of the flash
//! (images-fs4 6). A card keeps it through every burn; images in packages come without.

use super::ImageError;
use super::address::Space;
use super::contents::Contents;
use super::layout::{Extent, Layout};
use super::toc::{self, Gaps, Header};
use super::verify::{Depth, Medium, Walk};

/// Where the DTOC of a flash or file of `size` bytes is (images-fs4 6.1).
pub(super) fn place(size: u64, dtoc_offset: u8) -> Option<u64> {
    let end = match dtoc_offset {
        0 => size,
        parts => size / (2 * u64::from(parts)),
    };
    end.checked_sub(toc::PLACE_STEP)
        .filter(|place| place.is_multiple_of(4))
}

/// Walks the DTOC and the device data. A file without a DTOC is a reduced image, as packages
/// carry it; a damaged DTOC is a fault.
pub(super) fn visit<'a>(
    walk: &mut Walk<'a>,
    place: Option<u64>,
    layout: &mut Layout,
    contents: &mut Contents<'a>,
) -> Result<(), ImageError> {
    if walk.depth == Depth::Version {
        return Ok(());
    }
    let at = match find(walk, place) {
        Ok(Some(at)) => at,
        Ok(None) => {
            warn_of_rest(walk, layout);
            return Ok(());
        }
        Err(fault) => return walk.device_data_fault(fault),
    };
    layout.dtoc = Some(at);
    layout.reduced = false;
    let source = walk.source;
    let space = Space::contiguous(source, 0);
    let visited = toc::DTOC.visit(
        (at, Gaps::End),
        |at, len| source.read(at, len),
        |entry, at| {
            let section = entry.section(entry.address, at);
            let outcome = contents.visit(walk, space, &section);
            layout.sections.push(section);
            outcome.or_else(|fault| walk.device_data_fault(fault))
        },
    );
    visited.or_else(|fault| walk.device_data_fault(fault))?;
    walk.conclude_device_data(contents.missing_device_data(true))
}

/// The address of the DTOC; `None` when a file has nothing like one.
fn find(walk: &mut Walk<'_>, place: Option<u64>) -> Result<Option<u64>, ImageError> {
    let missing = |place: String| ImageError::NoToc { toc: "DTOC", place };
    let Some(at) = place else {
        return match walk.medium {
            Medium::Flash => Err(missing("the end".to_owned())),
            Medium::File | Medium::Package => Ok(None),
        };
    };
    let bytes = walk
        .source
        .read(at, toc::RECORD)
        .map_err(|source| ImageError::read("DTOC header", source))?;
    match toc::DTOC.header(&bytes) {
        Header::Valid { stored } | Header::WrongCrc { stored } => {
            let covered = bytes.get(..0x1c).unwrap_or_default();
            let extent = Extent::new(at, toc::RECORD);
            walk.demand(toc::DTOC.header_name, extent, covered, stored)?;
            Ok(Some(at))
        }
        Header::Absent if walk.medium != Medium::Flash => Ok(None),
        Header::Absent | Header::Damaged => Err(missing(format!("{at:#x}"))),
    }
}

/// A reduced image ends where it ends, give or take padding. More behind it was device data.
fn warn_of_rest(walk: &mut Walk<'_>, layout: &Layout) {
    let end = layout.physical_end();
    let rest = walk.source.size().saturating_sub(end);
    let padding = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0xff || byte == 0);
    if walk
        .source
        .read(end, rest)
        .is_ok_and(|rest| !padding(&rest))
    {
        walk.warnings.push(format!(
            "no device data table, although {rest:#x} bytes follow the image: the file may be cut off"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dtoc_is_at_the_end_or_at_a_fraction() {
        assert_eq!(place(0x100_0000, 0), Some(0xff_f000));
        assert_eq!(place(0x2_0000, 1), Some(0xf000));
        assert_eq!(place(0x800, 0), None);
        assert_eq!(place(0x1_0002, 0), None);
    }
}
