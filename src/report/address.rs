//! Which MAC and GUID lines a card has (mft-compat 2.2).

use std::fmt::Display;

use crate::card::CardReport;
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
        _ if nothing_known(card) => port_lines(card, true),
        Some(model) if !model.has_base_addresses() => port_lines(card, false),
        Some(model) if is_ethernet_only(model) => vec![base_mac()],
        Some(model) if model.kind == ChipKind::Switch => vec![base_guid()],
        // The port type is a setting that is not read: both, as for an unreadable one.
        _ => vec![base_guid(), base_mac()],
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

/// Lines of a chip with addresses a port: those it has, or `all` four.
fn port_lines(card: &CardReport, all: bool) -> Vec<AddressLine> {
    let mut lines = Vec::new();
    for (port, (mac, guid)) in PORT_LABELS.into_iter().enumerate() {
        lines.push(line(mac, card.port_macs[port]));
        lines.push(line(guid, card.port_guids[port]));
    }
    lines.retain(|line| all || line.value.is_some());
    lines
}

fn line<T: Display>(label: &'static str, value: Option<T>) -> AddressLine {
    AddressLine {
        label,
        value: value.map(|value| value.to_string()),
    }
}
