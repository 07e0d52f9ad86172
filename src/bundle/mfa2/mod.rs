//! MFA2 packages: descriptors that can be listed at once, and one block with all images
//! (bundles 2).
//!
//! Opening verifies both SHA-256 digests and reads the descriptors; the block stays compressed.
//! Reading an image inflates the block once from start to end with no more memory than the image
//! and the dictionary.
//!
//! The versions of the descriptors are hints ([`Stamp::version_is_exact`]); the images know.

mod block;
mod descriptors;
mod stamp;
mod tlv;

pub use descriptors::{Component, Device, Header};
pub use stamp::Stamp;

use sha2::{Digest as _, Sha256};

use super::content::Content;
use super::entry::{ComponentVersion, Entry};
use super::error::Fault;
use super::limits;
use super::signature::{self, Signature};
use tlv::Reader;

/// An open package.
#[derive(Debug)]
pub struct Package {
    content: Content,
    header: Header,
    devices: Vec<Device>,
    components: Vec<Component>,
    /// Device and component of each entry.
    offers: Vec<(usize, usize)>,
    warnings: Vec<String>,
}

impl Package {
    /// Reads the package in `content`.
    ///
    /// # Errors
    /// Every class of bundles chapter 6 that concerns MFA2, and `limit_exceeded`.
    pub fn parse(content: Content) -> Result<Self, Fault> {
        let bytes = content.as_slice();
        check_fingerprint(bytes)?;
        let mut reader = Reader::new(bytes, signature::MFA2.len());
        let header = Header::parse(&reader.group()?)?;
        let descriptors = check_block(bytes, &header)?;
        check_digests(bytes, &header)?;

        let mut reader = Reader::new(descriptors, reader.offset());
        let devices: Vec<Device> = (0..usize::from(header.devices))
            .map(|index| descriptors::device(&reader.group()?, index, header.components))
            .collect::<Result<_, _>>()?;
        let components: Vec<Component> = (0..usize::from(header.components))
            .map(|index| descriptors::component(&reader.group()?, index, header.block_plain))
            .collect::<Result<_, _>>()?;
        let parts = components.iter().map(|part| (part.offset, part.end()));
        limits::idle(header.block_plain, parts)?;
        let offers = offers(&devices)?;
        let mut warnings = overlaps(&components);
        if reader.offset() < descriptors.len() {
            let extra = descriptors.len() - reader.offset();
            warnings.push(format!(
                "{extra} bytes after the last descriptor belong to nothing"
            ));
        }
        Ok(Self {
            header,
            devices,
            components,
            offers,
            warnings,
            content,
        })
    }

    /// The package descriptor.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The devices in the order of the file; a PSID may occur more than once.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The components in the order of the file.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Oddities that do not make the package unusable.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Board and component number of every entry, in the order of [`Package::entries`]: all
    /// components of the first device, then those of the second, and so on.
    pub fn offers(&self) -> impl Iterator<Item = (&Device, usize)> {
        (0..self.offers.len()).filter_map(|index| self.offer(index))
    }

    /// Board and component number of one entry.
    #[must_use]
    pub fn offer(&self, index: usize) -> Option<(&Device, usize)> {
        let &(device, component) = self.offers.get(index)?;
        Some((self.devices.get(device)?, component))
    }

    /// One entry for each device and component of it. `Entry::index` is its position.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.offers()
            .filter_map(|(device, number)| Some((device, self.components.get(number)?)))
            .enumerate()
            .map(|(index, (device, component))| Entry {
                index,
                psid: Some(device.psid.clone()),
                versions: vec![ComponentVersion {
                    kind: "FW".to_owned(),
                    text: component.stamp.version.to_string(),
                    firmware: Some(component.stamp.version),
                    trusted: component.stamp.version_is_exact(),
                }],
                size: Some(component.size),
                other: (component.identifier != 0)
                    .then(|| format!("component {:#06x}", component.identifier)),
                ..Entry::default()
            })
            .collect()
    }

    /// The bytes of a component, without its magic.
    ///
    /// # Errors
    /// [`Fault::EntryNotFound`], [`Fault::BadComponentMagic`], [`Fault::Decompression`].
    pub fn read(&self, number: usize) -> Result<Vec<u8>, Fault> {
        let component = self.components.get(number).ok_or(Fault::EntryNotFound {
            index: number,
            count: self.components.len(),
        })?;
        let mut bytes = Vec::new();
        self.walk(vec![(number, component)], |_, component| bytes = component)?;
        Ok(bytes)
    }

    /// Inflates the block once and hands every component to `visit` with its number, in the order
    /// of the block; never more than one component is held.
    ///
    /// # Errors
    /// As [`Package::read`], and [`Fault::BadComponentDescriptor`] for overlapping components.
    pub fn read_each(&self, visit: impl FnMut(usize, Vec<u8>)) -> Result<(), Fault> {
        self.walk(self.components.iter().enumerate().collect(), visit)
    }

    /// As [`Package::read_each`] for the components of entries: `visit` gets the index of the entry,
    /// and a component that belongs to several more than once.
    ///
    /// # Errors
    /// As [`Package::read_each`].
    pub fn read_each_offer(&self, mut visit: impl FnMut(usize, &[u8])) -> Result<(), Fault> {
        let mut entries = vec![Vec::new(); self.components.len()];
        for (index, &(_, component)) in self.offers.iter().enumerate() {
            if let Some(entries) = entries.get_mut(component) {
                entries.push(index);
            }
        }
        self.read_each(|component, bytes| {
            for &index in entries.get(component).into_iter().flatten() {
                visit(index, &bytes);
            }
        })
    }

    fn walk(
        &self,
        wanted: Vec<(usize, &Component)>,
        visit: impl FnMut(usize, Vec<u8>),
    ) -> Result<(), Fault> {
        let bytes = self.content.as_slice();
        let start = usize::try_from(self.header.block_offset).unwrap_or(usize::MAX);
        let size = usize::try_from(self.header.block_stored).unwrap_or(usize::MAX);
        let stored = bytes.get(start..).and_then(|rest| rest.get(..size));
        block::walk(
            stored.unwrap_or_default(),
            self.header.block_plain,
            self.content.meter(),
            wanted,
            visit,
        )
    }
}

/// Device and component of each entry, within [`limits::ENTRIES`].
fn offers(devices: &[Device]) -> Result<Vec<(usize, usize)>, Fault> {
    let mut offers = Vec::new();
    for (number, device) in devices.iter().enumerate() {
        limits::ENTRIES.check((offers.len() + device.components.len()) as u64)?;
        let components = device.components.iter();
        offers.extend(components.map(|&component| (number, component)));
    }
    Ok(offers)
}

fn check_fingerprint(bytes: &[u8]) -> Result<(), Fault> {
    if bytes.starts_with(signature::MFA2) {
        return Ok(());
    }
    if !bytes.is_empty() && signature::MFA2.starts_with(bytes) {
        return Err(Fault::Truncated {
            structure: "MFA2 fingerprint",
            offset: 0,
            wanted: signature::MFA2.len() as u64,
            end: bytes.len() as u64,
        });
    }
    Err(Fault::NotAnMfa2 {
        found: Signature::of(bytes).to_string(),
    })
}

/// The block lies inside the file; returns everything before it.
fn check_block<'a>(bytes: &'a [u8], header: &Header) -> Result<&'a [u8], Fault> {
    let end = bytes.len() as u64;
    let descriptors = usize::try_from(header.block_offset)
        .ok()
        .and_then(|offset| bytes.get(..offset))
        .filter(|_| header.block_offset + header.block_stored <= end);
    descriptors.ok_or(Fault::Truncated {
        structure: "components block",
        offset: header.block_offset,
        wanted: header.block_stored,
        end,
    })
}

/// Both digests cover the file with the digests themselves set to zero (bundles 2.10); the one
/// over the descriptors is a prefix of the other.
fn check_digests(bytes: &[u8], header: &Header) -> Result<(), Fault> {
    let span = |from: u64, to: u64| {
        let from = usize::try_from(from).ok()?;
        bytes.get(from..usize::try_from(to).ok()?)
    };
    let mut hash = Sha256::new();
    let mut from = 0;
    for digest in [&header.whole, &header.descriptors] {
        hash.update(span(from, digest.offset).unwrap_or_default());
        hash.update([0; 32]);
        from = digest.offset + digest.value.len() as u64;
    }
    hash.update(span(from, header.block_offset).unwrap_or_default());
    let descriptors = hash.clone().finalize();
    if descriptors[..] != header.descriptors.value {
        return Err(Fault::DigestMismatch {
            which: "descriptors",
        });
    }
    let end = header.block_offset + header.block_stored;
    hash.update(span(header.block_offset, end).unwrap_or_default());
    if hash.finalize()[..] != header.whole.value {
        return Err(Fault::DigestMismatch {
            which: "whole-file",
        });
    }
    Ok(())
}

/// A warning for each component that starts before the one in front of it ends.
fn overlaps(components: &[Component]) -> Vec<String> {
    let mut in_order: Vec<(usize, &Component)> = components.iter().enumerate().collect();
    in_order.sort_by_key(|(_, component)| component.offset);
    let neighbours = in_order.windows(2).filter_map(|pair| match pair {
        [(first, a), (second, b)] if b.offset < a.end() => Some((first, second)),
        _ => None,
    });
    neighbours
        .map(|(first, second)| format!("components {first} and {second} overlap"))
        .collect()
}
