//! What the kernel says of a card, for anybody to read: version, PSID and what the ports speak, as
//! the RDMA driver reported them (device-access 1.1). It is what is left to show when the card cannot be opened,
//! the running version of chips whose firmware has no other way to tell, and a second witness of
//! the PSID.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::report::PortType;
use crate::identity::Psid;
use crate::pci;
use crate::version::FwVersion;

/// Most bytes read from an attribute.
const ATTRIBUTE_LIMIT: u64 = 256;

/// Version and PSID in sysfs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KernelFacts {
    /// What runs (`fw_ver`).
    pub running: Option<FwVersion>,
    /// Board (`board_id`).
    pub psid: Option<Psid>,
    /// What the first two ports speak (`ports/N/link_layer`).
    pub ports: [Option<PortType>; 2],
}

/// Reads them from the first RDMA device of the card that tells.
pub(super) fn read(card: &pci::Card) -> KernelFacts {
    let mut facts = KernelFacts::default();
    let mut ports = Vec::new();
    for function in &card.functions {
        for rdma in &function.rdma {
            let device = function.path.join("infiniband").join(rdma);
            facts.running = facts.running.or_else(|| version(&device));
            facts.psid = facts.psid.or_else(|| psid(&device));
            ports.extend(port_types(&device));
        }
    }
    for (place, port) in facts.ports.iter_mut().zip(ports) {
        *place = port;
    }
    facts
}

fn version(device: &Path) -> Option<FwVersion> {
    let version: FwVersion = attribute(device, "fw_ver")?.parse().ok()?;
    (!version.is_zero()).then_some(version)
}

/// The ports of an RDMA device, from 1 on: both of a ConnectX-3, the one of each function later.
fn port_types(device: &Path) -> Vec<Option<PortType>> {
    (1..=2)
        .map_while(|port| attribute(device, &format!("ports/{port}/link_layer")))
        .map(|text| match text.as_str() {
            "Ethernet" => Some(PortType::Ethernet),
            "InfiniBand" => Some(PortType::InfiniBand),
            _ => None,
        })
        .collect()
}

/// Placeholders such as `n/a` name no board.
fn psid(device: &Path) -> Option<Psid> {
    let text = attribute(device, "board_id")?;
    let is_name = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && text.bytes().any(|b| b.is_ascii_digit());
    if is_name { Psid::new(&text) } else { None }
}

fn attribute(device: &Path, name: &str) -> Option<String> {
    let mut text = String::new();
    File::open(device.join(name))
        .ok()?
        .take(ATTRIBUTE_LIMIT)
        .read_to_string(&mut text)
        .ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(fw_ver: &str, board_id: &str) -> (Option<String>, Option<String>) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("fw_ver"), fw_ver).unwrap();
        std::fs::write(dir.path().join("board_id"), board_id).unwrap();
        (
            version(dir.path()).map(|version| version.to_string()),
            psid(dir.path()).map(|psid| psid.to_string()),
        )
    }

    fn said(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn versions_of_old_chips_have_few_digits() {
        let infinihost = facts("1.0.800\n", "MT_0030000001\n");
        assert_eq!(infinihost, (said("1.0.0800"), said("MT_0030000001")));
        let ibm = facts("2.7.700\n", "IBM0030000009\n");
        assert_eq!(ibm, (said("2.7.0700"), said("IBM0030000009")));
    }

    #[test]
    fn placeholders_are_no_version_and_no_board() {
        for (fw_ver, board_id) in [("0.0.0\n", "n/a\n"), ("", ""), ("N/A\n", "--\n")] {
            assert_eq!(facts(fw_ver, board_id), (None, None));
        }
    }

    #[test]
    fn a_driver_that_says_nothing_is_no_failure() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!((version(dir.path()), psid(dir.path())), (None, None));
    }
}
