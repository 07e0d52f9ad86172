//! Configuration headers of what has no simulated chip: bridges and adapters of other vendors.

use super::nodes::CONFIG_DWORDS;
use crate::lab::host::{AdapterSpec, BridgeSpec, PcieLink};

/// Where the first capability lies.
const CAPABILITY: u32 = 0x40;
/// PCI-X capability; PCI Express capability, version 2.
const PCI_X: u32 = 0x07;
const PCIE: u32 = 0x0002_0010;
/// Port types of the PCI Express capability.
const ENDPOINT: u32 = 0x0;
const ROOT_PORT: u32 = 0x4;
const BRIDGE_TO_PCI_X: u32 = 0x7;
/// Status: there is a capability list; command: memory and bus master.
const COMMAND_STATUS: u32 = 0x0010_0406;
/// Header type 1: a bridge.
const BRIDGE_HEADER: u32 = 1 << 16;
const BRIDGE_CLASS: u32 = 0x06_0400;
const ETHERNET_CLASS: u32 = 0x02_0000;
/// PCI-X command and status: 64 bit, 133 MHz capable.
const PCI_X_STATUS: u32 = 0x0003_0000;

/// Whether a header with this dword 0x0c is a bridge's.
pub(super) const fn is_bridge(dword: u32) -> bool {
    (dword >> 16) & 0x7f == 1
}

/// A bridge with its bus numbers, of which `last_bus` is the highest below it, and its link.
pub(super) fn bridge(spec: &BridgeSpec, last_bus: u8) -> Vec<u32> {
    let mut config = common(spec.id.dword(), BRIDGE_CLASS, 0);
    config[0x0c / 4] |= BRIDGE_HEADER;
    config[0x18 / 4] = u32::from_le_bytes([spec.address.bus, spec.secondary_bus, last_bus, 0]);
    match (spec.slot, spec.link) {
        (Some(slot), _) => add_pcie(&mut config, ROOT_PORT, slot, slot),
        (None, Some(link)) => add_pcie(&mut config, BRIDGE_TO_PCI_X, link, link),
        (None, None) => {}
    }
    config
}

/// An adapter in a slot that can do `slot`.
pub(super) fn adapter(spec: &AdapterSpec, slot: Option<PcieLink>) -> Vec<u32> {
    let mut config = common(spec.id.dword(), ETHERNET_CLASS, spec.revision);
    config[0x10 / 4] = 0x9000_000c;
    config[0x2c / 4] = spec.subsystem.dword();
    if let Some(link) = spec.link {
        let trained = slot.map_or(link, |slot| link.trained_with(slot));
        add_pcie(&mut config, ENDPOINT, link, trained);
    } else {
        config[0x34 / 4] = CAPABILITY;
        config[CAPABILITY as usize / 4] = PCI_X;
        config[CAPABILITY as usize / 4 + 1] = PCI_X_STATUS;
    }
    config
}

fn common(id: u32, class: u32, revision: u8) -> Vec<u32> {
    let mut config = vec![0; usize::from(CONFIG_DWORDS)];
    config[0] = id;
    config[1] = COMMAND_STATUS;
    config[0x08 / 4] = (class << 8) | u32::from(revision);
    config
}

fn add_pcie(config: &mut [u32], port: u32, max: PcieLink, trained: PcieLink) {
    let code = |link: PcieLink| u32::from(link.speed.generation()) | (u32::from(link.width) << 4);
    let at = CAPABILITY as usize / 4;
    config[0x34 / 4] = CAPABILITY;
    config[at] = PCIE | (port << 20);
    config[at + 3] = code(max);
    config[at + 4] = code(trained) << 16;
}
