//! Network adapters of every vendor.

use cxfw::pci::{Bus, adapters};

use crate::tree::{Host, Place};

const INTEL: u16 = 0x8086;

/// Configuration space with one capability at 0x50.
fn with_capability(place: Place, header: u32) -> Place {
    let mut bytes = vec![0; 256];
    bytes[0x06] = 0x10;
    bytes[0x34] = 0x50;
    bytes[0x50..0x54].copy_from_slice(&header.to_le_bytes());
    place.file("config", &bytes)
}

#[test]
fn an_82597ex_behind_a_pci_x_bridge_is_told_with_bridge_and_clock() {
    let host = Host::empty();
    let bridge = host
        .function("0000:05:00.0", INTEL, 0x0329)
        .attribute("class", "0x060400");
    let bridge = with_capability(bridge, 0x00c0_0007);
    let card = host.below(&bridge, "0000:06:01.0", INTEL, 0x1048);
    with_capability(card, 0x0000_0007);
    let found = adapters(&host.roots()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].bus,
        Bus::PciX {
            bridge: Some("0000:05:00.0".parse().unwrap()),
            mhz: Some(133),
        }
    );
}

#[test]
fn adapters_of_every_vendor_come_in_bus_order_without_virtual_functions() {
    let host = Host::empty();
    host.function("0000:81:00.0", 0x1d6a, 0x07b1)
        .attribute("current_link_speed", "8.0 GT/s PCIe")
        .attribute("current_link_width", "4");
    host.function("0000:03:00.0", 0x15b3, 0x1015);
    host.function("0000:03:00.2", 0x15b3, 0x1016)
        .link("physfn", "../0000:03:00.0");
    host.function("0000:00:1f.2", INTEL, 0xa102)
        .attribute("class", "0x010601");
    host.function("0000:04:00.0", INTEL, 0x1563)
        .without("device");

    let found = adapters(&host.roots()).unwrap();
    let addresses: Vec<String> = found
        .iter()
        .map(|adapter| adapter.function.address.to_string())
        .collect();
    assert_eq!(addresses, ["0000:03:00.0", "0000:81:00.0"]);
    assert_eq!(
        found[0].name.as_deref(),
        Some("MT27710 Family [ConnectX-4 Lx]")
    );
    assert_eq!(found[0].bus, Bus::Unknown);
    assert!(matches!(&found[1].bus, Bus::Pcie(link) if link.width == Some(4)));
}
