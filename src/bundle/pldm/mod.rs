//! PLDM firmware packages (`.fwpkg`, DMTF DSP0267), format revisions 1 to 4 (bundles 3).
//!
//! A header says which devices get which components; the components follow it uncompressed. Every
//! length and checksum of the header is checked on opening. A board is only ever found by its
//! whole PSID: there is no first record to fall back to.

mod component;
mod fields;
mod header;
mod record;

pub use component::{Component, FW, NIC_FW};
pub use header::{Header, Released};
pub use record::Record;

use super::content::Content;
use super::entry::{ComponentVersion, Entry};
use super::error::Fault;
use super::limits;
use crate::identity::Psid;

/// An open package.
#[derive(Debug)]
pub struct Package {
    content: Content,
    header: Header,
    /// Record and component of each entry.
    offers: Vec<(usize, usize)>,
    warnings: Vec<String>,
}

impl Package {
    /// Reads the package in `content`.
    ///
    /// # Errors
    /// Every class of bundles chapter 6 that concerns PLDM.
    pub fn parse(content: Content) -> Result<Self, Fault> {
        let bytes = content.as_slice();
        let header = Header::parse(bytes)?;
        let payload = header.size..bytes.len() as u64;
        for (index, component) in header.components.iter().enumerate() {
            let end = component.offset + component.size;
            if component.offset < payload.start || end > payload.end {
                return Err(Fault::ComponentOutOfRange {
                    index,
                    offset: component.offset,
                    size: component.size,
                    available: payload,
                });
            }
        }
        let count = header.components.len();
        let mut offers = Vec::new();
        for (number, record) in header.records.iter().enumerate() {
            if let Some(&index) = record.components.iter().find(|&&index| index >= count) {
                return Err(Fault::ComponentIndexOutOfRange {
                    owner: format!("record {number}"),
                    index: index as u64,
                    count: count as u64,
                });
            }
            limits::ENTRIES.check((offers.len() + record.components.len()) as u64)?;
            let components = record.components.iter();
            offers.extend(components.map(|&component| (number, component)));
        }
        Ok(Self {
            offers,
            warnings: overlaps(&header.components),
            header,
            content,
        })
    }

    /// The header with records and components.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Oddities that do not make the package unusable.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Number of the component with `identifier` for a board (bundles 3.7): records in order,
    /// their components in order. [`FW`] and [`NIC_FW`] stand for each other.
    ///
    /// # Errors
    /// [`Fault::PsidNotFound`], [`Fault::ComponentNotFound`].
    pub fn find(&self, psid: &Psid, identifier: u16) -> Result<usize, Fault> {
        let records = &self.header.records;
        let mut of_board = records
            .iter()
            .filter(|record| record.psid.as_ref() == Some(psid))
            .peekable();
        if of_board.peek().is_none() {
            let psids = records.iter().filter_map(|record| record.psid.as_ref());
            return Err(Fault::PsidNotFound {
                psid: psid.to_string(),
                present: psids.map(ToString::to_string).collect(),
            });
        }
        let numbers: Vec<usize> = of_board
            .flat_map(|record| record.components.iter().copied())
            .collect();
        let component = |&number: &usize| self.header.components.get(number);
        numbers
            .iter()
            .copied()
            .find(|number| component(number).is_some_and(|c| c.answers(identifier)))
            .ok_or_else(|| Fault::ComponentNotFound {
                psid: psid.to_string(),
                identifier,
                present: numbers
                    .iter()
                    .filter_map(component)
                    .map(Component::label)
                    .collect(),
            })
    }

    /// The bytes of a component, not copied.
    ///
    /// # Errors
    /// [`Fault::EntryNotFound`].
    pub fn component(&self, number: usize) -> Result<Content, Fault> {
        let not_found = || Fault::EntryNotFound {
            index: number,
            count: self.header.components.len(),
        };
        let component = self.header.components.get(number).ok_or_else(not_found)?;
        self.content
            .part(component.offset, component.size)
            .ok_or_else(not_found)
    }

    /// A copy of the bytes of a component.
    ///
    /// # Errors
    /// [`Fault::EntryNotFound`]; [`Fault::LimitExceeded`] for firmware above [`limits::IMAGE`].
    /// Other components (a BFB) may be larger.
    pub fn read(&self, number: usize) -> Result<Vec<u8>, Fault> {
        let content = self.component(number)?;
        let is_firmware = |component: &Component| component.is_firmware();
        if self.header.components.get(number).is_some_and(is_firmware) {
            limits::IMAGE.check(content.as_slice().len() as u64)?;
        }
        Ok(content.as_slice().to_vec())
    }

    /// Record and component number of every entry, in the order of [`Package::entries`].
    pub fn offers(&self) -> impl Iterator<Item = (&Record, usize)> {
        (0..self.offers.len()).filter_map(|index| self.offer(index))
    }

    /// Record and component number of one entry.
    #[must_use]
    pub fn offer(&self, index: usize) -> Option<(&Record, usize)> {
        let &(record, component) = self.offers.get(index)?;
        Some((self.header.records.get(record)?, component))
    }

    /// One entry for each record and component that applies to it. `Entry::index` is its
    /// position. Versions are the package's texts; for firmware the image tells (bundles 3.7).
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.offers()
            .filter_map(|(record, number)| Some((record, self.header.components.get(number)?)))
            .enumerate()
            .map(|(index, (record, component))| entry(index, record, component))
            .collect()
    }
}

fn entry(index: usize, record: &Record, component: &Component) -> Entry {
    let is_firmware = component.is_firmware();
    let version = ComponentVersion {
        kind: if is_firmware {
            "FW".to_owned()
        } else {
            component.label()
        },
        text: component.version.clone(),
        firmware: component.version.parse().ok().filter(|_| is_firmware),
        trusted: false,
    };
    Entry {
        index,
        psid: record.psid.clone(),
        versions: if component.version.is_empty() {
            Vec::new()
        } else {
            vec![version]
        },
        size: Some(component.size),
        other: (!is_firmware).then(|| component.label()),
        ..Entry::default()
    }
}

/// A warning for each component that starts before the one in front of it ends.
fn overlaps(components: &[Component]) -> Vec<String> {
    let mut in_order: Vec<(usize, &Component)> = components.iter().enumerate().collect();
    in_order.sort_by_key(|(_, component)| component.offset);
    let neighbours = in_order.windows(2).filter_map(|pair| match pair {
        [(first, a), (second, b)] if b.offset < a.offset + a.size => Some((first, second)),
        _ => None,
    });
    neighbours
        .map(|(first, second)| format!("components {first} and {second} overlap"))
        .collect()
}
