//! PCIe link of a function: what it runs at, what the card could do, and what holds it back.
//!
//! The other end is the port above the card in the real sysfs path. Chips with a PCIe switch
//! inside show bridges of their own on that path; the card then ends at the outermost of these.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Address, Function, MELLANOX, function, kind};

/// What limits a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The slot (or the port above) is slower or narrower than the card.
    Slot,
    /// The link runs below what both ends can do.
    Training,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Slot => "slot",
            Self::Training => "training",
        })
    }
}

/// Speed and width of the link between a card and the port above it. What sysfs does not know is
/// `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Current speed (`8.0 GT/s`).
    pub speed: Option<String>,
    /// Current width, in lanes.
    pub width: Option<u32>,
    /// Most the card can do.
    pub max_speed: Option<String>,
    /// Most lanes the card has.
    pub max_width: Option<u32>,
    /// What holds it back; `None` when nothing does, or when the port above says too little.
    pub limited_by: Option<Limit>,
}

impl Link {
    /// The link of a function; `None` when it shows none, as on conventional PCI and PCI-X.
    #[must_use]
    pub fn read(function: &Function) -> Option<Self> {
        let edge = edge(&fs::canonicalize(&function.path).unwrap_or(function.path.clone()));
        let card = End::read(&edge)?;
        let slot = port_above(&edge).and_then(|port| End::read(&port));
        Some(Self {
            limited_by: slot.and_then(|slot| card.limited_by(&slot)),
            speed: card.speed.map(text),
            width: card.width,
            max_speed: card.max_speed.map(text),
            max_width: card.max_width,
        })
    }
}

/// The directory of the outermost part of the card above `path`: the function itself, or a bridge
/// of the switch inside the chip.
fn edge(path: &Path) -> PathBuf {
    let mut edge = path.to_owned();
    while let Some(port) = port_above(&edge) {
        let own = function::id(&port, "vendor").is_ok_and(|vendor| vendor == MELLANOX);
        if !own || !kind::is_bridge(&port) {
            break;
        }
        edge = port;
    }
    edge
}

/// The directory of the port above, if the parent directory is a PCI function.
fn port_above(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    let name = parent.file_name()?.to_str()?;
    name.parse::<Address>().ok().map(|_| parent.to_owned())
}

/// One end of a link. Speeds in tenths of GT/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    speed: Option<u32>,
    width: Option<u32>,
    max_speed: Option<u32>,
    max_width: Option<u32>,
}

impl End {
    /// `None` when the function has no link attributes.
    fn read(path: &Path) -> Option<Self> {
        let end = Self {
            speed: speed(path, "current_link_speed"),
            width: width(path, "current_link_width"),
            max_speed: speed(path, "max_link_speed"),
            max_width: width(path, "max_link_width"),
        };
        let known = [end.speed, end.width, end.max_speed, end.max_width];
        known.iter().any(Option::is_some).then_some(end)
    }

    /// What holds back the link between this card and a slot.
    fn limited_by(&self, slot: &Self) -> Option<Limit> {
        let limits = [
            limit(self.speed, self.max_speed, slot.max_speed),
            limit(self.width, self.max_width, slot.max_width),
        ];
        [Limit::Training, Limit::Slot]
            .into_iter()
            .find(|limit| limits.contains(&Some(*limit)))
    }
}

/// What holds back one property of a link.
fn limit(current: Option<u32>, card: Option<u32>, slot: Option<u32>) -> Option<Limit> {
    let (current, card, slot) = (current?, card?, slot?);
    if current < card.min(slot) {
        Some(Limit::Training)
    } else {
        (slot < card).then_some(Limit::Slot)
    }
}

/// `8.0 GT/s PCIe`, on older kernels `8 GT/s`; `Unknown` when the link is down.
fn speed(path: &Path, name: &str) -> Option<u32> {
    let text = function::attribute(path, name)?;
    let (number, unit) = text.split_once(' ')?;
    if !unit.starts_with("GT/s") {
        return None;
    }
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let tenth: u32 = tenth.parse().ok().filter(|tenth| *tenth < 10)?;
    whole
        .parse::<u32>()
        .ok()?
        .checked_mul(10)?
        .checked_add(tenth)
}

/// Lanes; the kernel says 0 for a link that is down and 255 for one it cannot read.
fn width(path: &Path, name: &str) -> Option<u32> {
    let lanes = function::attribute(path, name)?.parse().ok()?;
    (1..=32).contains(&lanes).then_some(lanes)
}

fn text(tenths: u32) -> String {
    format!("{}.{} GT/s", tenths / 10, tenths % 10)
}
