//! What of a flash is in use: what it takes to go back to what is on it now.

use crate::bytes::ByteSource;
use crate::image::Extent;

use super::error::Fault;
use super::facts::CardFacts;
use super::found::{Found, Image};
use super::{device_area, fs4};

/// Bytes of the device table.
const TABLE: u64 = 0x1000;

/// Where the images lie that can boot, each as a whole, with the device data and tables they
/// name, and where those know of none, what does; sorted, none over another. `None`: no image is good, or one is encrypted, so nobody can
/// tell what is used.
///
/// # Errors
/// [`Fault::Read`].
pub(in crate::flash) fn in_use(
    flash: &dyn ByteSource,
    card: &CardFacts,
) -> Result<Option<Vec<Extent>>, Fault> {
    let found = Found::read(flash, card, None)?;
    let Some(kept) = &found.kept else {
        return Ok(None);
    };
    let owner = found.owner().filter(|owner| owner.start() != kept.start());
    let images = || std::iter::once(kept).chain(&found.other).chain(owner);
    if images().any(|image| image.layout.encrypted) {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for image in images() {
        parts.extend(of_image(flash, card, image)?);
    }
    if found.leftover.is_some() {
        parts.push(device_area::reference(card.model.format, flash.size()));
    }
    Ok(Some(merged(parts, flash.size())))
}

fn of_image(flash: &dyn ByteSource, card: &CardFacts, image: &Image) -> Result<Vec<Extent>, Fault> {
    let layout = &image.layout;
    let head = flash.read(layout.start, layout.header.size.min(layout.size))?;
    let digests = fs4::digests_end(card, &head).unwrap_or(0);
    let device = layout.sections.iter().filter(|section| section.absolute);
    let table = layout.dtoc.map(|at| Extent::new(at, TABLE));
    Ok(layout
        .extents(0, layout.size.max(digests))
        .chain(device.map(crate::image::Section::physical_extent))
        .chain(table)
        .collect())
}

/// The same bytes in order, each once.
fn merged(mut parts: Vec<Extent>, size: u64) -> Vec<Extent> {
    parts.sort_by_key(|part| part.address);
    let mut merged: Vec<Extent> = Vec::new();
    for part in parts {
        let end = part.end().min(size);
        match merged.last_mut() {
            Some(last) if part.address <= last.end() => {
                last.size = last.size.max(end.saturating_sub(last.address));
            }
            _ if part.address < end => merged.push(Extent::new(part.address, end - part.address)),
            _ => {}
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_touch_become_one_and_none_reaches_over_the_end() {
        let part = Extent::new;
        let parts = vec![
            part(0x30, 0x20),
            part(0, 0x10),
            part(0x10, 8),
            part(0, 4),
            part(0x60, 0),
            part(0x70, 8),
        ];
        assert_eq!(merged(parts, 0x48), [part(0, 0x18), part(0x30, 0x18)]);
    }
}
