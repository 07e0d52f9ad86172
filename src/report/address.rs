//! Which MAC and GUID lines a card has (mft-compat 2.2).

use std::fmt::Display;

use crate::card::CardReport;
use crate::card::PortType::{Ethernet, InfiniBand};
use crate::model::{ChipKind, Model};

/// One address line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AddressLine {
    /// `Base MAC`, `Port1 GUID` ….
    pub label: &'static str,
    /// Lower-case hex without separators; `None` when it could not be read.
    pub value: Option<String>,
}

const BASE_MAC: &str = "Base MAC";
const BASE_GUID: &str = "Base GUID";
const PORT_LABELS: [(&str, &str); 2] = [("Port1 MAC", "Port1 GUID"), ("Port2 MAC", "Port2 GUID")];

/// Hardware id of the ConnectX-4 Lx, an Ethernet-only chip.
const CONNECTX_4_LX: u16 = 0x20b;

/// The lines of a card, in their order.
pub(super) fn lines(card: &CardReport) -> Vec<AddressLine> {
    let base_mac = || line(BASE_MAC, card.base_mac);
    let base_guid = || line(BASE_GUID, card.base_guid);
    match card.model {
        _ if nothing_known(card) => unopened(),
        Some(model) if !model.has_base_addresses() => port_lines(card),
        Some(model) if is_ethernet_only(model) => vec![base_mac()],
        Some(model) if model.kind == ChipKind::Switch => vec![base_guid()],
        _ => match card.port_types {
            [Some(Ethernet), Some(InfiniBand)] => vec![base_mac(), base_guid()],
            [Some(Ethernet), _] => vec![base_mac()],
            [Some(InfiniBand), Some(Ethernet)] | [None, _] => vec![base_guid(), base_mac()],
            [Some(InfiniBand), _] => vec![base_guid()],
        },
    }
}

fn is_ethernet_only(model: &Model) -> bool {
    model.hw_id == CONNECTX_4_LX
        || (model.kind == ChipKind::Switch && model.name.starts_with("Spectrum"))
}

fn nothing_known(card: &CardReport) -> bool {
    card.base_mac.is_none()
        && card.base_guid.is_none()
        && card.port_macs == [None; 2]
        && card.port_guids == [None; 2]
}

/// A card of which nothing could be read has all four lines, empty.
fn unopened() -> Vec<AddressLine> {
    let labels = PORT_LABELS.into_iter().flat_map(<[_; 2]>::from);
    labels.map(|label| line(label, None::<u8>)).collect()
}

/// Lines of a chip with addresses a port: what each port speaks; without word of any port those
/// it has.
fn port_lines(card: &CardReport) -> Vec<AddressLine> {
    let told = card.port_types != [None; 2];
    let mut lines = Vec::new();
    for (port, (mac_label, guid_label)) in PORT_LABELS.into_iter().enumerate() {
        let mac = line(mac_label, card.port_macs[port]);
        let guid = line(guid_label, card.port_guids[port]);
        match card.port_types[port] {
            Some(Ethernet) => lines.push(mac),
            Some(InfiniBand) => lines.push(guid),
            // Chips store addresses for a second port that the board does not have.
            None if told => {}
            None => {
                let both = [mac, guid].into_iter();
                lines.extend(both.filter(|line| line.value.is_some()));
            }
        }
    }
    lines
}

fn line<T: Display>(label: &'static str, value: Option<T>) -> AddressLine {
    AddressLine {
        label,
        value: value.map(|value| value.to_string()),
    }
}
