//! The functions a host shows at this moment: cards as their chips answer, adapters and bridges
//! as described.

use super::header;
use crate::identity::Mac;
use crate::lab::chip::{Boot, Chip, ChipError, Running};
use crate::lab::host::{CardSpec, HostSpec, PciId, PcieLink, PortType};
use crate::lab::{LabCard, LabError};
use crate::model;
use crate::pci::{Address, ConfigError, ConfigSpace};
use crate::version::FwVersion;

/// Dwords of a `config` snapshot.
pub(super) const CONFIG_DWORDS: u16 = 64;
/// What a function that is not there answers.
const ABSENT: u32 = u32::MAX;

/// One function.
#[derive(Debug)]
pub(in crate::lab) struct Node {
    /// Where it is.
    pub address: Address,
    /// Configuration space; its ids are those of the attributes.
    pub config: Vec<u32>,
    /// VPD; empty = no `vpd` file.
    pub vpd: Vec<u8>,
    /// PCIe link; `None` on PCI-X and for root ports' upper side.
    pub link: Option<LinkState>,
    /// Driver bound to it.
    pub driver: Option<String>,
    /// Network interfaces.
    pub net: Vec<NetDevice>,
    /// RDMA device.
    pub rdma: Option<RdmaDevice>,
    /// NUMA node.
    pub numa_node: i32,
}

/// Link attributes.
#[derive(Debug, Clone, Copy)]
pub(in crate::lab) struct LinkState {
    /// As trained.
    pub current: PcieLink,
    /// As this end could.
    pub max: PcieLink,
}

/// A network interface.
#[derive(Debug)]
pub(in crate::lab) struct NetDevice {
    /// Name.
    pub name: String,
    /// Its MAC, where known.
    pub mac: Option<Mac>,
}

/// An RDMA device.
#[derive(Debug)]
pub(in crate::lab) struct RdmaDevice {
    /// Name.
    pub name: String,
    /// Running firmware.
    pub fw_ver: String,
    /// PSID.
    pub board_id: String,
    /// Chip, as the driver calls it.
    pub hca_type: String,
    /// Chip revision.
    pub revision: u8,
    /// Node GUID in groups of four digits.
    pub node_guid: String,
    /// The ports.
    pub ports: Vec<PortType>,
}

impl NetDevice {
    /// `0c:42:a1:00:00:00`
    pub(super) fn mac_text(&self) -> String {
        let value = self.mac.map_or(0, Mac::value);
        value.to_be_bytes()[2..]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .join(":")
    }
}

impl Node {
    fn dword(&self, offset: usize) -> u32 {
        self.config.get(offset / 4).copied().unwrap_or(ABSENT)
    }

    /// Vendor and device.
    pub(super) fn id(&self) -> PciId {
        PciId::from_dword(self.dword(0))
    }

    /// Subsystem; bridges have theirs elsewhere and show zeroes here.
    pub(super) fn subsystem(&self) -> PciId {
        if header::is_bridge(self.dword(0x0c)) {
            return PciId::from_dword(0);
        }
        PciId::from_dword(self.dword(0x2c))
    }

    /// Class, 24 bits.
    pub(super) fn class(&self) -> u32 {
        self.dword(0x08) >> 8
    }

    /// Revision.
    pub(super) fn revision(&self) -> u8 {
        (self.dword(0x08) & 0xff) as u8
    }

    /// Address of BAR 0, where it is memory.
    pub(super) fn bar(&self) -> Option<u64> {
        let bar = self.dword(0x10);
        let used = !header::is_bridge(self.dword(0x0c)) && bar != 0 && bar & 1 == 0;
        used.then(|| (u64::from(self.dword(0x14)) << 32) | u64::from(bar & !0xf))
    }

    /// The `config` file: little-endian dwords.
    pub(super) fn config_bytes(&self) -> Vec<u8> {
        self.config
            .iter()
            .flat_map(|dword| dword.to_le_bytes())
            .collect()
    }
}

/// Everything on the host's buses.
pub(in crate::lab) fn nodes(host: &HostSpec, cards: &[LabCard]) -> Result<Vec<Node>, LabError> {
    let mut nodes: Vec<Node> = host
        .bridges
        .iter()
        .map(|bridge| Node {
            address: bridge.address,
            config: header::bridge(bridge, host.last_bus_below(bridge)),
            vpd: Vec::new(),
            link: bridge_link(host, bridge.secondary_bus, bridge.address),
            driver: bridge.driver.clone(),
            net: Vec::new(),
            rdma: None,
            numa_node: 0,
        })
        .collect();
    nodes.extend(host.adapters.iter().map(|adapter| {
        Node {
            address: adapter.address,
            config: header::adapter(adapter, host.slot_of(adapter.address)),
            vpd: Vec::new(),
            link: adapter
                .link
                .map(|max| trained(max, host.slot_of(adapter.address))),
            driver: adapter.driver.clone(),
            net: adapter
                .net
                .iter()
                .map(|name| NetDevice {
                    name: name.clone(),
                    mac: None,
                })
                .collect(),
            rdma: None,
            numa_node: 0,
        }
    }));
    for card in cards {
        nodes.extend(card_nodes(host, card)?);
    }
    Ok(nodes)
}

fn trained(max: PcieLink, slot: Option<PcieLink>) -> LinkState {
    LinkState {
        current: slot.map_or(max, |slot| max.trained_with(slot)),
        max,
    }
}

/// Link of a bridge: of a port with a slot the slot's, trained with what sits in it; of a bridge
/// that sits in a slot itself its own.
fn bridge_link(host: &HostSpec, secondary_bus: u8, address: Address) -> Option<LinkState> {
    let bridge = host.bridge_to(address.domain, secondary_bus)?;
    if let Some(max) = bridge.link {
        return Some(trained(max, host.slot_of(address)));
    }
    let max = bridge.slot?;
    let below = |other: Address| other.domain == address.domain && other.bus == secondary_bus;
    let neighbour = host
        .cards
        .iter()
        .map(|card| (card.address, Some(card.link)))
        .chain(
            host.adapters
                .iter()
                .map(|other| (other.address, other.link)),
        )
        .chain(host.bridges.iter().map(|other| (other.address, other.link)))
        .find(|(other, _)| below(*other))
        .and_then(|(_, link)| link);
    Some(trained(max, neighbour))
}

/// The functions of a card that answer.
fn card_nodes(host: &HostSpec, card: &LabCard) -> Result<Vec<Node>, LabError> {
    let spec = &card.spec;
    let running = running(&card.chip)?;
    let mut nodes = Vec::new();
    for (index, address) in spec.addresses().enumerate() {
        let Some(function) = card.chip.function(index) else {
            continue;
        };
        let config = snapshot(&*function)?;
        if config.first() == Some(&ABSENT) {
            continue;
        }
        let mut node = Node {
            address,
            config,
            vpd: Vec::new(),
            link: Some(trained(spec.link, host.slot_of(address))),
            driver: None,
            net: Vec::new(),
            rdma: None,
            numa_node: spec.numa_node,
        };
        if let Some(running) = &running {
            bind(&mut node, spec, index, running);
        }
        nodes.push(node);
    }
    Ok(nodes)
}

/// The function's configuration space, but for the two dwords that are a gateway into the chip on
/// cards without the vendor-specific capability: reading them reaches inside (device-access 2.5).
fn snapshot(function: &dyn ConfigSpace) -> Result<Vec<u32>, ConfigError> {
    const GATEWAY: [u16; 2] = [0x58, 0x5c];
    (0..CONFIG_DWORDS)
        .map(|dword| 4 * dword)
        .map(|offset| match GATEWAY.contains(&offset) {
            true => Ok(0),
            false => function.read(offset),
        })
        .collect()
}

fn running(chip: &Chip) -> Result<Option<Running>, ChipError> {
    Ok(match chip.status()? {
        Some(Boot::Running(running)) => Some(*running),
        Some(Boot::Recovery) | None => None,
    })
}

/// What a driver adds to a function whose firmware runs, as that firmware tells it.
fn bind(node: &mut Node, spec: &CardSpec, index: usize, running: &Running) {
    let [major, minor, subminor] = running.version;
    let Some(model) = model::by_pci_id(node.id().device) else {
        return;
    };
    node.vpd = spec.vpd().encode();
    node.driver = Some(CardSpec::driver(model).to_owned());
    let Some(names) = spec.functions.get(index) else {
        return;
    };
    node.net = (index as u64..)
        .zip(&names.net)
        .map(|(offset, name)| NetDevice {
            name: name.clone(),
            mac: Mac::new(spec.mac.value() + offset),
        })
        .collect();
    node.rdma = names.rdma.as_ref().map(|name| RdmaDevice {
        name: name.clone(),
        fw_ver: FwVersion::new(major, minor, subminor).to_string(),
        board_id: running.psid.clone(),
        hca_type: format!("MT{}", node.id().device),
        revision: spec.revision,
        node_guid: grouped(spec.guid.value() + index as u64),
        ports: spec.ports_of(index),
    });
}

/// `0c42:a103:00a1:0000`
fn grouped(guid: u64) -> String {
    let text = format!("{guid:016x}");
    [&text[..4], &text[4..8], &text[8..12], &text[12..]].join(":")
}
