//! PCIe link of a function: what it runs at, what the card could do, and what holds it back.

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

/// Speed and width, as sysfs names them.
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
    /// What holds it back, if anything.
    pub limited_by: Option<Limit>,
}
