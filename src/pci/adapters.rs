//! Network adapters of every vendor, and the bus each one sits on.
//!
//! Enumeration of cards leaves other vendors alone; this is for the comparison of slots that a
//! user asks for by name. Nothing is written and no driver is disturbed.

use super::inventory::{self, EnumerationError};
use super::{
    Address, Database, Function, Link, MELLANOX, SysfsConfig, capability, function, kind, names,
};
use crate::bytes::bits;
use crate::pci::ConfigSpace;
use crate::sys::{self, Roots};

/// Base class of network controllers.
const NETWORK: u32 = 0x02;

/// Capability id of PCI-X.
const PCI_X: u8 = 0x07;

/// A network function of any vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// What sysfs says about it.
    pub function: Function,
    /// Its name in the PCI ID database.
    pub name: Option<String>,
    /// What it is plugged into.
    pub bus: Bus,
}

/// What an adapter is plugged into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bus {
    /// A PCIe link.
    Pcie(Link),
    /// A PCI-X bus.
    PciX {
        /// The bridge above it, if there is one.
        bridge: Option<Address>,
        /// Clock of the bus; `None` when the bridge does not say or runs it as conventional PCI.
        mhz: Option<u32>,
    },
    /// Neither a PCIe link nor a PCI-X capability is visible. Capabilities of a PCI-X adapter are
    /// visible to root only.
    Unknown,
}

/// The network functions (class 0x02) below `roots.sysfs`, in bus order, virtual ones left out.
/// Functions that cannot be described are logged.
///
/// # Errors
/// [`EnumerationError`] when there is no list of PCI functions at all.
pub fn adapters(roots: &Roots) -> Result<Vec<Adapter>, EnumerationError> {
    let mut functions = Vec::new();
    for path in inventory::directories(roots)? {
        match function::number(&path, "class", 0xff_ffff) {
            Ok(class) if class >> 16 != NETWORK || inventory::is_virtual(&path) => continue,
            Ok(_) => {}
            Err(problem) => log::warn!("a PCI function is left out: {problem}"),
        }
        match Function::read(&path) {
            Ok(function) => functions.push(function),
            Err(problem) => log::warn!("a PCI function is left out: {problem}"),
        }
    }
    functions.sort_by_key(|function| function.address);
    let ids: Vec<(u16, u16)> = functions.iter().map(|f| (f.vendor, f.device)).collect();
    let database = Database::load(&sys::PCI_ID_FILES, &ids);
    Ok(functions
        .into_iter()
        .map(|function| Adapter {
            name: name(&function, &database),
            bus: bus(roots, &function),
            function,
        })
        .collect())
}

fn name(function: &Function, database: &Database) -> Option<String> {
    let name = if function.vendor == MELLANOX {
        names::device(function.device)
    } else {
        database.device(function.vendor, function.device)
    };
    name.map(str::to_owned)
}

fn bus(roots: &Roots, function: &Function) -> Bus {
    if let Some(link) = Link::read(function) {
        return Bus::Pcie(link);
    }
    let capability = SysfsConfig::open_read_only(roots, function.address)
        .and_then(|config| capability::find(&config, PCI_X));
    if !matches!(capability, Ok(Some(_))) {
        return Bus::Unknown;
    }
    let bridge = bridge_above(function);
    Bus::PciX {
        bridge,
        mhz: bridge.and_then(|bridge| clock(roots, bridge)),
    }
}

fn bridge_above(function: &Function) -> Option<Address> {
    let path = std::fs::canonicalize(&function.path).ok()?;
    let parent = path.parent().filter(|parent| kind::is_bridge(parent))?;
    parent.file_name()?.to_str()?.parse().ok()
}

/// Clock of the bus behind a PCI-X bridge: bits 9:6 of its secondary status, the upper half of the
/// first dword of the capability. The two upper ones only tell how often a clock carries data.
fn clock(roots: &Roots, bridge: Address) -> Option<u32> {
    let config = SysfsConfig::open_read_only(roots, bridge).ok()?;
    let at = capability::find(&config, PCI_X).ok()??;
    match bits(config.read(at).ok()?, 23, 22) {
        1 => Some(66),
        2 => Some(100),
        3 => Some(133),
        _ => None,
    }
}
